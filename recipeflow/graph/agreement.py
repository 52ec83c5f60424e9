"""Agreement between two annotations of the same text: the paper's precision, recall and F-measure.

The first annotation is the truth. What is counted, and when two annotators agree on it:

- **r-NE**: an entity, when both have one with the same characters and tag.
- **r-FG**: a flow, when both have one with the same start, end and label. As in the release, a vertex is the first
  word of its entity: a difference in tag or length counts once, as a difference of r-NEs.
  (Both are compared by their characters in the line, because an annotator may divide a line into other words.)
- **Image**: a side, *before* or *after*, of a state change, when both have the same frame, or no image, for that side
  of the same object of the same action. Objects are found by tracing each annotator's own flows, so that,
  as the paper says, differences in the earlier steps affect this one.

The paper does not spell out the last rule, but its figures do. It compares 199 state changes, and with at most two
images for each, its 70.60 and 75.13 can only be 281 of 398 and of 374: both sides of 199 and of 187 state changes.
Those without an image are among the 199: without them there would be fewer for its 623 r-NEs. (The other rows are
616 of 623 and of 629 r-NEs, and 530 of 616 and of 615 flows.) It does not say how objects were matched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recipeflow.errors import AgreementError, DuplicateRecipeError
from recipeflow.graph.flow_graph import pair_objects
from recipeflow.release.recipe import SECTIONS, Entity, Recipe
from recipeflow.release.scheme import PAPER, Scheme
from recipeflow.tables import Cell, Table

IMAGE_KINDS = {
    "before": "frame before",
    "no_before": "no image before",
    "after": "frame after",
    "no_after": "no image after",
}
"""The sides of state changes, by what an annotator assigned to them."""

STEPS = ("r-NE", "r-FG", "Image")
"""The rows of the paper's table."""

PAPER_TABLE = {"r-NE": (97.93, 98.88, 98.40), "r-FG": (86.18, 86.04, 86.11), "Image": (75.13, 70.60, 72.80)}
"""Precision, recall and F-measure of the paper's Table 2: a second person beside the first."""

Item = tuple[str, Hashable]


@dataclass(frozen=True, slots=True)
class Score:
    """How many items both annotators have, and how many each has; the first one's are the truth."""

    both: int
    first: int
    second: int

    @property
    def precision(self) -> float | None:
        """The percentage of the second annotator's items that the first has too."""
        return 100 * self.both / self.second if self.second else None

    @property
    def recall(self) -> float | None:
        """The percentage of the first annotator's items that the second has too."""
        return 100 * self.both / self.first if self.first else None

    @property
    def f_measure(self) -> float | None:
        """The harmonic mean of precision and recall, in per cent; it is symmetric."""
        return 200 * self.both / (self.first + self.second) if self.first + self.second else None

    def as_dict(self) -> dict[str, int | float | None]:
        figures = {"precision": self.precision, "recall": self.recall, "f_measure": self.f_measure}
        return figures | {"both": self.both, "first": self.first, "second": self.second}

    def row(self) -> tuple[Cell, ...]:
        return self.precision, self.recall, self.f_measure, self.both, self.first, self.second


_HEADS = ("Precision", "Recall", "F-measure", "both", "first", "second")


@dataclass(frozen=True)
class Agreement:
    """The agreement of two annotations.

    Attributes:
        recipes: The ids of the recipes that both have, which were compared.
        only_first: The ids of those that only the first has.
        only_second: The ids of those that only the second has.
        scores: For each step (``STEPS``), the score of each of its kinds.
    """

    recipes: Sequence[str]
    only_first: Sequence[str]
    only_second: Sequence[str]
    scores: Mapping[str, Mapping[str, Score]]

    def total(self, step: str) -> Score:
        """The score of a whole step: a row of the paper's table."""
        scores = self.scores[step].values()
        return Score(sum(s.both for s in scores), sum(s.first for s in scores), sum(s.second for s in scores))

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON; figures are per cent, ``null`` where there is nothing to divide by."""
        return {
            "recipes": list(self.recipes),
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            "agreement": {step: self.total(step).as_dict() for step in STEPS},
            "paper": {
                step: dict(zip(("precision", "recall", "f_measure"), row, strict=True))
                for step, row in PAPER_TABLE.items()
            },
            "by_kind": {
                step: {kind: score.as_dict() for kind, score in scores.items()} for step, scores in self.scores.items()
            },
        }

    def tables(self) -> list[Table]:
        """The paper's table, with the paper's own F-measures beside it, and one for each of its rows."""
        rows = [(step, *self.total(step).row(), PAPER_TABLE[step][2]) for step in STEPS]
        tables = [Table("Inter-annotator agreement", ("Step", *_HEADS, "paper"), rows)]
        for step, kinds in self.scores.items():
            split = [(_name(step, kind), *score.row()) for kind, score in kinds.items()]
            tables.append(Table(f"{step} by kind", ("Kind", *_HEADS), split))
        return tables

    def notes(self) -> list[str]:
        """Which recipes were compared, and which only one of the annotations has."""
        notes = [f"recipes compared, with the first annotation as the truth: {len(self.recipes)}"]
        for which, ids in (("first", self.only_first), ("second", self.only_second)):
            if ids:
                notes.append(f"only in the {which}, and not compared: {', '.join(ids)}")
        return notes


def _name(step: str, kind: str) -> str:
    return IMAGE_KINDS[kind] if step == "Image" else kind


def measure_agreement(
    first: Iterable[Recipe], second: Iterable[Recipe], schemes: Sequence[Scheme] = (PAPER,)
) -> Agreement:
    """Compare two annotations, recipe by recipe.

    Args:
        first: The annotation that is used as the truth.
        second: The other one; its recipes may be in another order.
        schemes: What they are tagged with; a tag that none of them declares is counted too.

    Raises:
        AgreementError: If they have no recipe in common, or one with a different text.
    """
    truth, other = _by_id(first), _by_id(second)
    shared = [recipe_id for recipe_id in truth if recipe_id in other]
    if not shared:
        found = f"{len(truth)} and {len(other)} recipes with none in common"
        raise AgreementError(f"expected two annotations of the same recipes, found {found}; compare their recipe ids")
    both: Counter[tuple[str, str]] = Counter()
    sides: tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]] = (Counter(), Counter())
    for recipe_id in shared:
        _check_text(truth[recipe_id], other[recipe_id])
        for step, items in _ITEMS.items():
            # Counted, not collected in a set: surplus state changes have no object to distinguish them.
            pair = Counter(items(truth[recipe_id])), Counter(items(other[recipe_id]))
            both.update((step, kind) for kind, _ in (pair[0] & pair[1]).elements())
            for side, items_of in zip(sides, pair, strict=True):
                side.update((step, kind) for kind, _ in items_of.elements())
    found = [*sides[0], *sides[1]]
    scores = {
        step: {kind: Score(both[step, kind], sides[0][step, kind], sides[1][step, kind]) for kind in kinds}
        for step, kinds in _kinds(schemes, found).items()
    }
    only = [
        [recipe_id for recipe_id in mine if recipe_id not in yours] for mine, yours in ((truth, other), (other, truth))
    ]
    return Agreement(shared, *only, scores)


def _kinds(schemes: Sequence[Scheme], found: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """What each step can be split into: all that is declared, then what was found besides."""
    kinds: dict[str, dict[str, None]] = {
        "r-NE": {tag: None for scheme in schemes for tag in scheme.tags},
        "r-FG": {label: None for scheme in schemes for label in scheme.labels},
        "Image": dict.fromkeys(IMAGE_KINDS),
    }
    for step, kind in found:
        kinds[step].setdefault(kind)
    return {step: list(names) for step, names in kinds.items()}


def _by_id(recipes: Iterable[Recipe]) -> dict[str, Recipe]:
    found: dict[str, Recipe] = {}
    for recipe in recipes:
        if recipe.id in found:
            message = "expected each recipe id once, found it again"
            raise DuplicateRecipeError(message, recipe=recipe.id, value=recipe.id, hint="leave one of them out")
        found[recipe.id] = recipe
    return found


def _check_text(first: Recipe, second: Recipe) -> None:
    """Refuse annotations of different texts: the same place would mean something else in each."""
    for name, ours, theirs in zip(SECTIONS, first.sections, second.sections, strict=True):
        lengths = [[line.length for line in lines] for lines in (ours, theirs)]
        texts = [[line.text for line in lines] for lines in (ours, theirs)]
        same_text = all(a == b for a, b in zip(*texts, strict=False) if a is not None and b is not None)
        if lengths[0] != lengths[1] or not same_text:
            raise AgreementError(
                f"recipe {first.id}, {name}: expected the same text in both annotations, found different ones; "
                "annotate both from the same release"
            )


def _place(recipe: Recipe, entity: Entity) -> tuple[int, int, int]:
    """Where an entity begins: section, line and character."""
    line = recipe.sections[entity.section][entity.line]
    return entity.section, entity.line, line.words[entity.start_word].start


def _entities(recipe: Recipe) -> Iterator[Item]:
    for entity in recipe.entities.values():
        end = recipe.sections[entity.section][entity.line].words[entity.end_word - 1].end
        yield entity.tag, (_place(recipe, entity), end)


def _flows(recipe: Recipe) -> Iterator[Item]:
    for flow in recipe.flows:
        yield flow.label, tuple(_place(recipe, recipe.entities[name]) for name in (flow.start, flow.end))


def _images(recipe: Recipe) -> Iterator[Item]:
    for pair in pair_objects(recipe):
        owner = _place(recipe, pair.action), pair.object and _place(recipe, pair.object)
        for side, frame in (("before", pair.change.before), ("after", pair.change.after)):
            yield (side if frame is not None else f"no_{side}"), (owner, frame)


_ITEMS = {"r-NE": _entities, "r-FG": _flows, "Image": _images}
