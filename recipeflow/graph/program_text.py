"""The two written forms of a cooking program, text for people and JSON for machines; both are read back.

A line of the text is an assignment, and after ``#`` the tag and id of every mention in it, in order::

    x1 = 切り(きゅうり(is=i1), how="１ｃｍ幅")  # Ac 1-0-5, F 1-0-2, Sf 1-0-4

Where a release has no text, the id replaces it. Names that are not plain words are JSON strings, and so are labels
that a corpus has besides the paper's: ``"s"=オーブン``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from recipeflow.errors import ProgramError, short
from recipeflow.graph.program import OBJECT, ROLES, Argument, Mention, Program
from recipeflow.release.scheme import PAPER, Scheme

_ID = re.compile(r"[0-9]+-[0-9]+-[0-9]+")
_VARIABLE = re.compile(r"[imx][1-9][0-9]*")
_TOKEN = re.compile(rf'\s*({_ID.pattern}|\w+|"(?:[^"\\]|\\.)*"|[(),=])')
_MARGIN = "  # "
_NESTED = 50
_END = "the end of the line"
_FIX = "write programs as `vrf program` prints them"


def format_program(program: Program) -> str:
    """A program as text, one assignment per line; the last line returns its results."""
    title = "null" if program.title is None else _string(program.title)
    lines = [f"program {_string(program.recipe_id)} {title}"]
    for name, mention in program.variables.items():
        margin = ", ".join(f"{part.tag} {part.id}" for part in mention.nested())
        lines.append(f"{name} = {_format(mention)}{_MARGIN}{margin}")
    return "\n".join([*lines, _format_return(program), ""])


def _format(value: Mention | str) -> str:
    if isinstance(value, str):
        return value
    parts = [
        _format(argument.value) if argument.label == OBJECT else f"{_role(argument.label)}={_format(argument.value)}"
        for argument in value.arguments
    ]
    call = f"({', '.join(parts)})" if parts else ""
    return (value.id if value.text is None else _quote(value.text)) + call


def _role(label: str) -> str:
    return ROLES.get(label) or _string(label)


def _quote(text: str) -> str:
    is_plain = re.fullmatch(r"\w+", text) and not _VARIABLE.fullmatch(text)
    return text if is_plain else _string(text)


def _string(text: str) -> str:
    """A JSON string on one line, without control characters for a terminal."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _format_return(program: Program) -> str:
    return " ".join(["return", ", ".join(program.results)]).rstrip()


def parse_program(text: str, scheme: Scheme = PAPER) -> Program:
    """Read the text form.

    Args:
        text: The program.
        scheme: The tags and labels that it may have.

    Raises:
        ProgramError: If it cannot be parsed, with the line number.
    """
    lines = text.splitlines() or [""]
    head = _parse_head(lines[0])
    builder, labels = _Builder(scheme), _labels_by_role(scheme)
    for number, line in enumerate(lines[1:-1], start=2):
        builder.assign(*_LineParser(line, number, labels).assignment(), f"line {number}")
    program = Program(*head, builder.variables)
    if lines[-1] != (expected := _format_return(program)) or len(lines) < 2:
        raise _problem(f"line {len(lines)}", f"expected {expected!r} as the last line", lines[-1])
    return program


def _parse_head(line: str) -> tuple[str, str | None]:
    match = re.fullmatch(r'program ("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*"|null)', line)
    if match is None:
        raise _problem("line 1", 'expected program "ID" "TITLE", or null for no title', line)
    return tuple(_unquote(part, "line 1") for part in match.groups())


def _unquote(token: str, place: str) -> Any:
    try:
        return json.loads(token)
    except ValueError:
        raise _problem(place, "expected a JSON string", token) from None


class _LineParser:
    """Reads one assignment by recursive descent; tags and ids come from the margin."""

    def __init__(self, line: str, number: int, labels: Mapping[str, str]) -> None:
        self.labels = labels
        body, _, margin = line.rpartition(_MARGIN)
        self.place = f"line {number}"
        self.tokens = list(self._split(body.rstrip()))
        self.margin = [part.partition(" ")[::2] for part in margin.split(", ")]

    def _split(self, body: str) -> Iterator[str]:
        position = 0
        while position < len(body):
            match = _TOKEN.match(body, position)
            if match is None:
                raise self._problem("a name, a keyword, a bracket or a comma", body[position:])
            position = match.end()
            yield match[1]
        yield _END

    def _problem(self, expected: str, found: object) -> ProgramError:
        return _problem(self.place, f"expected {expected}", found)

    def _take(self, expected: str | None = None) -> str:
        if expected is not None and self.tokens[0] != expected:
            raise self._problem(expected, self.tokens[0])
        return self.tokens.pop(0)

    def assignment(self) -> tuple[str, Mention]:
        """``x1 = 切り(…)``"""
        if self.tokens[1:2] != ["="]:
            raise self._problem("a variable, = and a mention, with tags and ids after #", self.tokens[0])
        name = self._take()
        self._take("=")
        mention = self._mention(0)
        self._take(_END)
        if self.margin:
            raise self._problem("a tag and an id for each mention", f"{len(self.margin)} more")
        return name, mention

    def _mention(self, depth: int) -> Mention:
        token = self._take()
        if depth > _NESTED or not self.margin or token in {"(", ")", ",", "=", _END}:
            wanted = "a mention, with its tag and id after #" if depth <= _NESTED else f"at most {_NESTED} brackets"
            raise self._problem(wanted, token)
        tag, mention_id = self.margin.pop(0)
        text = _unquote(token, self.place) if token.startswith('"') else token
        if _ID.fullmatch(token):
            if token != mention_id:
                raise self._problem(f"{mention_id}, as after #", token)
            text = None
        return Mention(mention_id, tag, text, tuple(self._arguments(depth + 1)))

    def _arguments(self, depth: int) -> Iterator[Argument]:
        if self.tokens[0] != "(":
            return
        while self._take() != ")":
            label = OBJECT
            if self.tokens[1:2] == ["="]:
                role = self._take()
                self._take("=")
                label = _find_label(role, self.labels, self.place)
            is_variable = _VARIABLE.fullmatch(self.tokens[0])
            yield Argument(label, self._take() if is_variable else self._mention(depth))
            if self.tokens[0] not in {",", ")"}:
                raise self._problem("a comma or a closing bracket", self.tokens[0])


def program_to_json(program: Program) -> dict[str, Any]:
    """A program as JSON-ready objects."""
    return {
        "recipe_id": program.recipe_id,
        "title": program.title,
        "assignments": [{"name": name, **_as_dict(mention)} for name, mention in program.variables.items()],
        "results": list(program.results),
    }


def _as_dict(mention: Mention) -> dict[str, Any]:
    arguments = [
        {"role": _role(argument.label), "value": value if isinstance(value, str) else _as_dict(value)}
        for argument in mention.arguments
        for value in [argument.value]
    ]
    return {"id": mention.id, "tag": mention.tag, "text": mention.text, "arguments": arguments}


def program_from_json(raw: Any, scheme: Scheme = PAPER) -> Program:
    """Read the JSON form.

    Args:
        raw: The program.
        scheme: The tags and labels that it may have.

    Raises:
        ProgramError: Where it cannot be read.
    """
    recipe_id, title = _get(raw, "recipe_id", str, "the program"), _get(raw, "title", str | None, "the program")
    builder, labels = _Builder(scheme), _labels_by_role(scheme)
    for number, item in enumerate(_get(raw, "assignments", list, "the program")):
        place = f"assignment {number}"
        builder.assign(_get(item, "name", str, place), _from_dict(item, labels, place, 0), place)
    program = Program(recipe_id, title, builder.variables)
    if _get(raw, "results", list, "the program") != list(program.results):
        raise _problem("the program", f"expected the results {', '.join(program.results)}", raw["results"])
    return program


def _from_dict(raw: Any, labels: Mapping[str, str], place: str, depth: int) -> Mention:
    if depth > _NESTED:
        raise _problem(place, f"expected mentions at most {_NESTED} deep", raw)
    arguments = []
    for item in _get(raw, "arguments", list, place):
        value = _get(item, "value", str | dict, place)
        value = value if isinstance(value, str) else _from_dict(value, labels, place, depth + 1)
        arguments.append(Argument(_find_label(_get(item, "role", str, place), labels, place), value))
    fields = (_get(raw, "id", str, place), _get(raw, "tag", str, place), _get(raw, "text", str | None, place))
    return Mention(*fields, tuple(arguments))


def _get(raw: Any, key: str, kind: Any, place: str) -> Any:
    if not isinstance(raw, dict) or key not in raw or not isinstance(raw[key], kind):
        raise _problem(place, f"expected {key!r} of the right type", raw.get(key) if isinstance(raw, dict) else raw)
    return raw[key]


class _Builder:
    """Collects assignments; each must fit those before it."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme
        self.variables: dict[str, Mention] = {}
        self.ids: set[str] = set()

    def assign(self, name: str, mention: Mention, place: str) -> None:
        if not _VARIABLE.fullmatch(name) or name in self.variables:
            raise _problem(place, "expected a new variable such as i1, x1 or m1", name)
        for part in mention.nested():
            self._check(part, place)
            if (part.tag == "Ac") != (name.startswith("x") and part is mention):
                raise _problem(place, "expected every action, and nothing else, as a variable x1, x2, …", part.id)
        self.variables[name] = mention

    def _check(self, mention: Mention, place: str) -> None:
        if not _ID.fullmatch(mention.id) or mention.id in self.ids:
            raise _problem(place, "expected each word id once", mention.id)
        self.ids.add(mention.id)
        if mention.tag not in self.scheme.tags:
            raise _problem(place, f"expected a tag of {', '.join(self.scheme.tags)}", mention.tag)
        if len(set(mention.arguments)) < len(mention.arguments):
            raise _problem(place, "expected each argument once", mention.id)
        for argument in mention.arguments:
            if isinstance(argument.value, str) and argument.value not in self.variables:
                raise _problem(place, "expected only variables that were assigned before", argument.value)


def _labels_by_role(scheme: Scheme) -> dict[str, str]:
    return {_role(label): label for label in scheme.labels}


def _find_label(role: str, labels: Mapping[str, str], place: str) -> str:
    if role not in labels:
        raise _problem(place, f"expected a keyword of {', '.join(labels)}", role)
    return labels[role]


def _problem(place: str, expected: str, found: object) -> ProgramError:
    return ProgramError(f"{place}: {expected}, found {short(found)}; {_FIX}")
