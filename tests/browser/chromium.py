"""Where a Chromium is on this machine: the one named by VRF_CHROMIUM, the system's, or Playwright's own.

As a command it prints the path, and ends with 1 where there is none: `make test` then installs one where it may.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing but loopback has an address: the network is blocked below the pages, not only watched.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)


def find_chromium() -> str | None:
    """The path of a Chromium to drive, or None."""
    named = os.environ.get("VRF_CHROMIUM")
    found = [named] if named else [shutil.which(name) for name in NAMES]
    if any(found):
        return next(path for path in found if path)
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).is_file() else None


def has_japanese_font() -> bool:
    """Whether text in Japanese would be drawn with letters instead of boxes; True if that is unknown."""
    if shutil.which("fc-list") is None:
        return True
    return bool(subprocess.run(["fc-list", ":lang=ja"], capture_output=True, text=True, check=False).stdout.strip())


if __name__ == "__main__":
    path = find_chromium()
    print(path or "no Chromium found")
    sys.exit(0 if path and has_japanese_font() else 1)
