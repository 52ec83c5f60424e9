"""The words of the questions; pictures are called ``<image 1>``, ``<image 2>`` …, in the order of the columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recipeflow.tasks.candidates import LETTERS
from recipeflow.tasks.material import Material, Moment

ONE_LETTER = "Answer with one letter."


def numbered(lines: Iterable[str], first: int = 1) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, first))


def lettered(choices: Iterable[str]) -> str:
    return "\n".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False))


def images(count: int, first: int = 1) -> list[str]:
    return [f"<image {number}>" for number in range(first, first + count)]


def _heading(material: Material, with_ingredients: bool = True) -> str:
    lines = [f"Recipe: {material.title}" if material.title else "A recipe."]
    if material.ingredients and with_ingredients:
        lines.append(f"Ingredients: {'; '.join(material.ingredients)}")
    return "\n".join(lines)


def state_choice(material: Material, moment: Moment, choices: int) -> str:
    """What was done so far is given; the instruction of the action itself would name what follows."""
    done = material.instructions[: moment.line or 0]
    so_far = f"Done so far:\n{numbered(done)}" if done else "Nothing was done so far."
    return (
        f"{_heading(material)}\n{so_far}\n"
        f"Before: <image 1>\nNow this action is done: {moment.action}\nTo this object: {moment.object}\n"
        f"Which picture shows it afterwards?\n{lettered(images(choices, 2))}\n{ONE_LETTER}"
    )


def action_choice(moment: Moment, choices: Sequence[str]) -> str:
    return (
        f"Before: <image 1>\nAfter: <image 2>\nObject: {moment.object}\n"
        f"Which action was done?\n{lettered(choices)}\n{ONE_LETTER}"
    )


def same_change(way: str, moment: Moment, choices: Sequence[str]) -> str:
    """The same change as a question about the state, the picture or the action."""
    if way == "state":
        asked = "After: <image 1>\nWhich object is this, and what was done to it?"
    elif way == "picture":
        asked = f"Before: <image 1>\nObject: {moment.object}\nAction: {moment.action}\nWhich picture is after it?"
    else:
        asked = f"Before: <image 1>\nAfter: <image 2>\nObject: {moment.object}\nWhich action was done?"
    return f"{asked}\n{lettered(choices)}\n{ONE_LETTER}"


def state_order(material: Material, ingredient: str, pictures: int) -> str:
    return (
        f"Recipe: {material.title}\nThese pictures show {ingredient} on its way to the dish, in no order.\n"
        f"{lettered(images(pictures))}\nWhat is their order in time? Answer with all letters, the earliest first."
    )


def dependency(material: Material, steps: Sequence[str], first: int, second: int) -> str:
    return (
        f"{_heading(material)}\nInstructions:\n{numbered(material.instructions)}\n"
        f"Their actions, each with its objects:\n{numbered(steps)}\n"
        f"Must action {first} be done before action {second}, because its result is needed for it? "
        "If yes, name the chain of actions from one to the other, each needing the one before.\n"
        'Answer with JSON: {"answer": "yes" or "no", "path": [numbers of the actions, first and last included]}'
    )


def ingredient_trace(material: Material, step: int, choices: Sequence[str], has_image: bool) -> str:
    picture = "\nIt looks like this: <image 1>" if has_image else ""
    return (
        f"{_heading(material, with_ingredients=False)}\nInstructions:\n{numbered(material.instructions)}\n"
        f"Their actions:\n{numbered(each.text for each in material.steps)}\n"
        f"Take the result of action {step}, just after it.{picture}\n"
        f"Which of these ingredients are in it? {'; '.join(choices)}\nAnswer with a JSON list of their names."
    )


def missing_step(material: Material, place: int, choices: Sequence[str]) -> str:
    lines = [line if number != place else "(missing)" for number, line in enumerate(material.instructions)]
    return (
        f"{_heading(material)}\nInstructions:\n{numbered(lines)}\n"
        f"Which instruction is missing?\n{lettered(choices)}\n{ONE_LETTER}"
    )


def instruction_writing(material: Material, pairs: Sequence[tuple[int, int]], graph: str | None) -> str:
    shown = [f"<image {before + 1}> becomes <image {after + 1}>" for before, after in pairs]
    flows = f"\nThe flow of its actions:\n{graph}" if graph else ""
    return (
        f"Dish: {material.title}\nPictures before and after its actions, in order:\n{numbered(shown)}{flows}\n"
        "Write the instructions of this recipe in its own language, one per line."
    )
