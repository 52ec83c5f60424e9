"""ES modules as one classic script, because browsers load no modules from ``file://``.

It supports only the syntax of this project's modules: imports of one line without renaming, and declarations with an
inline export. Anything else is refused, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./([\w.-]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class) )", re.MULTILINE)
_DECLARED = re.compile(r"^(export )?(?:async function|function|const|let|class) (\w+)", re.MULTILINE)
_LEFT_OVER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


class BundleError(Exception):
    """A module with unsupported syntax: a bug of the project, not a user's error."""


def combine_modules(entry: str, folders: Sequence[Path]) -> str:
    """A module and its imports, each once and after its own imports, inside one function.

    Args:
        entry: The name of the module that starts the page.
        folders: Searched for modules by name, in this order.
    """
    texts: dict[str, str] = {}
    _collect(entry, folders, texts, ())
    owners: dict[str, str] = {}
    for name, text in texts.items():
        for declared in (match[2] for match in _DECLARED.finditer(text)):
            if owners.setdefault(declared, name) != name:
                raise BundleError(
                    f"expected each top-level name once, found {declared} in {owners[declared]} and {name}"
                )
    parts = [f"// {name}\n{_as_script(name, text)}" for name, text in texts.items()]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def _collect(name: str, folders: Sequence[Path], texts: dict[str, str], above: tuple[str, ...]) -> None:
    """Add a module after its imports; names and exports are checked on the way."""
    if name in above:
        raise BundleError(f"expected no import cycle, found {' -> '.join([*above, name])}")
    if name in texts:
        return
    path = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if path is None:
        raise BundleError(f"expected the module {name} in {', '.join(map(str, folders))}, found none")
    text = path.read_text(encoding="utf-8")
    for match in _IMPORT.finditer(text):
        _collect(match[2], folders, texts, (*above, name))
        exported = {found[2] for found in _DECLARED.finditer(texts[match[2]]) if found[1]}
        if missing := set(match[1].split(", ")) - exported:
            raise BundleError(f"expected {match[2]} to export {', '.join(sorted(missing))}, which {name} imports")
    texts[name] = text


def _as_script(name: str, text: str) -> str:
    script = _EXPORT.sub("", _IMPORT.sub("", text))
    if left := _LEFT_OVER.search(script):
        raise BundleError(f"expected plain imports and exports in {name}, found {left[0]!r}")
    return script
