"""Everything that finished recipes teach, trained together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recipeflow.annotate.document import (
    RELEASE,
    AnnotatedEntity,
    AnnotatedFlow,
    AnnotatedPair,
    Document,
    annotated_document,
)
from recipeflow.annotate.suggest.dictionary import Dictionary
from recipeflow.annotate.suggest.flow_model import FlowModel
from recipeflow.annotate.suggest.tagging import Tagger
from recipeflow.errors import UsageError
from recipeflow.release import Scheme, read_release, read_scheme

MOST = 300
"""Recipes to learn from; of more, the last ones. It bounds the time of training."""


@dataclass(frozen=True)
class Lesson:
    """A recipe with the steps that can be learned from."""

    document: Document
    steps: frozenset[str]


@dataclass(frozen=True)
class Learned:
    """What was learned; ``None`` where no recipe is finished yet. ``recipes`` is how many there were."""

    dictionary: Dictionary
    tagger: Tagger | None = None
    flows: FlowModel | None = None
    recipes: int = 0

    @classmethod
    def learn(cls, lessons: Sequence[Lesson]) -> Learned:
        """Train on finished steps."""
        lessons = lessons[-MOST:]
        tagged = [lesson.document.tagged for lesson in lessons if "words" in lesson.steps]
        linked = [lesson.document.tagged for lesson in lessons if "flows" in lesson.steps]
        return cls(Dictionary.learn(tagged), Tagger.learn(tagged), FlowModel.learn(linked), len(lessons))


def make_lesson(document: Document) -> Lesson | None:
    """What can be learned from a recipe: steps that are marked as done, or that the release has annotated."""
    steps = {step for step in ("words", "flows", "frames") if step in document.done or is_given(document, step)}
    return Lesson(document, frozenset(steps)) if steps and document.entities else None


def read_lessons(folders: Iterable[Path], scheme: Scheme) -> list[Lesson]:
    """The recipes of finished releases.

    Raises:
        UsageError: If one has another language, or other tags or labels.
    """
    lessons = []
    for folder in folders:
        if read_scheme(folder) != scheme:
            raise UsageError(
                f"expected in {folder} the language, tags and labels of the recipes to annotate, found others; learn "
                "from another release"
            )
        found = (make_lesson(annotated_document(recipe, scheme)) for recipe in read_release(folder))
        lessons += [lesson for lesson in found if lesson is not None]
    return lessons


def is_given(document: Document, step: str) -> bool:
    """Whether a step was annotated in the release: then there is nothing to suggest."""
    parts: dict[str, Sequence[AnnotatedEntity | AnnotatedFlow | AnnotatedPair]] = {
        "words": document.entities,
        "flows": document.flows,
        "frames": document.pairs,
    }
    return any(item.origin == RELEASE for item in parts[step])
