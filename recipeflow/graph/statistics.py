"""The paper's statistics of a release: its three tables and the figures in its text, beside the paper's numbers.

The official release was revised after the paper, so the two columns differ in places; both are right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from recipeflow.release.recipe import LABELS, TAGS, Line, Recipe, StateChange
from recipeflow.release.scheme import PAPER as PAPER_SCHEME
from recipeflow.release.scheme import Scheme
from recipeflow.tables import Cell, Table

NOTE = (
    "The official release was revised after the paper was printed. Where its counts differ from the paper's, both are "
    "right."
)

OBJECT_KINDS = {
    "none": "no image",
    "pre_only": "pre-action image only",
    "post_only": "post-action image only",
    "both": "both images",
}
"""The images that an object can have, in the order of the paper's table."""

FIGURES = {
    "recipes": "Recipes",
    "recipes_with_text": "Recipes with text",
    "recipes_with_frames": "Recipes with frames",
    "ingredients": "Ingredients",
    "instructions": "Instructions",
    "words": "Words",
    "ingredients_per_recipe": "Ingredients per recipe",
    "instructions_per_recipe": "Instructions per recipe",
    "objects_per_recipe": "Objects per recipe",
    "entities": "r-NEs",
    "flows": "Recipe flows",
    "objects": "Objects",
    "image_uses": "Images used",
    "unique_images": "Unique images",
    "unique_actions": "Unique expressions for cooking actions",
    "unique_ingredients": "Unique ingredients",
}
"""The figures of the paper's text, with labels for tables."""

# Headings such as （Ａ） come before the name of an ingredient, and are tagged as food too.
_HEADINGS = re.compile(r"(?:（[^（）]*）|\([^()]*\))*")


@dataclass(frozen=True)
class Statistics:
    """The counts of one release.

    Attributes:
        unique_actions: Distinct strings of ``Ac`` entities; ``None`` unless every recipe has text.
        unique_ingredients: Distinct foods of the ingredient lists; ``None`` unless every recipe has text.
        tags: Number of r-NEs by tag.
        labels: Number of flows by label.
        images: Number of objects by the images they have (``OBJECT_KINDS``).
    """

    recipes: int
    recipes_with_text: int
    recipes_with_frames: int
    ingredients: int
    instructions: int
    words: int
    image_uses: int
    unique_images: int
    unique_actions: int | None
    unique_ingredients: int | None
    tags: Mapping[str, int]
    labels: Mapping[str, int]
    images: Mapping[str, int]
    scheme: Scheme = PAPER_SCHEME

    @property
    def entities(self) -> int:
        """All r-NEs."""
        return sum(self.tags.values())

    @property
    def flows(self) -> int:
        return sum(self.labels.values())

    @property
    def objects(self) -> int:
        return sum(self.images.values())

    @property
    def ingredients_per_recipe(self) -> float | None:
        return self.ingredients / self.recipes if self.recipes else None

    @property
    def instructions_per_recipe(self) -> float | None:
        return self.instructions / self.recipes if self.recipes else None

    @property
    def objects_per_recipe(self) -> float | None:
        return self.objects / self.recipes if self.recipes else None

    def figures(self) -> dict[str, int | float | None]:
        """The figures of the paper's text, by the names of ``FIGURES``."""
        return {name: getattr(self, name) for name in FIGURES}

    def shares(self) -> dict[str, dict[str, float]]:
        """Each tag, label and kind of images as a share of all, to compare releases of different sizes."""
        return {
            name: {key: count / max(1, sum(counts.values())) for key, count in counts.items()}
            for name, counts in (("tags", self.tags), ("labels", self.labels), ("images", self.images))
        }

    def beside_paper(self) -> dict[str, Any]:
        """For JSON: ``{release, paper}`` for each figure, ``null`` where there is no number."""
        groups = {"figures": self.figures(), "tags": self.tags, "labels": self.labels, "images": self.images}
        return {
            group: {key: {"release": value, "paper": PAPER[group].get(key)} for key, value in values.items()}
            for group, values in groups.items()
        }

    def tables(self) -> list[Table]:
        """The figures, and the paper's three tables."""
        return [
            Table("Figures", ("", "release", "paper"), _rows(self.figures(), "figures", FIGURES)),
            Table("r-NE tags", ("Tag", "Meaning", "release", "paper"), _totalled(self.tags, "tags", self.scheme.tags)),
            Table(
                "r-FG labels",
                ("Label", "Meaning", "release", "paper"),
                _totalled(self.labels, "labels", self.scheme.labels),
            ),
            Table("Image annotation", ("Pre", "Post", "release", "paper"), _image_rows(self.images)),
        ]


PAPER: dict[str, dict[str, int | float]] = {
    "figures": {
        "recipes": 200,
        "ingredients": 1701,
        "instructions": 1077,
        "words": 33400,
        "ingredients_per_recipe": 8.51,
        "instructions_per_recipe": 5.31,
        "entities": 11686,
        "flows": 11291,
        "objects": 3705,
        "image_uses": 5659,
        "unique_images": 3824,
        "unique_actions": 89,
        "unique_ingredients": 275,
    },
    "tags": dict(zip(TAGS, (5098, 758, 129, 1778, 2532, 353, 971, 67), strict=True)),
    "labels": dict(zip(LABELS, (330, 2961, 1025, 157, 20, 2397, 330, 987, 4, 0, 1, 112, 2967), strict=True)),
    "images": {"none": 597, "pre_only": 72, "post_only": 485, "both": 2551},
}
"""The paper's numbers as printed; it has 5.31 instructions per recipe where 1,077 / 200 is 5.385."""


def compute_statistics(recipes: Iterable[Recipe], scheme: Scheme = PAPER_SCHEME) -> Statistics:
    """Count in one pass over the recipes, as ``read_release`` streams them.

    Args:
        recipes: The recipes.
        scheme: What they are tagged with.
    """
    counts: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    images: Counter[str] = Counter()
    actions: set[str | None] = set()
    ingredients: set[str | None] = set()
    for recipe in recipes:
        counts.update(_count_recipe(recipe))
        tags.update(entity.tag for entity in recipe.entities.values())
        labels.update(flow.label for flow in recipe.flows)
        images.update(map(object_kind, recipe.state_changes))
        if recipe.has_text:
            actions.update(action.text for action in recipe.actions)
            ingredients.update(_ingredient_names(recipe))
    complete = counts["recipes_with_text"] == counts["recipes"] > 0
    return Statistics(
        **{name: counts[name] for name in _COUNTED},
        unique_actions=len(actions) if complete else None,
        unique_ingredients=len(ingredients) if complete else None,
        tags={tag: tags[tag] for tag in scheme.tags},
        labels={label: labels[label] for label in scheme.labels},
        images={kind: images[kind] for kind in OBJECT_KINDS},
        scheme=scheme,
    )


_COUNTED = (
    "recipes",
    "recipes_with_text",
    "recipes_with_frames",
    "ingredients",
    "instructions",
    "words",
    "image_uses",
    "unique_images",
)


def _count_recipe(recipe: Recipe) -> dict[str, int]:
    uses = [number for change in recipe.state_changes for number in (change.before, change.after)]
    return {
        "recipes": 1,
        "recipes_with_text": int(recipe.has_text),
        "recipes_with_frames": int(recipe.frames_folder is not None),
        "ingredients": len(recipe.ingredients),
        "instructions": len(recipe.instructions),
        "words": sum(len(line.words) for lines in recipe.sections for line in lines),
        "image_uses": len(uses) - uses.count(None),
        "unique_images": len(recipe.used_frames),
    }


def object_kind(change: StateChange) -> str:
    """Which images an object has, as a key of ``OBJECT_KINDS``."""
    if change.before is None:
        return "none" if change.after is None else "post_only"
    return "pre_only" if change.after is None else "both"


def _ingredient_names(recipe: Recipe) -> set[str]:
    """The food of each ingredient line: its first ``F`` entity after the headings."""
    names: dict[int, str] = {}
    for entity in recipe.entities.values():
        if entity.section == 0 and entity.tag == "F" and entity.line not in names:
            line = recipe.ingredients[entity.line]
            if entity.text is not None and line.words[entity.start_word].start >= _headings_end(line):
                names[entity.line] = entity.text
    return set(names.values())


def _headings_end(line: Line) -> int:
    headings = _HEADINGS.match(line.text or "")
    return headings.end() if headings else 0


def _rows(counts: Mapping[str, Cell], group: str, names: Mapping[str, str]) -> list[tuple[Cell, ...]]:
    return [(names[key], value, PAPER[group].get(key)) for key, value in counts.items()]


def _totalled(counts: Mapping[str, int], group: str, meanings: Mapping[str, str]) -> list[tuple[Cell, ...]]:
    paper = PAPER[group]
    rows = [(key, meanings[key], count, paper.get(key)) for key, count in counts.items()]
    return [*rows, ("Total", "", sum(counts.values()), sum(paper.values()))]


def _image_rows(images: Mapping[str, int]) -> list[tuple[Cell, ...]]:
    marks = {"none": ("", ""), "pre_only": ("✓", ""), "post_only": ("", "✓"), "both": ("✓", "✓")}
    rows = [(*marks[kind], images[kind], PAPER["images"][kind]) for kind in OBJECT_KINDS]
    return [*rows, ("Total", "", sum(images.values()), sum(PAPER["images"].values()))]
