"""Turn a page's fields into the lines that the annotation's offsets refer to, and check that they still fit.

The offsets are the check: a text fits if it has as many lines as the annotation, each as long. The text of a page that
was edited since does not. It is kept in ``text-changed.json``, which also says which of its lines are provably
unchanged, and never becomes the recipe's text: nothing is shifted silently.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from recipeflow.download.alignment import align
from recipeflow.download.pages import Page, PageIngredient
from recipeflow.errors import ReleaseProblem
from recipeflow.files import write_aside, write_json
from recipeflow.language.japanese import normalise
from recipeflow.language.segmentation import Segmenter, load_segmenter, segment
from recipeflow.release.recipe import SECTIONS, Line, Recipe
from recipeflow.release.recipe_files import TITLE, recipe_folder, text_problems

CHANGED_TEXT = "text-changed.json"
PREPARATION = "準備"
AGREEMENT = 0.85
"""The share of word ends, the segmenter's and the annotated ones, that must be equal for a line to count as the
annotated one. Measured on 200 recipes of the kitchen: 96 % of the ingredients and all instructions reach it with their
own annotation, 21 % and 12 % with that of another line of the same length. Length, number and order have to
agree too."""


@dataclass(frozen=True)
class RecipeText:
    """The normalised text of one recipe."""

    title: str
    ingredients: tuple[str, ...]
    instructions: tuple[str, ...]

    @property
    def sections(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Ingredients and instructions, in the order of ``SECTIONS``."""
        return self.ingredients, self.instructions


@dataclass(frozen=True)
class FittedText:
    """A text compared with its annotation: the problems, and the text's line for each annotated line.

    Attributes:
        lines: By section, the number of the text's line for every annotated one; ``None`` if none is certain.
    """

    text: RecipeText
    problems: tuple[ReleaseProblem, ...]
    lines: tuple[tuple[int | None, ...], tuple[int | None, ...]]

    @property
    def fits(self) -> bool:
        """Whether the whole text is the annotated one."""
        return not self.problems

    def as_dict(self) -> dict[str, object]:
        """The content of ``text-changed.json``."""
        row: dict[str, object] = {"title": self.text.title, "problems": [str(problem) for problem in self.problems]}
        for section, texts, lines in zip(SECTIONS, self.text.sections, self.lines, strict=True):
            row[section] = {"found": list(texts), "usable": list(lines)}
        return row


def page_text(page: Page, recipe: Recipe) -> RecipeText:
    """The text of a page, in the release's form.

    Args:
        page: What the page says.
        recipe: Its annotation. A page that does not number its instructions leaves open whether the first is the
            preparation; the annotation decides.
    """
    first = 0 if _has_preparation(recipe) else 1
    orders = [first + i if step.order is None else step.order for i, step in enumerate(page.instructions)]
    steps = zip(orders, page.instructions, strict=True)
    return RecipeText(
        normalise(page.title),
        tuple(normalise(ingredient_line(item)) for item in page.ingredients),
        tuple(normalise(f"{step_label(order)}.{step.body}") for order, step in steps),
    )


def ingredient_line(item: PageIngredient) -> str:
    """An ingredient of a page as one line: its heading, name and quantity."""
    heading = "" if item.heading is None else f"({item.heading}) "
    return f"{heading}{item.name} {item.quantity}"


def step_label(order: int) -> str:
    """What stands before an instruction in a release: its number, or the word for preparation."""
    return str(order) if order else PREPARATION


def _has_preparation(recipe: Recipe) -> bool:
    """Whether the first instruction begins with a word as long as 準備 instead of a number."""
    words = recipe.instructions[0].words if recipe.instructions else ()
    return bool(words) and words[0].end == len(PREPARATION)


def fit_text(text: RecipeText, recipe: Recipe, segmenter: Segmenter | None = None) -> FittedText:
    """Compare a text with its annotation. A section that fits is used whole; of others, the provably unchanged lines.

    Args:
        text: Normalised.
        recipe: The annotated recipe.
        segmenter: Its word ends have to agree with the annotation's in an edited section; ``fugashi`` by default.
    """
    problems: list[ReleaseProblem] = []
    usable: list[tuple[int | None, ...]] = []
    starts = [""] * len(recipe.ingredients), _instruction_starts(recipe)
    for section, lines, heads, texts in zip(SECTIONS, recipe.sections, starts, text.sections, strict=True):
        found = list(text_problems(recipe.id, section, lines, texts))
        if found:
            agrees = partial(_agrees, segmenter=segmenter or load_segmenter())
            usable.append(tuple(align(list(zip(lines, heads, strict=True)), texts, agrees)))
        else:
            usable.append(tuple(range(len(lines))))
        problems.extend(found)
    return FittedText(text, tuple(problems), (usable[0], usable[1]))


def _instruction_starts(recipe: Recipe) -> list[str]:
    """The start of each instruction: a line with another number has changed, even if its words have not."""
    first = 0 if _has_preparation(recipe) else 1
    return [normalise(f"{step_label(first + number)}.") for number in range(len(recipe.instructions))]


def _agrees(annotated: tuple[Line, str], text: str, segmenter: Segmenter) -> bool:
    """Whether a text may be the annotated line: same length, same start, and same word ends as the segmenter's."""
    line, start = annotated
    if len(text) != line.length or not text.startswith(start):
        return False
    ends = {end for _, end in segment(text, segmenter)}
    annotated_ends = {word.end for word in line.words}
    return len(ends & annotated_ends) >= AGREEMENT * max(len(ends), len(annotated_ends))


def write_text(folder: Path, recipe: Recipe, fitted: FittedText) -> None:
    """Write a text into a release folder: as the recipe's text if it fits, else as ``text-changed.json``."""
    home = recipe_folder(folder, recipe.id)
    if not fitted.fits:
        write_json(home / CHANGED_TEXT, fitted.as_dict())
        return
    contents: dict[str, tuple[str, ...]] = {TITLE: (fitted.text.title,)}
    contents |= {f"{section}.txt": texts for section, texts in zip(SECTIONS, fitted.text.sections, strict=True)}
    for name, texts in contents.items():
        write_aside(home / name, "".join(f"{text}\n" for text in texts))
    (home / CHANGED_TEXT).unlink(missing_ok=True)


def attach_changed(recipe: Recipe, folder: str | Path) -> Recipe:
    """The recipe with the text of the lines that an edited page still has; all others stay ``None``.

    A recipe whose page did not change is returned as it is.
    """
    path = recipe_folder(Path(folder), recipe.id) / CHANGED_TEXT
    if recipe.has_text or not path.is_file():
        return recipe
    row = json.loads(path.read_text(encoding="utf-8"))
    sections = {
        section: tuple(_with_text(lines, row[section]["usable"], row[section]["found"]))
        for section, lines in zip(SECTIONS, recipe.sections, strict=True)
    }
    return replace(recipe, **sections)


def _with_text(lines: Sequence[Line], usable: Sequence[int | None], found: Sequence[str]) -> list[Line]:
    pairs = zip(lines, usable, strict=True)
    return [line if number is None else replace(line, text=found[number]) for line, number in pairs]
