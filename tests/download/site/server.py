"""A recipe web site on 127.0.0.1, with good days and bad ones.

::

    with Site() as site:
        site.publish(cook_recipe(0, 0))
        site.faults["/videos/kitchen-0-0000.mp4"] = [status(503), cut(1000)]

Faults are used up one by one; ``always`` makes one last.
"""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from recipeflow.kitchen.cooking import CookedRecipe
from tests.download.site.pages import page_fields, state_page
from tests.download.site.video import encode_video
from tests.hub.server import Background

CHUNK = 4096


@dataclass
class Seen:
    """A request, and what went out for it."""

    path: str
    headers: dict[str, str]
    status: int = 0
    sent: int = 0


@dataclass(frozen=True)
class Content:
    """What lies under an address; ``pause`` seconds pass between its chunks."""

    body: bytes
    media_type: str
    pause: float = 0.0

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'


class Site:
    """The web site: addresses with contents, faults that come first, and a record of all requests."""

    def __init__(self):
        self.contents: dict[str, Content] = {}
        self.faults: dict[str, Iterator[Fault] | list[Fault]] = defaultdict(list)
        self.seen: list[Seen] = []
        self.ignores_range = False
        self.sends_etag = True
        self.server = Background(Starlette(routes=[Route("/{path:path}", self.answer)]))
        self.url = self.server.url
        self.robots("User-agent: *\nDisallow: /private/\n")

    def __enter__(self) -> "Site":
        self.server.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.stop()

    def robots(self, text: str) -> None:
        self.contents["/robots.txt"] = Content(text.encode(), "text/plain")

    def publish(
        self, cooked: CookedRecipe, edit: Callable[[dict], None] = lambda fields: None, page=state_page
    ) -> None:
        """Put a cooked recipe on the site: its page, whose fields ``edit`` may change, and its video."""
        fields = page_fields(cooked.recipe)
        edit(fields)
        source = page(fields, self.url + video_path(cooked))
        self.contents[page_path(cooked)] = Content(source.encode(), "text/html")
        self.contents[video_path(cooked)] = Content(encode_video(tuple(cooked.frames.items())), "video/mp4")

    def requests(self, path: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.path == path]

    async def answer(self, request: Request) -> Response:
        seen = Seen(request.url.path, dict(request.headers))
        self.seen.append(seen)
        fault = next(self._faults(seen.path), None)
        content = self.contents.get(seen.path)
        if fault is None and content is None:
            fault = status(404)
        response = self.send(content, request, seen) if fault is None else await fault(self, content, seen)
        seen.status = response.status_code
        return response

    def _faults(self, path: str) -> "Iterator[Fault]":
        faults = self.faults[path]
        if isinstance(faults, list):
            faults = self.faults[path] = iter(faults)
        return faults

    def send(self, content: Content, request: Request, seen: Seen) -> Response:
        """The content, or the range of it that was asked for if it is still the same."""
        total, start = len(content.body), 0
        headers = {"ETag": content.etag, "Accept-Ranges": "bytes"} if self.sends_etag else {}
        asked = request.headers.get("range")
        if asked and not self.ignores_range and request.headers.get("if-range", content.etag) == content.etag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= total:
                return Response(status_code=416, headers={"Content-Range": f"bytes */{total}"})
            headers["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
        headers["Content-Length"] = str(total - start)
        body = stream(content.body[start:], seen, content.pause)
        return StreamingResponse(body, 206 if "Content-Range" in headers else 200, headers, content.media_type)


def page_path(cooked: CookedRecipe) -> str:
    return f"/recipes/{cooked.recipe.id}"


def video_path(cooked: CookedRecipe) -> str:
    return f"/videos/{cooked.recipe.id}.mp4"


async def stream(body: bytes, seen: Seen, pause: float = 0.0):
    for start in range(0, len(body), CHUNK):
        chunk = body[start : start + CHUNK]
        seen.sent += len(chunk)
        yield chunk
        await asyncio.sleep(pause)


Fault = Callable[[Site, Content | None, Seen], "object"]


def always(fault: Fault) -> Iterator[Fault]:
    return repeat(fault)


def status(code: int, **headers: str) -> Fault:
    """An answer without content; ``retry_after="1"`` and the like become headers."""

    async def answer(site, content, seen):
        return Response(status_code=code, headers={name.replace("_", "-"): text for name, text in headers.items()})

    return answer


def late(seconds: float) -> Fault:
    """An answer that takes its time."""

    async def answer(site, content, seen):
        await asyncio.sleep(seconds)
        return Response(content.body)

    return answer


def cut(length: int) -> Fault:
    """A body that breaks off before the length that was announced."""

    async def answer(site, content, seen):
        headers = {"Content-Length": str(len(content.body)), "ETag": content.etag}
        return StreamingResponse(stream(content.body[:length], seen), 200, headers)

    return answer


def redirect(url: str) -> Fault:
    async def answer(site, content, seen):
        return RedirectResponse(url, 302)

    return answer


def huge(length: int, announced: bool) -> Fault:
    """A body of that many zeros, announced or not."""

    async def answer(site, content, seen):
        headers = {"Content-Length": str(length)} if announced else {}
        return StreamingResponse(stream(bytes(length), seen), 200, headers)

    return answer
