"""Fetch from the web politely and reliably: one request at a time, with pauses, retries and limits.

``robots.txt`` is read before anything else, and ``Retry-After`` is obeyed. Files that are too large and redirects to
unknown hosts are refused. A large file is written to a partial file and continued by range requests, in this run or in
a later one, as long as the server still has the same file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TypeVar
from urllib.robotparser import RobotFileParser

import httpx2

import recipeflow
from recipeflow.download.partial_file import PartialFile
from recipeflow.errors import FetchError, ForeignHostError, GoneError, RobotsError, ServerBusyError, TooLargeError

AGENT = "recipeflow"
USER_AGENT = f"{AGENT}/{recipeflow.__version__} (Visual Recipe Flow on Hugging Face; fetches a research dataset)"
CHUNK = 64 * 1024
SYNC_EVERY = 8 * 1024 * 1024
ROBOTS_LIMIT = 512 * 1024
REDIRECTS = 5
LONGEST_WAIT = 3600

Result = TypeVar("Result")


@dataclass(frozen=True)
class Manners:
    """Pauses, retries and limits for a site.

    Attributes:
        pause: Seconds between requests.
        timeout: Seconds without a byte after which a request has failed.
        attempts: How often a request is made before giving up.
        backoff: Seconds before the second attempt; doubled for each further one.
        allowed_hosts: Hosts that redirects may lead to.
    """

    pause: float = 1.0
    timeout: float = 30.0
    attempts: int = 5
    backoff: float = 2.0
    allowed_hosts: Collection[str] = ()


class _RetryError(Exception):
    """This attempt failed, but the next may succeed; ``wait`` is the server's Retry-After."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Fetcher:
    """Makes all requests of a run, one after the other.

    Args:
        manners: Pauses, retries and limits.
        watch: Called with the number of bytes of each chunk of a file.
    """

    def __init__(self, manners: Manners, watch: Callable[[int], None] = lambda count: None) -> None:
        self.manners = manners
        self.watch = watch
        self.client = httpx2.Client(headers={"User-Agent": USER_AGENT}, timeout=manners.timeout)
        self.robots: dict[str, RobotFileParser] = {}
        self.last_request = float("-inf")

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.client.close()

    def get(self, url: str, limit: int, ask_robots: bool = True) -> bytes:
        """A whole response of at most ``limit`` bytes.

        Raises:
            FetchError: If it cannot be fetched, with the reason.
        """
        return self._persist(url, lambda: self._get_once(url, limit, ask_robots))

    def save(self, url: str, path: Path, limit: int) -> None:
        """Fetch a file of at most ``limit`` bytes; an earlier attempt is continued.

        Raises:
            FetchError: If it cannot be fetched, with the reason. What has arrived is kept for the next time.
        """
        partial = PartialFile(path, url)
        try:
            self._persist(url, lambda: self._save_once(partial, limit), partial.size)
        except TooLargeError:
            partial.restart()
            raise
        partial.finish()

    def _persist(self, url: str, attempt: Callable[[], Result], progress: Callable[[], int] = lambda: 0) -> Result:
        """Retry until it works or attempts run out; attempts that made progress do not count."""
        failures, reached = 0, progress()
        while True:
            try:
                return attempt()
            except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
                raise FetchError(f"expected a web address, found {url} ({error}); check it") from None
            except httpx2.RequestError as error:
                failure = _RetryError(f"{type(error).__name__}: {error}")
            except _RetryError as error:
                failure = error
            failures = 0 if progress() >= reached + CHUNK else failures + 1
            reached = max(reached, progress())
            if failures >= self.manners.attempts:
                tries = f"{failures} times" if failures > 1 else "once"
                raise FetchError(f"expected an answer from {url}, found {tries}: {failure}; try again later")
            time.sleep(self._wait(url, failure, failures))

    def _wait(self, url: str, failure: _RetryError, failures: int) -> float:
        if failure.wait is None:
            return self.manners.backoff * 2 ** max(failures - 1, 0)
        if failure.wait > LONGEST_WAIT:
            raise ServerBusyError(
                f"expected an answer from {url}, found {failure} with a Retry-After of "
                f"{failure.wait / 3600:.1f} hours; run the same command again then"
            )
        return failure.wait

    def _get_once(self, url: str, limit: int, ask_robots: bool) -> bytes:
        with self._open(url, {}, ask_robots) as response:
            _check_status(response, (200,))
            _check_length(response, limit)
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > limit:
                    raise _too_large(url, limit)
            return bytes(body)

    def _save_once(self, partial: PartialFile, limit: int) -> None:
        with self._open(partial.url, {"Accept-Encoding": "identity", **partial.headers()}) as response:
            _check_status(response, (200, 206, 416))
            if partial.is_whole(response):
                return
            if not partial.accept(response):
                raise _RetryError(f"status {response.status_code}, which does not continue the partial file")
            _check_length(response, limit - partial.size())
            with partial.path.open("ab") as target:
                self._receive(response, target, limit)

    def _receive(self, response: httpx2.Response, target: BinaryIO, limit: int) -> None:
        synced = target.tell()
        try:
            for chunk in response.iter_raw():
                target.write(chunk)
                self.watch(len(chunk))
                if target.tell() > limit:
                    raise _too_large(str(response.url), limit)
                if target.tell() - synced >= SYNC_EVERY:
                    synced = _sync(target)
        finally:
            _sync(target)

    @contextmanager
    def _open(self, url: str, headers: dict[str, str], ask_robots: bool = True) -> Generator[httpx2.Response]:
        """The response to a request, its body still unread, after at most ``REDIRECTS`` redirects."""
        for _ in range(REDIRECTS + 1):
            if ask_robots:
                self._ask_robots(url)
            self._pause(url)
            with self.client.stream("GET", url, headers=headers) as response:
                if not response.has_redirect_location:
                    yield response
                    return
                target = response.url.join(response.headers["Location"])
            if target.host != response.url.host and target.host not in self.manners.allowed_hosts:
                raise ForeignHostError(
                    f"expected {url} at {response.url.host}, found a redirect to {target.host}; "
                    f"pass --allow-host {target.host} if that is right",
                    target.host,
                )
            url = str(target)
        raise FetchError(f"expected {url} after at most {REDIRECTS} redirects, found more; open it in a browser")

    def _pause(self, url: str) -> None:
        """Wait until the pause since the last request is over; a site may ask for a longer one."""
        robots = self.robots.get(_origin(url))
        pause = max(self.manners.pause, float(robots.crawl_delay(AGENT) or 0) if robots else 0.0)
        time.sleep(max(0.0, self.last_request + pause - time.monotonic()))
        self.last_request = time.monotonic()

    def _ask_robots(self, url: str) -> None:
        origin = _origin(url)
        if origin not in self.robots:
            self.robots[origin] = self._read_robots(origin)
        if not self.robots[origin].can_fetch(AGENT, url):
            raise RobotsError(f"expected to be allowed to fetch {url}, found that {origin}/robots.txt forbids it")

    def _read_robots(self, origin: str) -> RobotFileParser:
        """What a site allows: everything if it has no robots.txt; nothing while that cannot be read."""
        robots = RobotFileParser()
        try:
            lines = self.get(f"{origin}/robots.txt", ROBOTS_LIMIT, ask_robots=False).decode("utf-8", "replace")
        except GoneError as error:
            lines = "User-agent: *\nDisallow: /" if error.status in (401, 403) else ""
        except FetchError as error:
            raise ServerBusyError(f"expected {origin}/robots.txt to be readable, found no answer: {error}") from None
        robots.parse(lines.splitlines())
        return robots


def _check_status(response: httpx2.Response, good: Collection[int]) -> None:
    status = response.status_code
    if status in good:
        return
    reason = f"{status} {response.reason_phrase}".strip()
    if status == 429 or status >= 500:
        raise _RetryError(reason, _retry_after(response))
    raise GoneError(f"expected {response.url}, found {reason}", status)


def _retry_after(response: httpx2.Response) -> float | None:
    """The seconds of a Retry-After header, which is a number or a date."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _check_length(response: httpx2.Response, limit: int) -> None:
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(str(response.url), limit)


def _too_large(url: str, limit: int) -> TooLargeError:
    return TooLargeError(
        f"expected at most {limit / 1e6:,.1f} MB from {url}, found more; raise the limit if that is right"
    )


def _origin(url: str) -> str:
    parts = httpx2.URL(url)
    return f"{parts.scheme}://{parts.netloc.decode()}"


def _sync(target: BinaryIO) -> int:
    target.flush()
    os.fsync(target.fileno())
    return target.tell()
