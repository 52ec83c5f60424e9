"""One recipe's raw JSON to a ``Recipe``, collecting every problem on the way.

Parsing continues after a problem where that makes sense, so that a person sees the whole list at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

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
    printable,
    short,
    show,
)
from recipeflow.release.recipe import SECTIONS, Flow, Line, Recipe, StateChange, Word, word_id
from recipeflow.release.scheme import PAPER, Scheme

ANNOTATIONS = "annotations.json"
NO_FRAME = -1
LARGEST = 2**31 - 1
"""Larger numbers do not fit the datasets' columns, and no real line or video has so many characters or frames."""

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
    """Parses one recipe and collects its ``problems``.

    Unreadable parts are left out of further checks, so that one mistake is reported once and not again for every
    place that refers to it.
    """

    def __init__(self, recipe_id: str, scheme: Scheme = PAPER) -> None:
        self.recipe_id = recipe_id
        self.scheme = scheme
        self.problems: list[ReleaseProblem] = []
        self.tags: dict[str, str | None] = {}

    def parse(self, raw: Any) -> Recipe | None:
        """The recipe as far as it can be read, or ``None`` if its lines cannot; valid only without ``problems``.

        A line with an unreadable word comes back without words.
        """
        if (problem := id_problem(self.recipe_id)) is not None:
            self.problems.append(problem)
        self._has_keys(raw, RECIPE_KEYS, "the recipe")
        lists = {key: raw[key] for key in RECIPE_KEYS if type(raw) is dict and type(raw.get(key)) is list}
        ingredients, instructions = (tuple(self._lines(i, lists.get(name, ()))) for i, name in enumerate(SECTIONS))
        if not lists.keys() >= set(SECTIONS):
            return None
        flows = tuple(self._flows(lists.get("recipe_flows", ())))
        changes = tuple(self._state_changes(lists.get("state_changes", ())))
        self._check_graph(flows)
        return Recipe(self.recipe_id, ingredients, instructions, flows, changes)

    def _report(
        self, kind: Callable[..., ReleaseProblem], message: str, place: str | None, value: Any, hint: str | None = None
    ) -> None:
        problem = kind(message, file=ANNOTATIONS, recipe=self.recipe_id, place=place, value=value, hint=hint)
        self.problems.append(problem)

    def _has_keys(self, raw: Any, keys: Mapping[str, type], place: str) -> bool:
        """Whether ``raw`` is an object with exactly these keys, each of its type."""
        if not isinstance(raw, dict):
            self._report(WrongTypeError, f"expected an object, found {show(raw)}", place, raw)
            return False
        before = len(self.problems)
        for key in [key for key in keys if key not in raw]:
            self._report(WrongTypeError, f"expected the key {key!r}, found only {short(sorted(raw))}", place, key)
        for key in [key for key in raw if key not in keys]:
            message = f"expected the keys {', '.join(keys)}, found the unknown key {short(key)}"
            self._report(WrongTypeError, message, place, key)
        for key in [key for key in keys if key in raw]:
            value = raw[key]
            if type(value) is not keys[key] or (keys[key] is int and abs(value) > LARGEST):
                message = f"expected {key!r} to be {_name(keys[key])}, found {show(value)}"
                self._report(WrongTypeError, message, place, value)
        return len(self.problems) == before

    def _lines(self, section: int, raw_lines: Sequence) -> Iterator[Line]:
        for number, raw_words in enumerate(raw_lines):
            place = f"{SECTIONS[section]} line {number}"
            if type(raw_words) is not list:
                self._report(WrongTypeError, f"expected a list of words, found {show(raw_words)}", place, raw_words)
                yield Line(())
                continue
            if not raw_words:
                self._report(WrongTypeError, "expected a line of at least one word, found none", place, raw_words)
            words = list(self._words(section, number, raw_words))
            readable = tuple(word for word in words if word is not None)
            yield Line(readable if len(readable) == len(words) else ())

    def _words(self, section: int, line: int, raw_words: list) -> Iterator[Word | None]:
        """The words of a line, ``None`` for one that cannot be read."""
        end, previous = 0, "O"
        for number, raw in enumerate(raw_words):
            place = word_id(section, line, number)
            if self._has_keys(raw, WORD_KEYS, f"word {place}"):
                self._check_word(raw, place, end, previous)
                end, previous = raw["end_char"], raw["ne"]
                yield Word(raw["start_char"], raw["end_char"], raw["ne"])
            else:
                end = previous = None
                yield None
            self.tags[place] = previous

    def _check_word(self, raw: dict, place: str, end: int | None, previous: str | None) -> None:
        """Check a word against the one before it, whose end and tag are ``None`` if it could not be read."""
        where, ne = f"word {place}", raw["ne"]
        if raw["word_id"] != place:
            message = f"expected the word id {place} (ids are positions), found {short(raw['word_id'])}"
            self._report(WordIdError, message, where, raw["word_id"])
        span = (raw["start_char"], raw["end_char"])
        end = span[0] if end is None else end
        # Only a line of a spaced language may have something between its words; its text is checked to be a space.
        gap = span[0] > end > 0 and self.scheme.spaced
        if (span[0] != end and not gap) or span[0] < 0 or span[1] <= span[0]:
            message = f"expected a word that starts at {end} and is not empty, found characters {span[0]} to {span[1]}"
            spaces = "only spaces are between words" if self.scheme.spaced else "words tile their line without gaps"
            self._report(OffsetError, message, where, span, spaces)
        if ne not in self.scheme.word_nes:
            known = ", ".join(self.scheme.tags)
            message = f"expected O or TAG-B or TAG-I with TAG one of {known}, found {short(ne)}"
            self._report(UnknownTagError, message, where, ne)
        elif ne.endswith("-I") and previous not in (None, ne, ne.removesuffix("I") + "B"):
            message = f"expected {ne} to continue an entity of its tag, found {short(previous)} before it"
            self._report(InsideWithoutBeginError, message, where, ne, "the first word of an entity is TAG-B")

    def _flows(self, raw_flows: Sequence) -> Iterator[Flow]:
        seen = set()
        for number, raw in enumerate(raw_flows):
            place = f"flow {number}"
            if not self._has_keys(raw, FLOW_KEYS, place):
                continue
            flow = Flow(raw["start_vertex"], raw["end_vertex"], raw["label"])
            if flow.label not in self.scheme.labels:
                message = f"expected a label of {', '.join(self.scheme.labels)}, found {short(flow.label)}"
                self._report(UnknownLabelError, message, place, flow.label)
            for side, vertex in (("start", flow.start), ("end", flow.end)):
                self._check_vertex(vertex, f"{place}, {side}")
            if flow in seen:
                arrow = f"{flow.start} -{flow.label}-> {flow.end}"
                message = f"expected each flow once, found {short(arrow)} again"
                self._report(DuplicateEdgeError, message, place, arrow, "remove one of them")
            seen.add(flow)
            yield flow

    def _check_vertex(self, vertex: str, place: str) -> None:
        if vertex not in self.tags:
            self._report(DanglingEdgeError, f"expected the id of a word, found {short(vertex)}", place, vertex)
        elif (tag := self.tags[vertex]) is not None and not tag.endswith("-B"):
            message = f"expected the first word of an entity, found {short(vertex)}, which is {short(tag)}"
            self._report(DanglingEdgeError, message, place, vertex)

    def _state_changes(self, raw_changes: Sequence) -> Iterator[StateChange]:
        for number, raw in enumerate(raw_changes):
            place = f"state change {number}"
            if not self._has_keys(raw, CHANGE_KEYS, place):
                continue
            position = raw["word_id"]
            if len(position) != 3 or any(type(part) is not int for part in position):
                message = f"expected a word id as [section, line, word], found {short(position)}"
                self._report(WrongTypeError, message, place, position)
                continue
            action = word_id(*position)
            tag = self.tags.get(action, "no word")
            if tag not in (None, "Ac-B"):
                message = f"expected the first word of an action (Ac-B), found {short(action)}, which is {short(tag)}"
                self._report(DanglingEdgeError, message, place, action)
            before, after = (self._frame(raw[side], f"{place}, {side}") for side in ("before", "after"))
            yield StateChange(action, before, after)

    def _frame(self, number: int, place: str) -> int | None:
        if number >= 1:
            return number
        if number != NO_FRAME:
            message = f"expected a frame number from 1, or {NO_FRAME} for no image, found {number}"
            self._report(WrongTypeError, message, place, number)
        return None

    def _check_graph(self, flows: tuple[Flow, ...]) -> None:
        import networkx as nx  # here, because everyone who reads a dataset imports this module

        graph = nx.DiGraph((flow.start, flow.end) for flow in flows)
        # One representative per strongly connected component: naming every cycle could take forever.
        for component in nx.strongly_connected_components(graph):
            node = min(component)
            if len(component) > 1 or graph.has_edge(node, node):
                # Not a subgraph view, which iterates over a set: the same file must give the same report.
                edges = [edge for edge in graph.edges if component.issuperset(edge)]
                cycle = nx.find_cycle(nx.DiGraph(edges))
                path = " → ".join([cycle[0][0], *(end for _, end in cycle)])
                message = f"expected flows without a cycle, found {printable(path)}"
                self._report(CycleError, message, "recipe_flows", path, "remove or reverse one of these flows")


def recipe_to_json(recipe: Recipe) -> dict[str, list]:
    """The recipe as in ``annotations.json``, keys in the official order."""
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


def _name(kind: type) -> str:
    names: dict[type, str] = {list: "a list", str: "a string", int: f"a whole number up to {LARGEST}"}
    return names[kind]
