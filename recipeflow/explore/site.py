"""The files of the explorer's site, the same for the server and the static export.

::

    index.html  explore.js  explore.css        the page
    data/about.js  data/index/N.js             the index, in chunks
    data/recipes/N.js  pictures/N/F.jpg        what a recipe's page shows, and frame F of recipe N

Data are scripts that pass their content to a function, because a page opened from ``file://`` may load scripts and
pictures, but may not fetch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recipeflow import web
from recipeflow.explore.bundle import combine_modules

OWN = Path(__file__).parent / "static"
SHARED = Path(web.__file__).parent / "static"
RECEIVER = "receiveExplorerData"
"""The function that receives the data in the page."""


def page_files() -> dict[str, bytes]:
    """The page itself, by file name."""
    styles = [path.read_text(encoding="utf-8") for path in (SHARED / "base.css", OWN / "explore.css")]
    return {
        "index.html": (OWN / "index.html").read_bytes(),
        "icon.svg": (OWN / "icon.svg").read_bytes(),
        "explore.css": "\n".join(styles).encode(),
        "explore.js": combine_modules("explore.js", (OWN, SHARED)).encode(),
    }


def data_script(name: str, data: Any) -> bytes:
    """Data as a script, named by its path without the extension."""
    content = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f"{RECEIVER}({json.dumps(name)},{content});\n".encode()
