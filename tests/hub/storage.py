"""Large file storage at an origin of its own: signed addresses, uploads whole or in parts, downloads with ranges."""

import asyncio
import hashlib
import hmac
import re
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.hub.repositories import Hub, Refusal

_KEY = b"only this server knows it"


def sign(path: str) -> str:
    """A path with the signature that lets its bearer in: storage never sees a token."""
    return f"{path}?signature={hmac.new(_KEY, path.encode(), 'sha256').hexdigest()}"


def ranged(request: Request, content: bytes, headers: dict[str, str] | None = None) -> Response:
    """The content, or the part of it that the client asks for."""
    headers = {"Accept-Ranges": "bytes", **(headers or {})}
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("range", ""))
    if not match or not content:
        return Response(content, headers=headers, media_type="application/octet-stream")
    first, last = match.groups()
    start = int(first) if first else max(len(content) - int(last), 0)
    stop = min(int(last) + 1, len(content)) if first and last else len(content)
    if start >= len(content):
        return Response(status_code=416, headers={"Content-Range": f"bytes */{len(content)}"})
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
    return Response(content[start:stop], 206, headers, "application/octet-stream")


class Storage:
    """The endpoints; parts that were never completed are kept apart from the objects."""

    def __init__(self, hub: Hub):
        self.hub = hub
        self.parts: dict[tuple[str, int], bytes] = {}

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/whole/{oid}", self.put_whole, methods=["PUT"]),
                Route("/part/{oid}/{number:int}", self.put_part, methods=["PUT"]),
                Route("/complete/{oid}", self.complete, methods=["POST"]),
                Route("/object/{oid}", self.get),
            ],
            exception_handlers={Refusal: lambda request, error: Response(error.message, error.status)},
        )

    def _enter(self, request: Request, name: str, writes: bool = False) -> str:
        self.hub.meet(name, writes)
        if "authorization" in request.headers:
            self.hub.tokens_at_storage.append(name)
        path, signature = request.url.path, request.query_params.get("signature", "")
        if not hmac.compare_digest(sign(path), f"{path}?signature={signature}"):
            raise Refusal(403, "the signature is wrong")
        return request.path_params["oid"]

    async def _receive(self, request: Request) -> bytes:
        """The body of an upload, unless it is the turn of a fault."""
        uploads = self.hub.uploads
        if not uploads.goes_wrong():
            return await request.body()
        if uploads.fault == "refuse":
            raise Refusal(403, "Request has expired")
        await anext(request.stream())
        uploads.stalled.set()
        while not await request.is_disconnected():
            await asyncio.sleep(0.02)
        raise ClientDisconnect

    async def put_whole(self, request: Request) -> Response:
        oid = self._enter(request, "upload", writes=True)
        try:
            self.hub.store(oid, await self._receive(request))
        except ClientDisconnect:
            return Response(status_code=499)
        return Response(headers={"ETag": f'"{oid}"'})

    async def put_part(self, request: Request) -> Response:
        oid = self._enter(request, "upload part", writes=True)
        try:
            content = await self._receive(request)
        except ClientDisconnect:
            return Response(status_code=499)
        self.parts[oid, request.path_params["number"]] = content
        return Response(headers={"ETag": f'"{hashlib.md5(content).hexdigest()}"'})

    async def complete(self, request: Request) -> Response:
        oid = self._enter(request, "complete", writes=True)
        numbers = [part["partNumber"] for part in (await request.json())["parts"]]
        self.hub.store(oid, b"".join(self.parts.pop((oid, number)) for number in numbers))
        return JSONResponse({"status": "ok"})

    async def get(self, request: Request) -> Response:
        oid = self._enter(request, "download")
        content = self.hub.objects[oid]
        if self.hub.downloads.goes_wrong():
            headers = {"Content-Length": str(len(content)), "ETag": f'"{oid}"'}
            return StreamingResponse(self._stall(request, content[:1000]), headers=headers)
        return ranged(request, content, {"ETag": f'"{oid}"'})

    async def _stall(self, request: Request, beginning: bytes) -> AsyncIterator[bytes]:
        yield beginning
        self.hub.downloads.stalled.set()
        while not await request.is_disconnected():
            await asyncio.sleep(0.02)
