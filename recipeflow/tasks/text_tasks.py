"""Questions about the words of a recipe: `missing_step` and `instruction_writing`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from recipeflow.tasks import questions
from recipeflow.tasks.candidates import LETTERS, draw_set
from recipeflow.tasks.frames import FrameStore
from recipeflow.tasks.material import Material, events_of
from recipeflow.tasks.split import Split, common

Row = dict[str, Any]
Event = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Instruction:
    """A line of a recipe that could be missing, with what happens in it."""

    material: Material
    place: int
    text: str
    events: frozenset[Event]
    depth: int

    @property
    def third(self) -> int:
        """Whether it is at the beginning, in the middle or at the end."""
        return 3 * self.place // len(self.material.instructions)

    @property
    def foods(self) -> frozenset[str]:
        return frozenset(food for _, food in self.events if food)

    @property
    def actions(self) -> frozenset[str]:
        return frozenset(action for action, _ in self.events)


def _instructions(material: Material) -> Iterator[Instruction]:
    for place, text in enumerate(material.instructions):
        steps = [step for step in material.steps if step.line == place]
        others = (*material.instructions[:place], *material.instructions[place + 1 :])
        if steps and text.strip() and not any(text in other for other in others):
            events = frozenset(event for step in steps for event in events_of(step))
            yield Instruction(material, place, text, events, max(step.depth for step in steps))


class InstructionPool:
    """The instructions of one split."""

    def __init__(self, split: Split) -> None:
        self.all = [instruction for material in split.materials for instruction in _instructions(material)]
        self.by_third: defaultdict[int, list[Instruction]] = defaultdict(list)
        self.by_word: defaultdict[tuple[int, str], list[Instruction]] = defaultdict(list)
        for instruction in self.all:
            self.by_third[instruction.third].append(instruction)
            for word in sorted(instruction.foods | instruction.actions):
                self.by_word[instruction.third, word].append(instruction)

    def related(self, kind: str, members: Sequence[Instruction]) -> Sequence[Instruction]:
        """Instructions from the same part of their recipes, with a food or an action of the first of a set."""
        first = members[0]
        words = sorted({"other_state": first.foods, "other_object": first.actions}.get(kind, ()))
        return self.by_word[first.third, words[len(members) % len(words)]] if words else self.by_third[first.third]


def _fits(instruction: Instruction, members: Sequence[Instruction]) -> bool:
    return all(_is_wrong_in(instruction, other) and _is_wrong_in(other, instruction) for other in members)


def _is_wrong_in(instruction: Instruction, other: Instruction) -> bool:
    """Whether an instruction cannot belong to another recipe: something happens in it that does not happen there."""
    material = other.material
    is_there = any(instruction.text in line for line in material.instructions)
    return not is_there and not instruction.events <= material.events


def _kind(answer: Instruction, other: Instruction) -> str:
    """The kind of a candidate: a state of the same food, the same action, or just another recipe."""
    if other is answer:
        return "answer"
    if other.foods & answer.foods:
        return "other_state"
    if other.actions & answer.actions:
        return "other_object"
    return "other_recipe"


def missing_step(split: Split, store: FrameStore) -> Iterator[Row]:
    """One question per instruction, around which the candidates are drawn."""
    pool = InstructionPool(split)
    for first in pool.all:
        rng = split.rng("missing_step", first.material.recipe_id, first.place)
        members = draw_set(first, pool, ("other_state", "other_object") * 2, _fits, rng)
        if members is None:
            continue
        answer = rng.choice(members)
        choices = [other.text for other in members]
        yield {
            **common(
                split,
                "missing_step",
                answer.material.recipe_id,
                answer.depth,
                first.material.recipe_id,
                first.place,
            ),
            "question": questions.missing_step(answer.material, answer.place, choices),
            "place": answer.place + 1,
            "choices": choices,
            "kinds": [_kind(answer, other) for other in members],
            "answer": LETTERS[members.index(answer)],
        }


def instruction_writing(split: Split, store: FrameStore) -> Iterator[Row]:
    """Two questions per recipe with pictures: without the flow graph, and with it."""
    for material in split.materials:
        shown = [moment for moment in material.moments if moment.is_complete and moment.line is not None]
        if not shown:
            continue
        digests = list(dict.fromkeys(digest for moment in shown for digest in (moment.before, moment.after) if digest))
        places = {digest: number for number, digest in enumerate(digests)}
        pairs = [(places[moment.before or ""], places[moment.after or ""]) for moment in shown]
        for with_graph in (False, True):
            graph = _graph(material) if with_graph else None
            yield {
                **common(
                    split,
                    "instruction_writing",
                    material.recipe_id,
                    len(material.instructions),
                    material.recipe_id,
                    with_graph,
                ),
                "question": questions.instruction_writing(material, pairs, graph),
                "title": material.title,
                "with_graph": with_graph,
                "pictures": [store.image(digest) for digest in digests],
                "pairs": [
                    {"before": before, "after": after, "instruction": moment.line}
                    for (before, after), moment in zip(pairs, shown, strict=True)
                ],
                "graph": graph,
                "ingredients": sorted({food for step in material.steps for food in step.foods}),
                "steps": [
                    {"action": step.action, "instruction": step.line, "needs": sorted(step.needs)}
                    for step in material.steps
                ],
                "answer": "\n".join(material.instructions),
            }


def _graph(material: Material) -> str:
    """The flow of the actions, a line each: what is done, to what, and with the results of which others."""
    lines = []
    for step in material.steps:
        results = [f"result of {number}" for number in sorted(step.needs)]
        lines.append(f"{step.phrase} ← {', '.join([*step.objects, *results]) or '—'}")
    return questions.numbered(lines)
