"""One recipe's raw JSON to a ``Recipe``, collecting every problem on the way.

Parsing goes on after a problem wherever that makes sense, so that a person sees the whole list at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

import networkx as nx

from recipeflow.errors import (
    CycleError,
    DanglingEdgeError,
    DuplicateEdgeError,
    InsideWithoutBeginError,
    OffsetError,
    ReleaseProblem,
    UnknownLabelError,
    UnknownTagError,
    UnsafeIdError,
    WordIdError,
    WrongTypeError,
)
from recipeflow.recipe import LABELS, SECTIONS, TAGS, Flow, Line, Recipe, StateChange, Word, word_id

ANNOTATIONS = "annotations.json"
NO_FRAME = -1

WORD_NES = frozenset({"O", *(f"{tag}-{position}" for tag in TAGS for position in "BI")})
RECIPE_KEYS = {"ingredients": list, "instructions": list, "recipe_flows": list, "state_changes": list}
WORD_KEYS = {"word_id": str, "start_char": int, "end_char": int, "ne": str}
FLOW_KEYS = {"start_vertex": str, "end_vertex": str, "label": str}
CHANGE_KEYS = {"word_id": list, "before": int, "after": int}


def id_problem(recipe_id: str) -> UnsafeIdError | None:
    """Refuse ids that are not plain file names: they become folder names below the release."""
    safe = (
        recipe_id
        and recipe_id == PurePath(recipe_id).name
        and not recipe_id.startswith(".")
        and "\\" not in recipe_id
        and recipe_id.isprintable()
        and len(recipe_id.encode("utf-8", "surrogatepass")) <= 200
    )
    if safe:
        return None
    return UnsafeIdError(
        f"expected a recipe id that is a plain folder name, found {recipe_id!r}",
        file=ANNOTATIONS,
        recipe=recipe_id,
        value=recipe_id,
        hint="rename the recipe: no slashes, no leading dot, no control characters, at most 200 bytes",
    )


class RecipeParser:
    """Parses one recipe; ``problems`` holds what was wrong."""

    def __init__(self, recipe_id: str) -> None:
        self.recipe_id = recipe_id
        self.problems: list[ReleaseProblem] = []

    def parse(self, raw: Any) -> Recipe | None:
        """The recipe, or ``None`` when anything was wrong with it."""
        if (problem := id_problem(self.recipe_id)) is not None:
            self.problems.append(problem)
        if not self._has_keys(raw, RECIPE_KEYS, "the recipe"):
            return None
        sections = [tuple(self._lines(index, raw[name])) for index, name in enumerate(SECTIONS)]
        tags = {
            word_id(s, i, j): word.ne
            for s, lines in enumerate(sections)
            for i, line in enumerate(lines)
            for j, word in enumerate(line.words)
        }
        flows = tuple(self._flows(raw["recipe_flows"], tags))
        changes = tuple(self._state_changes(raw["state_changes"], tags))
        self._check_graph(flows)
        if self.problems:
            return None
        return Recipe(self.recipe_id, *sections, flows, changes)

    def _report(
        self, kind: Callable[..., ReleaseProblem], message: str, place: str | None, value: Any, hint: str | None = None
    ) -> None:
        problem = kind(message, file=ANNOTATIONS, recipe=self.recipe_id, place=place, value=value, hint=hint)
        self.problems.append(problem)

    def _has_keys(self, raw: Any, keys: dict[str, type], place: str) -> bool:
        """Whether ``raw`` is an object with exactly these keys, each of its type."""
        if not isinstance(raw, dict):
            self._report(WrongTypeError, f"expected an object, found {_show(raw)}", place, raw)
            return False
        before = len(self.problems)
        for key in keys.keys() - raw.keys():
            self._report(WrongTypeError, f"expected the key {key!r}, found only {sorted(raw)}", place, sorted(raw))
        for key in raw.keys() - keys.keys():
            message = f"expected the keys {sorted(keys)}, found the unknown key {key!r}"
            self._report(WrongTypeError, message, place, key)
        for key in keys.keys() & raw.keys():
            if type(raw[key]) is not keys[key]:
                message = f"expected {key!r} to be {_name(keys[key])}, found {_show(raw[key])}"
                self._report(WrongTypeError, message, place, raw[key])
        return len(self.problems) == before

    def _lines(self, section: int, raw_lines: list) -> Iterator[Line]:
        for number, raw_words in enumerate(raw_lines):
            place = f"{SECTIONS[section]} line {number}"
            if type(raw_words) is not list:
                self._report(WrongTypeError, f"expected a list of words, found {_show(raw_words)}", place, raw_words)
                yield Line(())
                continue
            if not raw_words:
                self._report(WrongTypeError, "expected a line of at least one word, found none", place, raw_words)
            yield Line(tuple(self._words(section, number, raw_words)))

    def _words(self, section: int, line: int, raw_words: list) -> Iterator[Word]:
        end, previous = 0, "O"
        for number, raw in enumerate(raw_words):
            place = word_id(section, line, number)
            if not self._has_keys(raw, WORD_KEYS, f"word {place}"):
                # Keep the position filled, so that one bad word does not shift those behind it.
                yield Word(end, end)
                previous = "O"
                continue
            self._check_word(raw, place, end, previous)
            end, previous = raw["end_char"], raw["ne"]
            yield Word(raw["start_char"], raw["end_char"], raw["ne"])

    def _check_word(self, raw: dict, place: str, end: int, previous: str) -> None:
        where = f"word {place}"
        if raw["word_id"] != place:
            message = f"expected the word id {place} (ids are positions), found {raw['word_id']!r}"
            self._report(WordIdError, message, where, raw["word_id"])
        span = (raw["start_char"], raw["end_char"])
        if span[0] != end or span[1] <= span[0]:
            message = f"expected a word that starts at {end} and is not empty, found characters {span[0]} to {span[1]}"
            self._report(OffsetError, message, where, span, "words tile their line without gaps")
        if raw["ne"] not in WORD_NES:
            message = f"expected O or TAG-B or TAG-I with TAG one of {', '.join(TAGS)}, found {raw['ne']!r}"
            self._report(UnknownTagError, message, where, raw["ne"])
        elif raw["ne"].endswith("-I") and previous not in (raw["ne"], raw["ne"].removesuffix("I") + "B"):
            message = f"expected {raw['ne']} to continue an entity of its tag, found {previous} before it"
            self._report(InsideWithoutBeginError, message, where, raw["ne"], "the first word of an entity is TAG-B")

    def _flows(self, raw_flows: list, tags: dict[str, str]) -> Iterator[Flow]:
        seen = set()
        for number, raw in enumerate(raw_flows):
            place = f"flow {number}"
            if not self._has_keys(raw, FLOW_KEYS, place):
                continue
            flow = Flow(raw["start_vertex"], raw["end_vertex"], raw["label"])
            if flow.label not in LABELS:
                message = f"expected a label of {', '.join(LABELS)}, found {flow.label!r}"
                self._report(UnknownLabelError, message, place, flow.label)
            for vertex in (flow.start, flow.end):
                self._check_vertex(vertex, tags, place)
            if flow in seen:
                message = f"expected each flow once, found {_arrow(flow)} again"
                self._report(DuplicateEdgeError, message, place, _arrow(flow), "remove one of them")
            seen.add(flow)
            yield flow

    def _check_vertex(self, vertex: str, tags: dict[str, str], place: str) -> None:
        if vertex not in tags:
            self._report(DanglingEdgeError, f"expected the id of a word, found {vertex!r}", place, vertex)
        elif not tags[vertex].endswith("-B"):
            message = f"expected the first word of an entity, found {vertex!r}, which is {tags[vertex]}"
            self._report(DanglingEdgeError, message, place, vertex)

    def _state_changes(self, raw_changes: list, tags: dict[str, str]) -> Iterator[StateChange]:
        for number, raw in enumerate(raw_changes):
            place = f"state change {number}"
            if not self._has_keys(raw, CHANGE_KEYS, place):
                continue
            position = raw["word_id"]
            if len(position) != 3 or any(type(part) is not int for part in position):
                message = f"expected a word id as [section, line, word], found {_show(position)}"
                self._report(WrongTypeError, message, place, position)
                continue
            action = word_id(*position)
            if tags.get(action) != "Ac-B":
                found = f"which is {tags[action]}" if action in tags else "which is no word"
                message = f"expected the first word of an action (Ac-B), found {action}, {found}"
                self._report(DanglingEdgeError, message, place, action)
            frames = [self._frame(raw[side], f"{place}, {side}") for side in ("before", "after")]
            yield StateChange(action, *frames)

    def _frame(self, number: int, place: str) -> int | None:
        if number < 1 and number != NO_FRAME:
            message = f"expected a frame number from 1, or {NO_FRAME} for no image, found {number}"
            self._report(WrongTypeError, message, place, number)
        return None if number == NO_FRAME else number

    def _check_graph(self, flows: tuple[Flow, ...]) -> None:
        graph = nx.DiGraph((flow.start, flow.end) for flow in flows)
        # One representative per strongly connected component: naming every cycle could take forever.
        for component in nx.strongly_connected_components(graph):
            node = min(component)
            if len(component) > 1 or graph.has_edge(node, node):
                cycle = nx.find_cycle(graph.subgraph(component))
                path = " → ".join([cycle[0][0], *(end for _, end in cycle)])
                message = f"expected flows without a cycle, found {path}"
                self._report(CycleError, message, "recipe_flows", path, "remove or turn one of these flows")


def recipe_to_json(recipe: Recipe) -> dict[str, list]:
    """The recipe as ``annotations.json`` holds it, keys in the official order."""
    sections = {
        name: [
            [
                {"word_id": word_id(s, i, j), "start_char": word.start, "end_char": word.end, "ne": word.ne}
                for j, word in enumerate(line.words)
            ]
            for i, line in enumerate(recipe.sections[s])
        ]
        for s, name in enumerate(SECTIONS)
    }
    flows = [{"start_vertex": f.start, "end_vertex": f.end, "label": f.label} for f in recipe.flows]
    changes = [
        {
            "word_id": [int(part) for part in change.action.split("-")],
            "before": NO_FRAME if change.before is None else change.before,
            "after": NO_FRAME if change.after is None else change.after,
        }
        for change in recipe.state_changes
    ]
    return {**sections, "recipe_flows": flows, "state_changes": changes}


def _arrow(flow: Flow) -> str:
    return f"{flow.start} -{flow.label}-> {flow.end}"


def _name(kind: type) -> str:
    return {list: "a list", str: "a string", int: "a whole number", dict: "an object"}[kind]


def _show(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '…'}"
