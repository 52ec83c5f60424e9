"""A recipe flow graph as a cooking program: assignments of calls, with the flows as their arguments.

::

    i1 = きゅうり(how="１本")
    x1 = 切り(きゅうり(is=i1), how=薄く)
    return x1

A *mention* is an entity of the recipe with the flows that run into it: those labelled ``Targ`` are its objects, every
other label has its keyword (``ROLES``). Foods of the ingredient list are the inputs ``i1, i2, …``, actions are the
steps ``x1, x2, …``, each exactly once; what is used several times, or not at all, is ``m1, m2, …``; all
else is written where it is used. An argument refers only to earlier assignments, so every object leads back to
inputs and earlier steps. Nothing of the graph is lost: ``Program.graph`` restores it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx

from recipeflow.release.recipe import Entity, Flow, Recipe
from recipeflow.tables import Cell, Table

OBJECT = "Targ"
ROLES = {
    "Agent": "agent",
    OBJECT: "object",
    "Dest": "dest",
    "T-comp": "tool",
    "F-comp": "food",
    "F-eq": "is",
    "F-part-of": "of",
    "F-set": "has",
    "T-eq": "tool_is",
    "T-part-of": "tool_of",
    "A-eq": "act_is",
    "V-tm": "when",
    "other-mod": "how",
}
"""The keyword of each r-FG label; a label that a corpus has besides is its own keyword, in quotes."""

STANDS_FOR = frozenset({"F-eq", "F-part-of", "F-set", "T-eq", "T-part-of", "A-eq"})
"""The labels by which a mention is another name for, or a part of, what it comes from."""

PASSES_ON = frozenset(ROLES) - {"Agent", "V-tm", "other-mod"}
"""The labels that pass something on; the other three say when and how."""

DEEPEST = 6
"""Mentions nested deeper than this are assigned first: for the reader, and so that no chain is too long to write."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A flow into a mention: its label, and the mention it comes from or the variable of that mention."""

    label: str
    value: Mention | str


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity with what flows into it, objects first; ``text`` is ``None`` where the release has no text."""

    id: str
    tag: str
    text: str | None
    arguments: tuple[Argument, ...] = ()

    def nested(self) -> Iterator[Mention]:
        """This mention and all that are nested in it, in text order."""
        yield self
        for argument in self.arguments:
            if isinstance(argument.value, Mention):
                yield from argument.value.nested()


@dataclass(frozen=True)
class Program:
    """The assignments in order, ``i`` for inputs, ``x`` for actions and ``m`` for other mentions."""

    recipe_id: str
    title: str | None
    variables: dict[str, Mention]

    @property
    def inputs(self) -> dict[str, Mention]:
        """The foods of the ingredient list."""
        return {name: mention for name, mention in self.variables.items() if name.startswith("i")}

    @property
    def foods(self) -> tuple[str, ...]:
        """The entity ids of the inputs."""
        return tuple(mention.id for mention in self.inputs.values())

    @property
    def steps(self) -> dict[str, Mention]:
        """The actions."""
        return {name: mention for name, mention in self.variables.items() if name.startswith("x")}

    def mentions(self) -> Iterator[Mention]:
        """Every entity of the recipe, once."""
        for mention in self.variables.values():
            yield from mention.nested()

    def flows(self) -> Iterator[Flow]:
        """Every flow of the recipe, once; those with the same label into the same entity keep their order."""
        for mention in self.mentions():
            for argument in mention.arguments:
                source = self.variables[argument.value] if isinstance(argument.value, str) else argument.value
                yield Flow(source.id, mention.id, argument.label)

    def graph(self) -> nx.MultiDiGraph:
        """The flow graph: the nodes and edges of ``build_graph``, the nodes with ``tag`` and ``text``."""
        graph = nx.MultiDiGraph(recipe_id=self.recipe_id)
        graph.add_nodes_from((mention.id, {"tag": mention.tag, "text": mention.text}) for mention in self.mentions())
        graph.add_edges_from((flow.start, flow.end, flow.label, {"label": flow.label}) for flow in self.flows())
        return graph

    def origins(self, value: Mention | str) -> tuple[Mention | str, ...]:
        """What an argument refers to: variables of inputs and steps, or a mention without an origin."""
        if isinstance(value, str):
            return self._origins[value]
        return _find_origins(value, self._origins)

    @cached_property
    def _origins(self) -> dict[str, tuple[Mention | str, ...]]:
        # In order of assignment, each variable once: nested sets cannot explode.
        known: dict[str, tuple[Mention | str, ...]] = {}
        for name, mention in self.variables.items():
            known[name] = _find_origins(mention, known) if name.startswith("m") else (name,)
        return known

    @cached_property
    def results(self) -> tuple[str, ...]:
        """The steps whose result no other step uses: the finished dish, and leftovers."""
        passed = nx.DiGraph((flow.start, flow.end) for flow in self.flows() if flow.label in PASSES_ON)
        steps = {mention.id for mention in self.steps.values()}
        passed.add_nodes_from(steps)
        return tuple(
            name for name, mention in self.steps.items() if steps.isdisjoint(nx.descendants(passed, mention.id))
        )


def _find_origins(mention: Mention, known: dict[str, tuple[Mention | str, ...]]) -> tuple[Mention | str, ...]:
    found: list[Mention | str] = []
    for argument in mention.arguments:
        if argument.label in STANDS_FOR:
            value = argument.value
            found.extend(known[value] if isinstance(value, str) else _find_origins(value, known))
    return tuple(dict.fromkeys(found)) or (mention,)


def make_program(recipe: Recipe) -> Program:
    """Write a recipe's flow graph as a program, in an order in which everything exists before it is used."""
    incoming: defaultdict[str, list[Flow]] = defaultdict(list)
    uses: defaultdict[str, list[str]] = defaultdict(list)
    for flow in sorted(recipe.flows, key=lambda flow: flow.label != OBJECT):
        incoming[flow.end].append(flow)
        uses[flow.start].append(flow.label)
    variables: dict[str, Mention] = {}
    values: dict[str, Mention | str] = {}
    depth: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for entity in _in_order(recipe):
        arguments = tuple(Argument(flow.label, values[flow.start]) for flow in incoming[entity.id])
        mention = Mention(entity.id, entity.tag, entity.text, arguments)
        deep = 1 + max((depth[flow.start] for flow in incoming[entity.id]), default=0)
        letter = _letter(entity, uses[entity.id]) or ("m" if deep > DEEPEST else None)
        if letter is None:
            values[entity.id], depth[entity.id] = mention, deep
        else:
            counts[letter] += 1
            name = f"{letter}{counts[letter]}"
            variables[name] = mention
            values[entity.id], depth[entity.id] = name, 0
    return Program(recipe.id, recipe.title, variables)


def _in_order(recipe: Recipe) -> Iterable[Entity]:
    """The entities in reading order, except that one waits for what flows into it."""
    graph = nx.DiGraph((flow.start, flow.end) for flow in recipe.flows)
    graph.add_nodes_from(recipe.entities)
    positions = {entity: number for number, entity in enumerate(recipe.entities)}
    return (recipe.entities[node] for node in nx.lexicographical_topological_sort(graph, positions.get))


def _letter(entity: Entity, uses: list[str]) -> str | None:
    """The kind of variable an entity needs, or ``None`` if it can be written where it is used."""
    if entity.tag == "Ac":
        return "x"
    if is_input(entity, uses):
        return "i"
    return None if len(uses) == 1 else "m"


def is_input(entity: Entity, uses: list[str]) -> bool:
    """Whether an entity is an ingredient, by the labels of the flows out of it.

    A heading such as （Ａ） is tagged as food too, but only modifies another ingredient.
    """
    return entity.section == 0 and entity.tag == "F" and uses != ["other-mod"]


@dataclass(frozen=True)
class ProgramSurvey:
    """What the programs of a release are made of.

    Attributes:
        programs: How many there are.
        steps: All their actions.
        objects: All objects of these actions, traced, by where they come from (``ORIGINS``).
        leftovers: For each recipe that does not end in exactly one result, the actions that it ends in, by id.
    """

    programs: int
    steps: int
    objects: Mapping[str, int]
    leftovers: Mapping[str, tuple[str, ...]]

    @property
    def one_dish(self) -> int:
        """How many recipes end in one final dish."""
        return self.programs - len(self.leftovers)

    def as_dict(self) -> dict[str, Any]:
        return {
            "programs": self.programs,
            "steps": self.steps,
            "objects": dict(self.objects),
            "one_dish": self.one_dish,
            "leftovers": {recipe: list(actions) for recipe, actions in self.leftovers.items()},
        }

    def tables(self) -> list[Table]:
        """The counts, and the recipes that do not end in one dish."""
        counts: list[tuple[Cell, ...]] = [("Programs", self.programs), ("Actions", self.steps)]
        counts += [(f"Objects: {ORIGINS[kind]}", count) for kind, count in self.objects.items()]
        tables = [Table("Programs", ("", "count"), [*counts, ("Recipes that end in one dish", self.one_dish)])]
        if self.leftovers:
            rows = [(recipe, ", ".join(actions)) for recipe, actions in self.leftovers.items()]
            tables.append(Table("Recipes that do not", ("Recipe", "Actions whose result is not used"), rows))
        return tables


ORIGINS = {
    "ingredient": "from the ingredient list",
    "result": "results of earlier actions",
    "food": "foods that are not in the list",
    "tool": "tools",
    "other": "other mentions",
}
"""Where the objects of actions come from, with labels for tables."""


def survey_programs(programs: Iterable[Program]) -> ProgramSurvey:
    """Count in one pass."""
    counts: Counter[str] = Counter()
    objects: Counter[str] = Counter()
    leftovers = {}
    for program in programs:
        counts.update(programs=1, steps=len(program.steps))
        for step in program.steps.values():
            targets = [argument.value for argument in step.arguments if argument.label == OBJECT]
            origins = dict.fromkeys(origin for value in targets for origin in program.origins(value))
            objects.update(map(_origin_kind, origins))
        if len(program.results) != 1:
            leftovers[program.recipe_id] = tuple(program.variables[name].id for name in program.results)
    return ProgramSurvey(counts["programs"], counts["steps"], {kind: objects[kind] for kind in ORIGINS}, leftovers)


def _origin_kind(origin: Mention | str) -> str:
    if isinstance(origin, str):
        return "ingredient" if origin.startswith("i") else "result"
    return {"F": "food", "T": "tool"}.get(origin.tag, "other")
