"""What state an object is in, as a key: two objects with equal keys look alike, and are never offered together.

Of a recipe of the simulated kitchen the key is the kitchen's own state, found by executing the recipe's program. Of
any other, it is what the flows say: which foods are in it, and which actions were done to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from recipeflow.errors import ExecutionError
from recipeflow.graph import ImagePair
from recipeflow.graph.program import Program
from recipeflow.kitchen.execution import execute
from recipeflow.kitchen.plan import Step
from recipeflow.kitchen.world import Stuff


@dataclass(frozen=True, slots=True)
class State:
    """The keys of an image pair: what is seen before and after, and what was done."""

    before: str
    after: str
    change: str


def kitchen_states(program: Program, pairs: list[ImagePair]) -> dict[int, State]:
    """The kitchen's own states, by the number of the pair; none for a recipe that the kitchen cannot execute.

    An action whose objects are not those of the program's step has none either: guessing could offer two right
    answers.
    """
    try:
        plan = execute(program).plan
    except ExecutionError:
        return {}
    steps = dict(zip((step.id for step in program.steps.values()), plan.instructions[0], strict=True))
    found: dict[int, State] = {}
    for action, rows in groupby(enumerate(pairs), key=lambda row: row[1].action.id):
        numbers = [number for number, _ in rows]
        if len(numbers) == len(steps[action].objects):
            found |= dict(zip(numbers, _states(steps[action], plan.stuff), strict=True))
    return found


def _states(step: Step, stuff: list[Stuff]) -> Iterator[State]:
    """One state per object; those that an action joins have the same one afterwards."""
    results = step.results if len(step.results) == len(step.objects) else step.results[:1] * len(step.objects)
    forms = sorted({portion.form for number in step.results for portion in stuff[number].portions})
    effect = step.word.effect
    change = repr(replace(effect, form=",".join(forms))) if step.verb == "切る" and not effect.drain else repr(effect)
    for before, after in zip(step.objects, results, strict=True):
        yield State(_look(stuff[before]), _look(stuff[after]), change)


def _look(stuff: Stuff) -> str:
    """What is seen of food: what it is, how it is cut and cooked.

    Marks such as washed or salted are hard to see, and so count as alike; so do containers.
    """
    return repr(sorted({(portion.ingredient, portion.form, portion.heat) for portion in stuff.portions}))


def written_state(action: str, foods: frozenset[str], done: frozenset[str]) -> State:
    """The state by the flows: the foods in an object, and the actions that were done to it before this one."""
    before, after = (repr((sorted(foods), sorted(actions))) for actions in (done, done | {action}))
    return State(before, after, action)


def states_of(
    program: Program, pairs: list[ImagePair], written: Mapping[int, State], is_simulated: bool
) -> dict[int, State]:
    """The kitchen's states where it has some, and the written ones elsewhere."""
    return {**written, **(kitchen_states(program, pairs) if is_simulated else {})}
