"""Who may use a local server: only its own pages, only under its own name, and only with its token if it has one.

A server on 127.0.0.1 can be reached by every page that the user's browser opens. Three checks keep those out:

- **Host**: a page of ``evil.example`` whose name is made to point at 127.0.0.1 (DNS rebinding) still sends that name.
- **Origin** and content type: another page's request that changes something says where it comes from, and cannot be
  JSON unless we allow it, which we never do.
- **Token**: from other machines, only requests with a token are answered: one for all, or one for each person.

Every response forbids the browser to run or load anything from elsewhere.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Collection
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recipeflow.errors import UsageError

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
CONTENT_TYPES = ("application/json", "application/octet-stream")
"""Of requests that change something: types that a browser sends to another site only if that site allows it."""

SHORTEST_TOKEN = 8
_SAFE = frozenset({"GET", "HEAD"})
_PORTS = {"http": 80, "https": 443}


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and nothing else."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Keys(Protocol):
    """Tokens, and whose each is."""

    def owner(self, token: str) -> str | None:
        """Whose token this is; ``None`` if nobody's. Must take equally long for all tokens."""


@dataclass(frozen=True)
class SharedToken:
    """One token for everybody."""

    token: str

    def owner(self, token: str) -> str | None:
        return "" if hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self.token.encode()) else None


OWNER = "recipeflow.owner"
"""The key of a request's scope that says whose token it came with."""


def check_exposure(host: str, token: str | None, public: PublicUrl | None = None) -> None:
    """Refuse to be reached from beyond this machine without a token.

    Raises:
        UsageError: If there is no token, or one that is easily guessed.
    """
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        message = f"expected a token of at least {SHORTEST_TOKEN} plain characters, found {len(token)}"
        raise UsageError(f"{message}; choose a longer one")
    if token is None and (public is not None or not is_loopback(host)):
        option = f"--host {host}" if public is None else f"--public-url {public}"
        raise UsageError(
            f"expected --token with {option}, found none: anyone on that network could change everything; "
            "pass --token (or --annotator, of vrf annotate), or omit the option to serve this machine only"
        )


@dataclass(frozen=True)
class PublicUrl:
    """Where people reach a server through a reverse proxy, such as ``https://recipes.example``.

    Args:
        scheme: ``http`` or ``https``.
        host: The name, with the port if it is not the usual one.
    """

    scheme: str
    host: str

    @classmethod
    def parse(cls, url: str) -> PublicUrl:
        """Read an address.

        Raises:
            UsageError: If it is not the address of a whole site: pages expect to be at its root.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        beyond = parts.path.strip("/") or parts.query or parts.fragment or parts.username
        if parts.scheme not in ("http", "https") or not parts.hostname or beyond:
            message = f"expected --public-url such as https://recipes.example, without a path, found {url!r}"
            raise UsageError(f"{message}; give the name that the proxy serves this at")
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        usual = port is None or port == _PORTS[parts.scheme]
        return cls(parts.scheme, name if usual else f"{name}:{port}")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}"

    def is_host(self, host: str) -> bool:
        """Whether a Host header names it; a proxy may add the usual port."""
        return host.lower() in (self.host, f"{self.host}:{_PORTS[self.scheme]}")


class Guard:
    """ASGI middleware that passes only valid requests, and adds the security headers to every response.

    Args:
        app: The application.
        host: The address that the server listens on.
        port: Its port.
        token: What a request must send, in the cookie or as a bearer token: one for all, or one of several; nothing
            by default.
        public: The address of a proxy before this server: its name is this server's own, too.
    """

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        token: str | Keys | None = None,
        public: PublicUrl | None = None,
    ) -> None:
        self.app = app
        self.port = port
        self.public = public
        self.keys = SharedToken(token) if isinstance(token, str) else token
        self.cookie = f"vrf_token_{port}"  # browsers keep cookies by host, whatever the port
        self.any_address = host in ("0.0.0.0", "::", "")
        self.names = _own_names(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (self.app if refusal is None else refusal)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        through_proxy = self.public is not None and self.public.is_host(host)
        if not through_proxy and not self._is_own(host):
            return _refuse(403, "host", f"expected this server's own name, found the host {host[:100]!r}")
        origin = headers.get("origin")
        own = (str(self.public),) if through_proxy else (f"http://{host}", f"https://{host}")
        if origin is not None and origin not in own:
            return _refuse(403, "origin", f"expected a request of this server's own pages, found {origin[:100]!r}")
        changes = scope["method"] not in _SAFE
        if changes and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _refuse(403, "origin", "expected a request of this server's own pages, found another site's")
        if self.keys is not None and (refusal := self._token_refusal(scope, headers, self.keys)) is not None:
            return refusal
        if changes and headers.get("content-type", "").partition(";")[0].strip().lower() not in CONTENT_TYPES:
            return _refuse(415, "content_type", "expected Content-Type: application/json")
        return None

    def _is_own(self, host: str) -> bool:
        name, port = _split_host(host)
        if port != self.port:
            return False
        return name in self.names or (self.any_address and _is_address(name))

    def _token_refusal(self, scope: Scope, headers: Headers, keys: Keys) -> Response | None:
        """Why a request is not let in; one that is gets its owner into its scope."""
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = "".join(query.pop("token", ()))
        if scope["method"] == "GET" and token and keys.owner(token) is not None:
            rest = urlencode(query, doseq=True)
            # Two slashes at the start would name another host.
            answer = RedirectResponse("/" + scope["path"].lstrip("/\\") + (f"?{rest}" if rest else ""), 303)
            secure = self.public is not None and self.public.scheme == "https"
            answer.set_cookie(self.cookie, token, httponly=True, samesite="lax", path="/", secure=secure)
            return answer
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        for given in filter(None, (bearer, _cookie(headers, self.cookie))):
            if (owner := keys.owner(given)) is not None:
                scope[OWNER] = owner
                return None
        reason = "expected a token of this server: open the address that it printed"
        if scope["path"].startswith("/api/"):
            return _refuse(401, "token", reason)
        return PlainTextResponse(reason + "\n", 401)


def _refuse(status: int, code: str, reason: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "reason": reason, "detail": {}}}, status)


def _own_names(host: str) -> Collection[str]:
    names = {host.lower()}
    if is_loopback(host) or host in ("0.0.0.0", "::", ""):
        names |= {"127.0.0.1", "localhost", "::1"}
    if not is_loopback(host):
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return names


def _split_host(host: str) -> tuple[str, int | None]:
    """The name and port of a Host header; a name that cannot be parsed is not ours."""
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "").lower(), 80 if parts.port is None else parts.port
    except ValueError:
        return "", None


def _is_address(name: str) -> bool:
    """Whether a name is an IP address: DNS rebinding needs a real name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value
