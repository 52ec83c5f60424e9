"""Pages in a real Chromium. What a page complains about, and any request that leaves this machine, fails its test."""

import os
import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.chromium import FLAGS, find_chromium

NO_CHROMIUM = (
    "no Chromium: install Debian's chromium, or run `playwright install chromium`, or name one in VRF_CHROMIUM"
)
LOCAL_SCHEMES = {"file", "data", "blob", "about", "chrome-error"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium; one per module, because an open Playwright leaves an event loop running in the thread."""
    path = find_chromium()
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(NO_CHROMIUM)
        pytest.skip(NO_CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def expected_complaints() -> list[str]:
    """Regular expressions of complaints that a test provokes on purpose; tests append, modules may override."""
    return []


@pytest.fixture
def complaints(expected_complaints: list[str]) -> Iterator[list[str]]:
    """What pages complained about: console errors and warnings, uncaught errors, requests beyond loopback."""
    found: list[str] = []
    yield found
    unexpected = [text for text in found if not any(re.search(known, text) for known in expected_complaints)]
    assert not unexpected, "\n".join(unexpected)


@pytest.fixture
def new_context(browser: Browser, complaints: list[str]) -> Iterator[Callable[..., BrowserContext]]:
    """Makes a watched browser context (its own cookies and storage) of 1280 x 800; options go to Playwright."""
    contexts = []

    def make(**options: object) -> BrowserContext:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-US"} | options)
        context.set_default_timeout(30_000)
        _watch(context, complaints)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def context(new_context: Callable[..., BrowserContext]) -> BrowserContext:
    """A watched browser context in English."""
    return new_context()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A watched page of 1280 x 800."""
    return context.new_page()


def _watch(context: BrowserContext, complaints: list[str]) -> None:
    def heard(message) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(f"console {message.type}: {message.text} ({message.location.get('url')})")

    def asked(request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in LOCAL_SCHEMES and address.hostname not in {"127.0.0.1", "localhost"}:
            complaints.append(f"request beyond this machine: {request.url}")

    context.on("console", heard)
    context.on("weberror", lambda failure: complaints.append(f"uncaught: {failure.error}"))
    context.on("request", asked)
