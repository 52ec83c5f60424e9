"""What the tests of the explorer's pages share."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from recipeflow.explore.library import Library
from recipeflow.explore.server import make_app

# A busy machine is no reason to fail.
expect.set_options(timeout=20_000)


def check_accessible(page: Page) -> None:
    """No finding of axe-core that it calls serious or critical."""
    # Without preload: axe would fetch the style sheet, which the page's own policy forbids.
    found = Axe().run(page, options={"preload": False}).response["violations"]
    serious = [
        f"{rule['id']}: {node['html'][:200]}"
        for rule in found
        if rule["impact"] in {"serious", "critical"}
        for node in rule["nodes"]
    ]
    assert not serious, "\n".join(serious)


def wait_for_pictures(page: Page, selector: str, count: int) -> None:
    """Wait until so many pictures are drawn, by asking: a policy without eval forbids to wait for a condition."""
    expect(page.locator(selector)).to_have_count(count)
    for number in range(count):
        picture = page.locator(selector).nth(number)
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("complete", True)
        expect(picture).not_to_have_js_property("naturalWidth", 0)


@contextmanager
def served(library: Library) -> Iterator[str]:
    """The address of a library's site, served from a thread."""
    server = uvicorn.Server(uvicorn.Config(make_app(library), port=0, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
