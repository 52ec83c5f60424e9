"""What a cook decided to do: the plan from which text, graph and film are made.

Everything that is acted on is a numbered ``Stuff``; a step lists the numbers it uses and the numbers it makes. The
plan is simulated while it is written, so it contains only what the kitchen's physics allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict, Unpack

from recipeflow.kitchen.pantry import PANTRY, Ingredient, Words
from recipeflow.kitchen.verbs import VERBS, Phrase, Verb
from recipeflow.kitchen.world import Stuff, perform


@dataclass(frozen=True, slots=True)
class ListedIngredient:
    """A line of the ingredient list; ``stuff`` is its number, ``heading`` its group."""

    ingredient: Ingredient
    amount: Words
    stuff: int
    heading: str | None = None
    note: Phrase | None = None
    weight: Words | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """A clause such as 粗熱が取れたら: wait for ``happens`` (to ``what``) before the action."""

    what: Phrase | None
    happens: Phrase
    ending: Words


@dataclass(frozen=True, slots=True)
class Step:
    """One action.

    Args:
        verb: Its dictionary form, a key of ``VERBS``.
        objects: The numbers of what it acts on.
        results: The numbers of what it makes: one for each object, or a single one.
        into: The number of what the objects are added to.
        container: The container that the text names as the destination.
        part: The part of the object that the action is really about, such as 皮 or 水気.
        manner: What the objects are cut into.
        tool: The tool or fire that the text names.
        power: The setting of that tool.
        duration: How long.
        timing: What to wait for.
    """

    verb: str
    objects: tuple[int, ...]
    results: tuple[int, ...]
    into: int | None = None
    container: Phrase | None = None
    part: Phrase | None = None
    manner: Phrase | None = None
    tool: Phrase | None = None
    power: Phrase | None = None
    duration: Phrase | None = None
    timing: Timing | None = None

    @property
    def word(self) -> Verb:
        return VERBS[self.verb]


class Wording(TypedDict, total=False):
    """What a text may say about an action besides its objects: the last fields of ``Step``."""

    container: Phrase | None
    part: Phrase | None
    manner: Phrase | None
    tool: Phrase | None
    power: Phrase | None
    duration: Phrase | None
    timing: Timing | None


@dataclass
class Plan:
    """A planned recipe: its ingredients, its instructions as lists of steps, and every state on the way."""

    title: str = ""
    english_title: str = ""
    ingredients: list[ListedIngredient] = field(default_factory=list)
    instructions: list[list[Step]] = field(default_factory=list)
    stuff: list[Stuff] = field(default_factory=list)
    has_preparation: bool = False

    def place(self, stuff: Stuff) -> int:
        """Put something new into the kitchen and give it a number."""
        self.stuff.append(stuff)
        return len(self.stuff) - 1

    def ingredient_of(self, number: int) -> Ingredient:
        """The ingredient that something is named after: its first food, before water, oil or salt."""
        items = [PANTRY[portion.ingredient] for portion in self.stuff[number].portions]
        return min(items, key=lambda item: item.group != "food")

    def begin_instruction(self) -> None:
        """Start a new line of the instruction list."""
        self.instructions.append([])

    def do(
        self,
        verb: str,
        objects: Sequence[int],
        *,
        into: int | None = None,
        location: str | None = None,
        form: str | None = None,
        **wording: Unpack[Wording],
    ) -> tuple[int, ...]:
        """Perform an action, write it down in the current instruction and return the numbers of its results.

        Args:
            verb: A key of ``VERBS``.
            objects: The numbers of what is acted on.
            into: The number of what the objects are added to.
            location: The container in which the results are.
            form: The form that 切る gives.
            **wording: The remaining fields of ``Step``.
        """
        effect = replace(VERBS[verb].effect, form=form) if form else VERBS[verb].effect
        destination = None if into is None else self.stuff[into]
        made = perform(effect, [self.stuff[number] for number in objects], location, destination)
        results = tuple(self.place(stuff) for stuff in made)
        self.instructions[-1].append(Step(verb, tuple(objects), results, into, **wording))
        return results
