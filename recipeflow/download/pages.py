"""Extract the fields of the release's text from a recipe's page.

There are two ways. The first is the JSON state that the authors' release was made from, ``ssrContext = {…}`` in a
script; the second is the schema.org ``Recipe`` that search engines read (JSON-LD). Pages may lose
either one over time, so both are tried, and an error says what was missing for each.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from recipeflow.errors import PageError, show

STATE, JSON_LD = "ssrContext", "JSON-LD"
_STATE_PATH = ("state", "fetchVideo", "data", "data", "attributes")
_STATE_START = re.compile(r"ssrContext\s*=\s*(?=\{)")
_VIDEO = re.compile(r"""https?:(?:\\?/|\\u002[fF]){2}[^\s"'<>]*?\.mp4""")
_TAG = re.compile(r"<[^<>]*>")
_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)
REPORT = "the page is gone or its structure has changed: open it in a browser, and report it to the project"


@dataclass(frozen=True, slots=True)
class PageIngredient:
    """One ingredient with its heading, if any."""

    name: str
    quantity: str = ""
    heading: str | None = None


@dataclass(frozen=True, slots=True)
class PageInstruction:
    """One instruction; its order is 0 for the preparation, and ``None`` where the page does not number."""

    body: str
    order: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The recipe as written on a page; ``way`` is where in the page it was found."""

    title: str
    ingredients: tuple[PageIngredient, ...]
    instructions: tuple[PageInstruction, ...]
    video: str | None
    way: str


class _NotThereError(Exception):
    """One way of reading a page failed; the text says why."""


def decode_page(body: bytes) -> str:
    """A page as text, in the encoding that its head declares; UTF-8 where it declares none, or one that is unknown."""
    declared = _CHARSET.search(body[:4096])
    try:
        return body.decode(declared[1].decode() if declared else "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def read_page(source: str, url: str, hint: str = REPORT) -> Page:
    """The recipe of a page.

    Args:
        source: The page's HTML.
        url: Its address, for the error.
        hint: What to do if there is none, for the error.

    Raises:
        PageError: If neither way finds a recipe, with the reason for each.
    """
    scripts = _Scripts(source).found
    video = find_video(source)
    reasons = []
    for way, read in ((STATE, _read_state), (JSON_LD, _read_json_ld)):
        try:
            return Page(*read(scripts), video, way)
        except _NotThereError as reason:
            reasons.append(f"{way}: {reason}")
    raise PageError(f"expected a recipe in {url}, found none ({'; '.join(reasons)}); {hint}")


def find_video(source: str) -> str | None:
    """The first URL of an MP4 file in a page's source, by the release's rule; scripts may escape its slashes."""
    match = _VIDEO.search(source)
    if match is None:
        return None
    return html.unescape(re.sub(r"\\u002[fF]|\\/", "/", match[0]))


class _Scripts(HTMLParser):
    """The script elements of a page, each with its type and text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.open: str | None = None
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open = (dict(attrs).get("type") or "").strip().lower() if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self.open = None

    def handle_data(self, data: str) -> None:
        if self.open is not None:
            self.found.append((self.open, data))


Fields = tuple[str, tuple[PageIngredient, ...], tuple[PageInstruction, ...]]


def _read_state(scripts: list[tuple[str, str]]) -> Fields:
    states = [text[match.end() :] for _, text in scripts if (match := _STATE_START.search(text))]
    if not states:
        raise _NotThereError("no script sets it")
    attributes = _parse(states[0])
    for key in _STATE_PATH:
        attributes = _get(attributes, key, dict)
    items = _get(attributes, "ingredients", list)
    headings = {
        str(item.get("id")): _get(item, "title", str) for item in items if _get(item, "type", str) == "heading"
    }
    ingredients = tuple(
        PageIngredient(
            _get(item, "name", str), _text(item.get("quantity-amount")), headings.get(str(item.get("group-id")))
        )
        for item in items
        if item["type"] == "ingredients"
    )
    steps = _get(attributes, "instructions", list)
    instructions = tuple(PageInstruction(_get(step, "body", str), _get(step, "sort-order", int)) for step in steps)
    return _whole(_get(attributes, "title", str), ingredients, instructions)


def _read_json_ld(scripts: list[tuple[str, str]]) -> Fields:
    blocks = [text for kind, text in scripts if kind == "application/ld+json"]
    if not blocks:
        raise _NotThereError("no script of that type")
    recipes = [thing for text in blocks for thing in _things(_parse(text)) if "Recipe" in _types(thing)]
    if not recipes:
        raise _NotThereError("no Recipe in it")
    listed = _get(recipes[0], "recipeIngredient", list)
    ingredients = tuple(PageIngredient(_text(text)) for text in listed)
    instructions = tuple(_steps(recipes[0].get("recipeInstructions")))
    return _whole(_get(recipes[0], "name", str), ingredients, instructions)


def _things(value: Any) -> Iterator[dict]:
    """The objects of a JSON-LD block, which may be one, a list of them, or a graph."""
    for thing in value if isinstance(value, list) else [value]:
        if isinstance(thing, dict):
            yield thing
            yield from _things(thing.get("@graph", []))


def _types(thing: dict) -> list[Any]:
    kind = thing.get("@type")
    return kind if isinstance(kind, list) else [kind]


def _steps(value: Any) -> Iterator[PageInstruction]:
    """Instructions in any of schema.org's forms: a text with one per line, texts, steps, or sections of steps."""
    if isinstance(value, str):
        yield from (PageInstruction(_plain(line)) for line in value.splitlines() if line.strip())
    elif isinstance(value, dict):
        inner = value.get("itemListElement")
        yield from _steps(inner) if inner is not None else [PageInstruction(_plain(_get(value, "text", str)))]
    elif isinstance(value, list):
        for item in value:
            # A list of texts is a list of steps: line breaks inside one of them do not make two.
            yield from [PageInstruction(_plain(item))] if isinstance(item, str) else _steps(item)
    else:
        raise _NotThereError(f"expected instructions, found {show(value)}")


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text))


def _parse(text: str) -> Any:
    """The JSON value at the start of a text; in a script, code follows it."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text.lstrip())[0]
    except (ValueError, RecursionError) as error:
        raise _NotThereError(f"it is not JSON ({error})") from None


def _get(value: Any, key: str, kind: type) -> Any:
    """A required member of this type."""
    if not isinstance(value, dict) or key not in value:
        raise _NotThereError(f"no {key!r} where it used to be")
    if type(value[key]) is not kind:
        raise _NotThereError(f"{key!r} is {show(value[key])}, not {kind.__name__}")
    return value[key]


def _text(value: Any) -> str:
    """An optional text."""
    if not isinstance(value, str | None):
        raise _NotThereError(f"expected a text, found {show(value)}")
    return value or ""


def _whole(title: str, ingredients: tuple, instructions: tuple) -> Fields:
    if not ingredients or not instructions:
        raise _NotThereError(f"{len(ingredients)} ingredients and {len(instructions)} instructions")
    return title, ingredients, instructions
