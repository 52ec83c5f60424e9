"""Execute a cooking program in the simulated kitchen.

The program is the only input: the plan is reconstructed from its words. A verb is recognised by its stem, a cut by
its manner, a container by its name, and one of several results by the food that names it. What the text of
a recipe leaves unsaid, such as that cutting is done on the board, is in ``HABITS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from recipeflow.errors import ExecutionError, short
from recipeflow.graph.program import OBJECT, STANDS_FOR, Mention, Program
from recipeflow.kitchen.pantry import PANTRY
from recipeflow.kitchen.plan import Plan
from recipeflow.kitchen.verbs import CONTAINER_WORDS, CUT_MANNERS, VERBS
from recipeflow.kitchen.world import BOARD, BOWL, POT, SMALL_BOWL, Portion, Stuff

HABITS = dict.fromkeys((name for name, verb in VERBS.items() if verb.tool == "knife"), BOARD) | dict.fromkeys(
    ("水気を切る", "拭き取る", "ふる", "さらす", "潰す"), BOWL
)
"""Where an action leaves its results when the recipe names no container; all others leave them where they were."""

_SHELVES = {"お湯": POT, "冷水": BOWL}
_CONTAINERS = {"".join(phrase.words): container for container, phrase in CONTAINER_WORDS.items()}


@dataclass
class Execution:
    """The result of a program.

    Attributes:
        program: The program.
        plan: The kitchen with everything that was ever in it, numbered, and the steps that made it.
        made: The numbers of each variable of the program.
        doubts: For each action whose manner is ambiguous, the forms it can mean; the first was used.
    """

    program: Program
    plan: Plan = field(default_factory=Plan)
    made: dict[str, tuple[int, ...]] = field(default_factory=dict)
    doubts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def states(self, name: str) -> list[Stuff]:
        """The state of a variable of the program."""
        return [self.plan.stuff[number] for number in self.made[name]]


def final_states(plan: Plan) -> list[Stuff]:
    """What no step of a plan has used: the finished dish, and what was left over."""
    steps = [step for steps in plan.instructions for step in steps]
    used = {number for step in steps for number in (*step.objects, step.into)}
    return [stuff for number, stuff in enumerate(plan.stuff) if number not in used]


def execute(program: Program) -> Execution:
    """Execute a program of the kitchen.

    Raises:
        ExecutionError: If it needs something that the kitchen does not have.
    """
    run = Execution(program)
    run.plan.begin_instruction()
    for name, mention in program.variables.items():
        if mention.tag == "Ac":
            run.made[name] = _act(run, name, mention)
        else:
            run.made[name] = tuple(_find(run, mention))
    return run


def _act(run: Execution, name: str, action: Mention) -> tuple[int, ...]:
    objects = [number for value in _values(action, OBJECT) for number in _find(run, value)]
    into = next((number for value in _values(action, "Dest") for number in _find(run, value)), None)
    if not objects:
        raise _problem(action, "an action that is done to something", action.text)
    verb = _find_verb(run, action)
    form = _find_form(run, name, action, objects) if verb == "切る" else None
    tools = [tool.text for label in ("Dest", "T-comp") for tool in _mentions(run, action, label)]
    location = next((_CONTAINERS[tool] for tool in tools if tool in _CONTAINERS), HABITS.get(verb))
    return run.plan.do(verb, list(dict.fromkeys(objects)), into=into, location=location, form=form)


def _values(mention: Mention, *labels: str) -> Iterator[Mention | str]:
    return (argument.value for argument in mention.arguments if argument.label in labels)


def _mentions(run: Execution, mention: Mention, label: str) -> Iterator[Mention]:
    values = _values(mention, label)
    return (run.program.variables[value] if isinstance(value, str) else value for value in values)


def _find(run: Execution, value: Mention | str) -> Iterable[int]:
    """The numbers that an argument refers to; raw food is put into the kitchen, tools have no number."""
    if isinstance(value, str):
        return run.made[value]
    sources = dict.fromkeys(number for source in _values(value, *STANDS_FOR) for number in _find(run, source))
    if sources:
        # An action on several objects has several results, and the name says which one is meant.
        called = [number for number in sources if run.plan.ingredient_of(number).name == value.text]
        return called or sources
    return [_fetch(run, value)] if value.tag == "F" else ()


def _fetch(run: Execution, food: Mention) -> int:
    if food.text not in PANTRY:
        raise _problem(food, "a food of the kitchen's pantry", food.text)
    place = BOARD if PANTRY[food.text].group == "food" else _SHELVES.get(food.text, SMALL_BOWL)
    return run.plan.place(Stuff((Portion(food.text),), place))


def _find_verb(run: Execution, action: Mention) -> str:
    found = [name for name, verb in VERBS.items() if "".join(verb.stem) == action.text]
    if not found:
        raise _problem(action, "an action that the kitchen knows", action.text)
    # 切 is cutting, unless it is done to the water of something.
    drains = any(any(_values(item, "F-part-of")) for item in _mentions(run, action, OBJECT))
    return next((name for name in found if VERBS[name].effect.drain == drains), found[0])


def _find_form(run: Execution, name: str, action: Mention, objects: Iterable[int]) -> str:
    """The form that 切る makes: by the manner and, if that is ambiguous, by what the objects can be cut into."""
    manners = {manner.text for manner in _mentions(run, action, "other-mod") if manner.tag == "Sf"}
    forms = [form for form, ways in CUT_MANNERS.items() if any("".join(way.words) in manners for way in ways)]
    if not forms:
        raise _problem(action, "a way of cutting that the kitchen knows", sorted(manners, key=str))
    foods = [run.plan.ingredient_of(number) for number in objects]
    able = [form for form in forms if all(form in food.cuts for food in foods)]
    if len(able) > 1:
        run.doubts[name] = tuple(able)
    return (able or forms)[0]


def _problem(mention: Mention, expected: str, found: object) -> ExecutionError:
    fix = "only recipes of `vrf kitchen` can be executed"
    return ExecutionError(f"word {mention.id}: expected {expected}, found {short(found)}; {fix}")
