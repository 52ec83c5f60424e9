"""``release.json``: what a release says about itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recipeflow.errors import EncodingError, ReleaseProblem, WrongTypeError, show
from recipeflow.release.jsonstream import stream_object
from recipeflow.release.parsing import ANNOTATIONS

INFO = "release.json"
MAIN_KEYS = ("source", "licence", "version")

OFFICIAL_SHA256 = "ffb2d7da4448613aeb830ce9313ae3bc0edb868084bf5546f48a1b69af9d57fc"
"""The checksum of the authors' ``annotations.json``, to recognise a bare copy of it."""


@dataclass(frozen=True)
class ReleaseInfo:
    """What ``release.json`` says about the whole release.

    ``glossary`` translates Japanese words to English; ``details`` contains every other key as it was read.
    """

    source: str | None = None
    licence: str | None = None
    version: str | None = None
    glossary: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """The text of ``release.json``, indented for people."""
        row = {key: getattr(self, key) for key in MAIN_KEYS} | {"glossary": dict(self.glossary)}
        return json.dumps({**self.details, **row}, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def read_info(folder: str | Path) -> ReleaseInfo:
    """What ``release.json`` says; a bare copy of the official annotations is recognised by its checksum.

    Raises:
        ReleaseProblem: The first thing that is wrong with the file.
    """
    info, problems = check_info(folder)
    if problems:
        raise problems[0]
    return info


def check_info(folder: str | Path) -> tuple[ReleaseInfo, list[ReleaseProblem]]:
    """What ``release.json`` says, and everything that is wrong with it."""
    path = Path(folder) / INFO
    if not path.exists():
        return _recognise(Path(folder) / ANNOTATIONS), []
    try:
        known = _read_object(path)
    except ReleaseProblem as problem:
        return ReleaseInfo(), [problem]
    if "license" in known and "licence" not in known:  # the Hub's spelling is accepted too
        known["licence"] = known.pop("license")
    glossary = known.pop("glossary", {})
    main = {key: known.pop(key, None) for key in MAIN_KEYS}
    problems: list[ReleaseProblem] = [
        _wrong(f"expected {key!r} to be a string or null, found {show(value)}", key, value)
        for key, value in main.items()
        if not isinstance(value, str | None)
    ]
    if not isinstance(glossary, dict) or not all(isinstance(text, str) for text in glossary.values()):
        problems.append(_wrong(f"expected words and their English, found {show(glossary)}", "glossary", glossary))
    return ReleaseInfo(**main, glossary=glossary, details=known), problems


def _recognise(annotations: Path) -> ReleaseInfo:
    if annotations.is_file():
        with annotations.open("rb") as source:
            if hashlib.file_digest(source, "sha256").hexdigest() == OFFICIAL_SHA256:
                return ReleaseInfo(source="official", licence="MIT")
    return ReleaseInfo()


def _read_object(path: Path) -> dict[str, Any]:
    """Read the object in ``release.json``; values that could not be written again are refused."""
    members = list(stream_object(path, INFO))
    known = dict(members)
    if len(known) != len(members):
        raise WrongTypeError("expected each key once, found one twice", file=INFO)
    try:
        json.dumps(known, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise EncodingError("expected text, found half of a surrogate pair", file=INFO) from None
    except (RecursionError, ValueError):
        raise WrongTypeError(
            "expected plain JSON values, found NaN, an infinity or too deep nesting", file=INFO
        ) from None
    return known


def _wrong(message: str, key: str, value: object) -> WrongTypeError:
    return WrongTypeError(message, file=INFO, place=key, value=value)
