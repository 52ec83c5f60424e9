"""``release.json``: what a release says about itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recipeflow.errors import EncodingError, ReleaseProblem, WrongTypeError, short, show
from recipeflow.language.languages import CODE
from recipeflow.release.jsonstream import stream_object
from recipeflow.release.parsing import ANNOTATIONS
from recipeflow.release.scheme import LABEL_NAME, PAPER, TAG_NAME, Scheme

INFO = "release.json"
MAIN_KEYS = ("source", "licence", "version")
SCHEME_KEYS = ("language", "tags", "labels")
PREDICTED_BY = "predicted_by"

OFFICIAL_SHA256 = "ffb2d7da4448613aeb830ce9313ae3bc0edb868084bf5546f48a1b69af9d57fc"
"""The checksum of the authors' ``annotations.json``, to recognise a bare copy of it."""


@dataclass(frozen=True)
class ReleaseInfo:
    """What ``release.json`` says about the whole release.

    ``glossary`` translates Japanese words to English; ``details`` contains every other key as it was read.
    ``scheme`` is what its words are tagged with; ``predicted_by`` names the parser whose output this release is.
    """

    source: str | None = None
    licence: str | None = None
    version: str | None = None
    glossary: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    scheme: Scheme = PAPER
    predicted_by: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The keys of ``release.json`` that have a meaning here, without those that have their default."""
        row = {key: getattr(self, key) for key in MAIN_KEYS} | {"glossary": dict(self.glossary)}
        for key in SCHEME_KEYS:
            value, default = getattr(self.scheme, key), getattr(PAPER, key)
            if (value, list(value)) != (default, list(default)):  # the order of names matters too
                row[key] = value if isinstance(value, str) else dict(value)
        return row if self.predicted_by is None else row | {PREDICTED_BY: self.predicted_by}

    def to_json(self) -> str:
        """The text of ``release.json``, indented for people."""
        row = {**self.details, **self.as_dict()}
        return json.dumps(row, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


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
        known = read_object(path)
    except ReleaseProblem as problem:
        return ReleaseInfo(), [problem]
    return info_from_dict(known)


def info_from_dict(known: dict[str, Any]) -> tuple[ReleaseInfo, list[ReleaseProblem]]:
    """The content of ``release.json`` as an object, and everything that is wrong with it."""
    known = dict(known)
    if "license" in known and "licence" not in known:  # the Hub's spelling is accepted too
        known["licence"] = known.pop("license")
    glossary = known.pop("glossary", {})
    main = {key: known.pop(key, None) for key in (*MAIN_KEYS, PREDICTED_BY)}
    scheme, wrong = _take_scheme(known)
    problems: list[ReleaseProblem] = [
        _wrong(f"expected {key!r} to be a string or null, found {show(value)}", key, value)
        for key, value in main.items()
        if not isinstance(value, str | None)
    ]
    if not isinstance(glossary, dict) or not all(isinstance(text, str) for text in glossary.values()):
        problems.append(_wrong(f"expected words and their English, found {show(glossary)}", "glossary", glossary))
    return ReleaseInfo(**main, glossary=glossary, details=known, scheme=scheme), problems + wrong


def read_scheme(folder: str | Path) -> Scheme:
    """The language, tags and labels of a release; the paper's where it names none.

    Raises:
        ReleaseProblem: If ``release.json`` has them in another form: its recipes could not be checked then.
    """
    if not (Path(folder) / INFO).exists():
        return PAPER
    info, problems = check_info(folder)
    for problem in problems:
        if problem.place in SCHEME_KEYS:
            raise problem
    return info.scheme


def _take_scheme(known: dict[str, Any]) -> tuple[Scheme, list[ReleaseProblem]]:
    """Remove what belongs to the scheme from the keys of ``release.json``."""
    found = {key: value for key in SCHEME_KEYS if (value := known.pop(key, None)) is not None}
    problems: list[ReleaseProblem] = []
    language = found.get("language")
    if language is not None and not (isinstance(language, str) and CODE.fullmatch(language)):
        message = f"expected the code of a language, such as en, found {show(language)}"
        problems.append(_wrong(message, "language", found.pop("language")))
    for key, pattern in (("tags", TAG_NAME), ("labels", LABEL_NAME)):
        if key in found and (reason := _names_problem(found[key], pattern)):
            problems.append(_wrong(f"expected {key} with their meanings, {reason}", key, found.pop(key)))
    return Scheme(**found), problems


def _names_problem(names: object, pattern: re.Pattern[str]) -> str | None:
    if not isinstance(names, dict) or not names:
        return f"found {show(names)}"
    if not all(isinstance(meaning, str) for meaning in names.values()):
        return "found a meaning that is not text"
    odd = next((name for name in names if not pattern.fullmatch(name)), None)
    return None if odd is None else f"found the name {short(odd)}"


def _recognise(annotations: Path) -> ReleaseInfo:
    if annotations.is_file():
        with annotations.open("rb") as source:
            if hashlib.file_digest(source, "sha256").hexdigest() == OFFICIAL_SHA256:
                return ReleaseInfo(source="official", licence="MIT")
    return ReleaseInfo()


def read_object(path: Path) -> dict[str, Any]:
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
