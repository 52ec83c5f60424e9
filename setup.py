"""What pyproject.toml cannot express: extras split from one list, and a README that a package index can show."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
RELATIVE_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https?://|#)(?P<target>[^)]*)\)")


def read_requirements(name: str) -> dict[str, list[str]]:
    """The lines of a requirements file by the extra in brackets above them; "" has those before the first one."""
    parts: dict[str, list[str]] = {"": []}
    extra = ""
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"# \[(\w+)\]", line):
            extra = heading[1]
            parts[extra] = []
        elif line and not line.startswith("#"):
            parts[extra].append(line)
    return parts


def absolute_links(text: str, source: str | None, version: str) -> str:
    """Markdown whose links work outside the repository.

    Without a public address of the source, links become their text and images their description, which is better than
    a broken link.
    """

    def rewrite(link: re.Match) -> str:
        if source is None:
            return f"*[Image: {link['text']}]*" if link["image"] else link["text"]
        view = "raw" if link["image"] else "blob"
        return f"{link['image']}[{link['text']}]({source}/{view}/v{version}/{link['target']})"

    pieces, end = [], 0
    for fence in FENCE.finditer(text):
        pieces += [RELATIVE_LINK.sub(rewrite, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join(pieces) + RELATIVE_LINK.sub(rewrite, text[end:])


def read_version() -> str:
    """The version in ``recipeflow/__init__.py``, which is not imported: what it needs may not be installed yet."""
    path = ROOT / "recipeflow" / "__init__.py"
    if (found := re.search(r'__version__ = "(.+)"', path.read_text(encoding="utf-8"))) is None:
        raise ValueError(f"expected __version__ in {path}, found none; write the version there")
    return found[1]


project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
wanted = read_requirements("requirements.txt")
setup(
    version=read_version(),
    install_requires=wanted[""],
    extras_require={
        "train": wanted["train"],
        "ray": wanted["train"] + wanted["ray"],
        # Not in requirements.txt: its S3 client asks for older fsspec and dateutil than everything is tested with.
        "inspect": [*wanted["train"], "inspect-ai>=0.3.285,<0.4"],
        "all": wanted["train"] + wanted["ray"] + wanted["all"],
        "dev": read_requirements("requirements-dev.txt")[""],
    },
    long_description=absolute_links(
        (ROOT / "README.md").read_text(encoding="utf-8"), project["urls"].get("Source"), read_version()
    ),
    long_description_content_type="text/markdown",
)
