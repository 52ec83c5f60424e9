"""What questions are made of: every recipe with its steps, foods and image pairs, without the bytes of a picture."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import networkx as nx

from recipeflow.dataset.folder import RECIPES, DatasetFolder
from recipeflow.dataset.recipes import DatasetSource
from recipeflow.errors import InvalidReleaseError
from recipeflow.graph import ImagePair, pair_objects
from recipeflow.graph.program import PASSES_ON, make_program
from recipeflow.graph.tracing import find_carriers, follow_ingredients
from recipeflow.kitchen.captions import captions_of
from recipeflow.progress import progress_bar
from recipeflow.release.recipe import Entity, Recipe
from recipeflow.tasks.frames import FrameStore
from recipeflow.tasks.states import State, states_of, written_state

SPLITS = ("train", "validation", "test")
NUMBERING = re.compile(r"^\s*(?:[0-9０-９]+|準備)\s*[．.、)）]\s*")
"""The number in front of an instruction, which would show its place."""

MOST_NAMED = 3
"""Foods that name a mixture; of more, only the number is added."""


@dataclass(frozen=True, slots=True)
class Step:
    """An action in reading order: what is done to what, and the steps whose results it needs."""

    id: str
    number: int
    line: int | None
    action: str
    phrase: str
    objects: tuple[str, ...]
    needs: frozenset[int]
    depth: int
    foods: frozenset[str]

    @property
    def text(self) -> str:
        """The step for a reader, with the words of the recipe only: what is in a mixture is not said."""
        return f"{self.phrase} ({', '.join(self.objects)})" if self.objects else self.phrase


@dataclass(frozen=True, slots=True)
class Moment:
    """An image pair that can be asked about.

    Pictures are named by digest. ``shows`` has all states that the picture after it shows: of several objects, if
    other pairs of the recipe use the same picture.
    """

    recipe: str
    number: int
    step: int
    line: int | None
    action: str
    object: str
    foods: frozenset[str]
    history: tuple[str, ...]
    state: State
    depth: int
    before: str | None
    after: str | None
    shows: frozenset[str] = frozenset()

    @property
    def is_complete(self) -> bool:
        return self.before is not None and self.after is not None and self.before != self.after


@dataclass(frozen=True)
class Material:
    """A recipe, ready to be asked about.

    Attributes:
        recipe_id: Its id.
        split: The split it belongs to, by its fold.
        title: Its title; ``None`` without text.
        ingredients: Its ingredient lines.
        instructions: Its instructions without their numbers.
        steps: Its actions in reading order, numbered from 1; none without text.
        moments: Its image pairs that have an object and words.
        trails: For each ingredient, the positions in ``moments`` of its state trail.
        captioned: How many of its frames are not shown, because they have a caption; ``None`` if that is not known.
    """

    recipe_id: str
    split: str
    title: str | None
    ingredients: tuple[str, ...]
    instructions: tuple[str, ...]
    steps: tuple[Step, ...]
    moments: tuple[Moment, ...]
    trails: Mapping[str, tuple[int, ...]]
    captioned: int | None = None

    @property
    def has_text(self) -> bool:
        return bool(self.instructions)

    @cached_property
    def events(self) -> frozenset[tuple[str, str]]:
        """Every action with every food that it is done to."""
        return frozenset(event for step in self.steps for event in events_of(step))

    @cached_property
    def order(self) -> nx.DiGraph:
        """The numbers of the steps; an edge leads from a step to one that needs its result."""
        graph = nx.DiGraph((before, step.number) for step in self.steps for before in step.needs)
        graph.add_nodes_from(step.number for step in self.steps)
        return graph


def events_of(step: Step) -> Iterator[tuple[str, str]]:
    """The action of a step with each of its foods."""
    return ((step.action, food) for food in step.foods or {""})


def read_material(dataset: Path, store: FrameStore, test_fold: int = 0) -> Iterator[Material]:
    """Stream the recipes of a built dataset; their frames go to the store.

    A frame with a caption is left out: it names the action or the food that questions ask about.

    Raises:
        DatasetFolderError: If the dataset cannot be read.
        InvalidReleaseError: At the first recipe with a problem.
    """
    columns = DatasetFolder(dataset).columns(RECIPES, ["recipe_id", "fold"])
    folds = dict(zip(columns["recipe_id"], columns["fold"], strict=True))
    source = DatasetSource(dataset)
    is_simulated = source.tables.source == "simulated"
    for checked in progress_bar(source.recipes(), len(folds), "reading recipes"):
        if checked.recipe is None:
            raise InvalidReleaseError(checked.problems)
        recipe = checked.recipe
        captions = captions_of(recipe) if is_simulated else None
        shown = [number for number in recipe.used_frames if number not in (captions or {})]
        frames = {number: store.add(data) for number in shown if (data := source.picture(recipe, number)) is not None}
        material = _Reader(recipe, is_simulated).read(split_of(folds[recipe.id], test_fold), frames)
        yield replace(material, captioned=None if captions is None else len(captions))


def split_of(fold: int, test_fold: int) -> str:
    """Test on one fold, validate on the next, train on the others."""
    return {test_fold: "test", (test_fold + 1) % 10: "validation"}.get(fold, "train")


class _Reader:
    """Derives the material of one recipe from its flow graph."""

    def __init__(self, recipe: Recipe, is_simulated: bool) -> None:
        self.recipe = recipe
        self.is_simulated = is_simulated
        self.program = make_program(recipe)
        self.pairs = pair_objects(recipe)
        self.before = _steps_before(recipe)
        self.said_with = _said_with(recipe)
        self.carriers = find_carriers(recipe, self.program.foods or _first_mentions(recipe))
        self.numbers = {action.id: number for number, action in enumerate(recipe.actions, 1)}

    def read(self, split: str, frames: Mapping[int, str]) -> Material:
        recipe = self.recipe
        has_text = recipe.has_text
        steps = self._steps() if has_text else ()
        moments = self._moments(steps, frames) if has_text else ()
        return Material(
            recipe.id,
            split,
            recipe.title,
            tuple(line.text for line in recipe.ingredients if line.text),
            tuple(NUMBERING.sub("", line.text or "") for line in recipe.instructions) if has_text else (),
            steps,
            moments,
            self._trails(moments),
        )

    def _steps(self) -> tuple[Step, ...]:
        objects: defaultdict[str, list[str]] = defaultdict(list)
        for flow in self.recipe.flows:
            if flow.label == "Targ" and flow.end in self.numbers and flow.start not in self.numbers:
                objects[flow.end].append(self.recipe.entities[flow.start].text or "")
        depths: dict[str, int] = {}
        for action in sorted(self.numbers, key=lambda action: len(self._ancestors(action))):
            depths[action] = 1 + max((depths[other] for other in self.before[action]), default=0)
        return tuple(
            Step(
                action.id,
                number,
                action.line if action.section == 1 else None,
                action.text or "",
                self._phrase(action),
                tuple(dict.fromkeys(objects[action.id])),
                frozenset(self.numbers[other] for other in self.before[action.id]),
                depths[action.id],
                self._foods(action.id),
            )
            for number, action in enumerate(self.recipe.actions, 1)
        )

    def _moments(self, steps: tuple[Step, ...], frames: Mapping[int, str]) -> tuple[Moment, ...]:
        histories = {number: self._history(pair) for number, pair in enumerate(self.pairs) if pair.object}
        written = {
            number: written_state(
                self._phrase(pair.action), self._foods(pair.object.id), frozenset(histories[number][:-1])
            )
            for number, pair in enumerate(self.pairs)
            if pair.object
        }
        states = states_of(self.program, self.pairs, written, self.is_simulated)
        shown: defaultdict[int | None, set[str]] = defaultdict(set)
        for number in written:
            shown[self.pairs[number].change.before].add(states[number].before)
            shown[self.pairs[number].change.after].add(states[number].after)
        return tuple(
            Moment(
                self.recipe.id,
                number,
                (step := steps[self.numbers[pair.action.id] - 1]).number,
                step.line,
                step.phrase,
                self._name(pair.object),
                self._foods(pair.object.id),
                histories[number],
                states[number],
                step.depth,
                frames.get(pair.change.before or 0),
                frames.get(pair.change.after or 0),
                frozenset(shown[pair.change.after]),
            )
            for number, pair in enumerate(self.pairs)
            if pair.object
        )

    def _trails(self, moments: tuple[Moment, ...]) -> dict[str, tuple[int, ...]]:
        """The state trail of every ingredient, one image pair per step: that of the object with the ingredient."""
        positions = {moment.number: position for position, moment in enumerate(moments)}
        trails: dict[str, tuple[int, ...]] = {}
        for trail in follow_ingredients(self.recipe, self.program, self.carriers, self.pairs) if moments else ():
            found = self.carriers[trail["ingredient"]]
            rows = [
                next((row for row in step["rows"] if row in positions and self._is_about(row, found)), None)
                for step in trail["steps"]
            ]
            name = self.recipe.entities[trail["ingredient"]].text
            trails.setdefault(name or "", tuple(positions[row] for row in rows if row is not None))
        return trails

    def _is_about(self, row: int, carriers: set[str]) -> bool:
        thing = self.pairs[row].object
        return thing is not None and thing.id in carriers

    def _history(self, pair: ImagePair) -> tuple[str, ...]:
        """What was done to an object up to and including this action, in reading order."""
        assert pair.object is not None
        done = {pair.action.id} | self._ancestors(pair.object.id)
        return tuple(dict.fromkeys(self._phrase(action) for action in self.recipe.actions if action.id in done))

    def _ancestors(self, node: str) -> set[str]:
        found: set[str] = set()
        waiting = [node, *self.before[node]] if node in self.numbers else list(self.before[node])
        while waiting:
            if (action := waiting.pop()) not in found:
                found.add(action)
                waiting.extend(self.before[action])
        return found

    def _foods(self, node: str) -> frozenset[str]:
        entities = self.recipe.entities
        return frozenset(entities[food].text or "" for food, found in self.carriers.items() if node in found)

    def _name(self, entity: Entity) -> str:
        """What a reader calls an object: its own word, with the foods in it where the word is not one of them."""
        foods = sorted(self._foods(entity.id))
        word = "" if entity.id in self.numbers or entity.text is None else entity.text
        if not foods or word in foods:
            return word or entity.text or ""
        more = f" + {len(foods) - MOST_NAMED}" if len(foods) > MOST_NAMED else ""
        inside = f"{'・'.join(foods[:MOST_NAMED])}{more}"
        return f"{word} ({inside})" if word else inside

    def _phrase(self, action: Entity) -> str:
        """An action as it is written, with its manner or the part that it is done to: 半月状に切 rather than 切."""
        line = self.recipe.sections[action.section][action.line]
        starts = [
            entity.start_word
            for entity in (self.recipe.entities[start] for start in self.said_with[action.id])
            if (entity.section, entity.line) == (action.section, action.line)
            and entity.start_word < action.start_word
            and all(word.ne == "O" for word in line.words[entity.end_word : action.start_word])
        ]
        start = min(starts, default=action.start_word)
        return (line.text or "")[line.words[start].start : line.words[action.end_word - 1].end]


def _said_with(recipe: Recipe) -> defaultdict[str, list[str]]:
    """For each action the states and the parts of food that belong to its name."""
    parts = {flow.end for flow in recipe.flows if flow.label == "F-part-of"}
    found: defaultdict[str, list[str]] = defaultdict(list)
    for flow in recipe.flows:
        if flow.start in parts or recipe.entities[flow.start].tag == "Sf":
            found[flow.end].append(flow.start)
    return found


def _steps_before(recipe: Recipe) -> dict[str, frozenset[str]]:
    """For every entity the actions whose results flow into it, with no other action in between."""
    graph = nx.DiGraph((flow.start, flow.end) for flow in recipe.flows if flow.label in PASSES_ON)
    graph.add_nodes_from(recipe.entities)
    actions = {action.id for action in recipe.actions}
    found: dict[str, frozenset[str]] = {}
    for node in nx.topological_sort(graph):
        sources = (frozenset({other}) if other in actions else found[other] for other in graph.predecessors(node))
        found[node] = frozenset().union(*sources)
    return found


def _first_mentions(recipe: Recipe) -> tuple[str, ...]:
    """The foods that come from nowhere, for a corpus without ingredient lists."""
    reached = {flow.end for flow in recipe.flows if flow.label in PASSES_ON}
    return tuple(entity.id for entity in recipe.entities.values() if entity.tag == "F" and entity.id not in reached)
