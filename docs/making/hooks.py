"""Extensions of MkDocs beyond docs/*.md: the repository's own pages, an API reference, and links that work.

The API reference has one page per room (a package or module directly below ``recipeflow``) and one for the files that
are pushed to the Hub. The rooms are found from the folders, so that a page moves with its module.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PACKAGE = "recipeflow"
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "RELEASE.md": "release.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files of the repository's root that are pages of the site."""
FIELDS_ARE_ARGUMENTS = {"configuration_vrf"}
"""Modules whose ``Args:`` describe fields that a decorator makes arguments, which cannot be read off the source."""
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the API reference to the menu."""
    rooms = [{title: page} for page, (title, _) in _api_pages().items()]
    config.nav.append({"API": rooms})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for source, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for page, (title, modules) in _api_pages().items():
        content = "\n".join([f"# {title}\n", *map(_reference, modules)])
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead the links of a page, which are right in the repository, to pages of the site."""
    home = next((source for source, name in ROOT_PAGES.items() if name == page.file.src_uri), None)
    source = home or f"docs/{page.file.src_uri}"
    pieces, end = [], 0
    for fence in FENCE.finditer(markdown):
        pieces += [_rewrite_links(markdown[end : fence.start()], source), fence[0]]
        end = fence.end()
    return "".join(pieces) + _rewrite_links(markdown[end:], source)


def _rewrite_links(text: str, source: str) -> str:
    """The text with links from ``source``, a path in the repository, as they are on the site."""

    def rewrite(link: re.Match) -> str:
        if "://" in link["target"] or link["target"].startswith("mailto:"):
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
        page = ROOT_PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        if page is None:
            # In the repository, but not on the site. What is in neither stays as it is, and the build fails on it.
            return link["text"] if (ROOT / path).exists() else link[0]
        start = posixpath.dirname(ROOT_PAGES.get(source) or source.removeprefix("docs/"))
        return f"{link['image']}[{link['text']}]({posixpath.relpath(page, start or '.')}{link['anchor'] or ''})"

    return LINK.sub(rewrite, text)


def _api_pages() -> dict[str, tuple[str, list[str]]]:
    """The title and modules of each page of the reference, by the page's path."""
    hub = sorted(path.stem for path in ROOT.glob("*vrf*.py"))
    pages = {"api/hub_files.md": ("Files for the Hub", hub)}
    for entry in sorted((ROOT / PACKAGE).iterdir()):
        modules = [_module_name(path) for path in sorted(entry.rglob("*.py") if entry.is_dir() else [entry])]
        modules = [name for name in modules if name.rpartition(".")[2] != "__main__"]
        if entry.stem.startswith("_") or entry.suffix not in ("", ".py") or not modules:
            continue
        pages[f"api/{entry.stem}.md"] = (f"{PACKAGE}.{entry.stem}", modules)
    return pages


def _reference(module: str) -> str:
    """The line that mkdocstrings replaces by what a module's docstrings say."""
    lenient = "    options: {docstring_options: {warn_unknown_params: false, warn_missing_types: false}}\n"
    return f"::: {module}\n" + (lenient if module in FIELDS_ARE_ARGUMENTS else "")


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
