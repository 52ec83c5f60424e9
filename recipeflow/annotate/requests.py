"""Requests and responses: JSON bodies with a size limit, JSON responses, and errors in the pages' format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from recipeflow.errors import (
    AgreementError,
    BrokenImageError,
    DatabaseError,
    InvalidReleaseError,
    MissingFrameError,
    RefusedError,
    ReleaseProblem,
    RequestError,
    VRFError,
    show,
)

LARGEST_BODY = 1_000_000
LARGEST_IMPORT = 100_000_000
_UUID = re.compile(r"[A-Za-z0-9-]{1,64}")


class Json(JSONResponse):
    """JSON in ASCII: texts from files and pages may contain what UTF-8 cannot encode."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode()


class ApiError(Exception):
    """An error response."""

    def __init__(self, status: int, code: str, reason: str, detail: dict[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.body = error_body(code, reason, detail)


def error_body(code: str, reason: str, detail: dict[str, Any] | None = None) -> dict[str, Any]:
    """The body of every error response."""
    return {"error": {"code": code, "reason": reason, "detail": detail or {}}}


async def read_body(request: Request, limit: int = LARGEST_BODY) -> dict[str, Any]:
    """The JSON object of a request."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > limit:
            raise ApiError(413, "too_large", f"expected at most {limit} bytes, found more")
    try:
        raw = json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise RequestError(f"expected JSON, found: {error}") from None
    if not isinstance(raw, dict):
        raise RequestError(f"expected an object, found {show(raw)}")
    return raw


def take(body: dict[str, Any], name: str, kind: type, default: Any = ...) -> Any:
    """A field of a body, checked to be of this type."""
    value = body.get(name, default)
    if value is ... or (type(value) is not kind and value is not default):
        raise RequestError(f"expected {name!r} as {kind.__name__}, found {'none' if value is ... else show(value)}")
    return value


def take_uuid(body: dict[str, Any]) -> str:
    """The page's id for an operation."""
    uuid = take(body, "uuid", str)
    if not _UUID.fullmatch(uuid):
        raise RequestError(f"expected 'uuid' of at most 64 letters, digits and -, found {show(uuid)}")
    return uuid


def _refused(request: Request, error: RefusedError) -> Response:
    return Json(error_body(error.code, error.reason, error.detail), 422)


def _invalid_release(request: Request, error: InvalidReleaseError | ReleaseProblem) -> Response:
    problems = error.problems if isinstance(error, InvalidReleaseError) else [error]
    rows = [problem.as_dict() for problem in problems[:100]]
    return Json(error_body("release", str(error), {"problems": rows}), 422)


def _plain(status: int, code: str) -> Callable[[Request, Exception], Response]:
    return lambda request, error: Json(error_body(code, str(error)), status)


def _http(request: Request, error: HTTPException) -> Response:
    code = {404: "not_found", 405: "method"}.get(error.status_code, "http")
    return Json(error_body(code, str(error.detail)), error.status_code)


HANDLERS: dict[Any, Callable[[Request, Any], Response]] = {
    ApiError: lambda request, error: Json(error.body, error.status),
    RefusedError: _refused,
    RequestError: _plain(400, "bad_request"),
    DatabaseError: _plain(503, "storage"),
    MissingFrameError: _plain(404, "no_frame"),
    BrokenImageError: _plain(404, "no_frame"),
    InvalidReleaseError: _invalid_release,
    ReleaseProblem: _invalid_release,
    AgreementError: _plain(422, "agreement"),
    VRFError: _plain(422, "refused"),
    HTTPException: _http,
}
"""The status and code of errors; the most specific class counts."""
