"""A release as examples for the parser: the words of each recipe, its entities, and the flows between them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn.utils.rnn import pad_sequence

from configuration_rfg import RFGConfig
from processing_rfg import RFGLine, RFGProcessor, RFGRecipe, check_length
from recipeflow.dataset.folds import assign_folds
from recipeflow.errors import UsageError
from recipeflow.release import Recipe, read_info, read_release

Span = tuple[int, int, str]
"""The first word of an entity, the word after its last, and its tag."""

Edge = tuple[int, int, str]
"""The entities that a flow starts and ends at, by number, and its label."""


@dataclass(frozen=True)
class Example:
    """A recipe with its annotation; words are counted through the recipe, entities in reading order."""

    recipe_id: str
    recipe: RFGRecipe
    spans: tuple[Span, ...] = ()
    edges: tuple[Edge, ...] = ()


def read_words(recipe: Recipe) -> RFGRecipe:
    """The words of a recipe as the model takes them.

    Raises:
        UsageError: If the recipe has no text, or far too much of it.
    """
    lines = []
    for section, content in enumerate(recipe.sections):
        for number, line in enumerate(content):
            if line.text is None:
                raise UsageError(
                    f"recipe {recipe.id}: expected text to read, found none; use a release with text, such as one "
                    "that `vrf download` completed"
                )
            spans = tuple((word.start, word.end) for word in line.words)
            words = tuple(line.text[start:end] for start, end in spans)
            lines.append(RFGLine(section, number, line.text, words, spans))
    try:
        return check_length(RFGRecipe(tuple(lines)))
    except ValueError as error:
        raise UsageError(f"recipe {recipe.id}: {error}") from error


def make_example(recipe: Recipe) -> Example:
    """A recipe of a release as an example."""
    words = read_words(recipe)
    firsts: dict[tuple[int, int], int] = {}
    for position, (line, place) in enumerate(words.places):
        if place == 0:
            firsts[words.lines[line].section, words.lines[line].number] = position
    spans, numbers = [], {}
    for number, entity in enumerate(recipe.entities.values()):
        first = firsts[entity.section, entity.line]
        spans.append((first + entity.start_word, first + entity.end_word, entity.tag))
        numbers[entity.id] = number
    edges = tuple((numbers[flow.start], numbers[flow.end], flow.label) for flow in recipe.flows)
    return Example(recipe.id, words, tuple(spans), edges)


@dataclass(frozen=True)
class ExampleSet:
    """The recipes of a release as examples, with the folds that they are in and the names that they use."""

    examples: tuple[Example, ...]
    language: str
    tags: tuple[str, ...]
    labels: tuple[str, ...]

    def digest(self) -> str:
        """A checksum of everything that a parser reads and learns, to recognise the recipes."""
        content = (
            self.language,
            self.tags,
            self.labels,
            [(e.recipe_id, e.recipe, e.spans, e.edges) for e in self.examples],
        )
        return hashlib.sha256(repr(content).encode("utf-8", "backslashreplace")).hexdigest()

    def in_folds(self, folds: Iterable[int]) -> list[Example]:
        """The examples in some of the ten folds."""
        fold_of = assign_folds(example.recipe_id for example in self.examples)
        chosen = set(folds)
        return [example for example in self.examples if fold_of[example.recipe_id] in chosen]


def read_examples(release: str | Path) -> ExampleSet:
    """All recipes of a release.

    Raises:
        UsageError: If a recipe has no text.
        ReleaseProblem: If the release has a problem.
    """
    scheme = read_info(release).scheme
    examples = tuple(make_example(recipe) for recipe in read_release(release))
    return ExampleSet(examples, scheme.language, tuple(scheme.tags), tuple(scheme.labels))


def check_language(expected: str, found: str, what: str) -> None:
    """Refuse words of another language than the model's.

    Raises:
        UsageError: With both languages.
    """
    if expected.partition("-")[0] != found.partition("-")[0]:
        raise UsageError(
            f"expected {what} in the model's language, {expected!r}, found {found!r}; use a model that was trained "
            "on this language"
        )


def check_names(examples: Iterable[Example], config: RFGConfig) -> None:
    """Refuse annotations with tags or labels that a model does not have.

    Raises:
        UsageError: With the first one.
    """
    for example in examples:
        for kind, known, used in (
            ("tags", config.tags, (tag for _, _, tag in example.spans)),
            ("labels", config.labels, (label for _, _, label in example.edges)),
        ):
            if unknown := next((name for name in used if name not in known), None):
                raise UsageError(
                    f"recipe {example.recipe_id}: expected only {kind} of the model ({', '.join(known)}), found "
                    f"{unknown!r}; use a model that was trained with it, or leave it out of the release"
                )


def label_tensors(examples: Sequence[Example], config: RFGConfig) -> dict[str, torch.Tensor]:
    """The annotation of a batch as the model takes it; names that the model does not have are refused before."""
    tag_ids = {tag: number for number, tag in enumerate(config.tags)}
    label_ids = {label: number for number, label in enumerate(config.labels)}
    spans, tags, words, edges = [], [], [], []
    for example in examples:
        spans.append(_rows([(first, last) for first, last, _ in example.spans], 2))
        tags.append(torch.tensor([tag_ids[tag] for _, _, tag in example.spans], dtype=torch.long))
        words.append(_word_tags(example, tag_ids))
        edges.append(_rows([(start, end, label_ids[label]) for start, end, label in _one_per_pair(example.edges)], 3))
    return {
        "entity_spans": pad_sequence(spans, batch_first=True, padding_value=-1),
        "entity_tags": pad_sequence(tags, batch_first=True, padding_value=-1),
        "tag_labels": pad_sequence(words, batch_first=True, padding_value=-100),
        "edges": pad_sequence(edges, batch_first=True, padding_value=-1),
    }


def _word_tags(example: Example, tag_ids: dict[str, int]) -> torch.Tensor:
    ids = torch.zeros(len(example.recipe.words), dtype=torch.long)
    for first, last, tag in example.spans:
        ids[first + 1 : last] = 2 + 2 * tag_ids[tag]
        ids[first] = 1 + 2 * tag_ids[tag]
    return ids


def _one_per_pair(edges: Iterable[Edge]) -> Iterator[Edge]:
    """The model gives one label to a pair: of several, it learns the first."""
    seen = set()
    for start, end, label in edges:
        if (start, end) not in seen:
            seen.add((start, end))
            yield start, end, label


def _rows(rows: Sequence[tuple[int, ...]], width: int) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.long).view(-1, width)


def make_batch(
    examples: Sequence[Example], processor: RFGProcessor, config: RFGConfig, device: torch.device
) -> dict[str, torch.Tensor]:
    """All tensors of a batch, annotation included."""
    inputs = {**processor([example.recipe for example in examples]), **label_tensors(examples, config)}
    return {name: tensor.to(device) for name, tensor in inputs.items()}
