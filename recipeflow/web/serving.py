"""Run a web application on this machine: one address, printed once it answers, and a clean stop."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from types import FrameType
from urllib.parse import quote

import uvicorn
from starlette.types import ASGIApp

from recipeflow.errors import UsageError
from recipeflow.web.security import Guard, Keys, PublicUrl, check_exposure

HOST = "127.0.0.1"


def serve(
    app: ASGIApp,
    *,
    host: str = HOST,
    port: int = 0,
    token: str | Keys | None = None,
    announce: Callable[[str], None] = print,
    open_browser: bool = False,
    public: PublicUrl | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM, behind the checks of ``recipeflow.web.security``.

    Args:
        app: The application.
        host: The address to listen on; any but this machine's needs a token.
        port: The port; 0 picks a free one.
        token: What every request must send; of several tokens, none is part of the address.
        announce: Called with the address once the server answers.
        open_browser: Open that address.
        public: The address of a proxy before this server.

    Raises:
        UsageError: If the address is taken or not allowed.
    """
    if isinstance(token, str | None):
        check_exposure(host, token, public)
    listener = _listen(host, port)
    port = listener.getsockname()[1]
    config = uvicorn.Config(
        Guard(app, host, port, token, public),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
        ws="none",
    )
    address = _address(host, port, token, public)
    server = _AnnouncingServer(config, lambda: _welcome(address, announce, open_browser))
    # uvicorn raises the signal again after it has stopped: as an exit, so that callers can close their files.
    previous = signal.signal(signal.SIGTERM, _exit)
    try:
        server.run([listener])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, previous)
        listener.close()


class _AnnouncingServer(uvicorn.Server):
    """A server that announces when it is ready."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self.announce_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then announce it."""
        await super().startup(sockets)
        if self.started:
            self.announce_started()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"expected to be able to listen on {host}, port {port}, found: {reason}"
        raise UsageError(f"{message}; is it running already? Choose another --port, or 0 for a free one") from None


def _address(host: str, port: int, token: str | Keys | None, public: PublicUrl | None) -> str:
    shown = socket.gethostname() if host in ("0.0.0.0", "::", "") else host
    shown = f"[{shown}]" if ":" in shown else shown
    query = f"?token={quote(token, safe='')}" if isinstance(token, str) else ""
    return f"{public or f'http://{shown}:{port}'}/{query}"


def _welcome(address: str, announce: Callable[[str], None], open_browser: bool) -> None:
    announce(address)
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(0)
