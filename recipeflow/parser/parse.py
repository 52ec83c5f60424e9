"""Read recipes with a trained parser: plain text or a release to a release that is marked as predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from modeling_rfg import RFGGraph, RFGModel
from parsing_rfg import BATCH_SIZE, parse_recipes
from plaintext_rfg import read_plain_text
from processing_rfg import RecipeLike, RFGProcessor, RFGRecipe
from recipeflow.errors import UsageError
from recipeflow.own.text import make_id
from recipeflow.parser.examples import check_language, read_words
from recipeflow.release import (
    Flow,
    Line,
    Recipe,
    ReleaseInfo,
    ReleaseWriter,
    Scheme,
    Scores,
    Word,
    read_info,
    read_release,
)
from recipeflow.release.parsing import ANNOTATIONS
from recipeflow.release.recipe import LABELS, TAGS, word_id
from recipeflow.release.recipe_files import TEXTS, read_text

READ_AT_ONCE = 256
"""Recipes read before they are parsed, in batches of similar length."""


@dataclass(frozen=True)
class Unread:
    """A recipe with its words as the model takes them; its annotation, if it has one, is ignored."""

    recipe: Recipe
    words: RFGRecipe


@dataclass(frozen=True)
class Parsed:
    """What was written."""

    recipes: int
    entities: int
    flows: int


def parse_source(
    model: RFGModel,
    processor: RFGProcessor,
    source: str | Path,
    out: str | Path,
    *,
    name: str,
    overwrite: bool = False,
    batch_size: int = BATCH_SIZE,
) -> Parsed:
    """Read the recipes of a release or of plain text, and write them as a release.

    Args:
        model: The parser.
        processor: Its processor.
        source: A release; a folder with ``recipes/<id>/*.txt``; or a text file with one recipe.
        out: The release to write, all of it or nothing.
        name: What the release says it was predicted by.
        overwrite: Replace an existing release.
        batch_size: Recipes that are parsed together.

    Raises:
        UsageError: If there is nothing to read, or it is not in the model's language.
    """
    source = Path(source)
    unread, info = _open(source, model, processor)
    recipes = entities = flows = 0
    with ReleaseWriter(out, replace(info, predicted_by=name), overwrite) as writer:
        while chunk := list(islice(unread, READ_AT_ONCE)):
            graphs = parse_recipes(model, processor, [each.words for each in chunk], batch_size)
            for each, graph in zip(chunk, graphs, strict=True):
                recipe, scores = annotate_recipe(each.recipe, each.words, graph)
                writer.add(recipe, scores=scores)
                recipes, entities, flows = recipes + 1, entities + len(graph.spans), flows + len(graph.edges)
    return Parsed(recipes, entities, flows)


def _open(source: Path, model: RFGModel, processor: RFGProcessor) -> tuple[Iterator[Unread], ReleaseInfo]:
    if source.is_dir() and ((source / ANNOTATIONS).exists() or not (source / "recipes").is_dir()):
        info = read_info(source)
        check_language(model.config.language, info.scheme.language, f"the release {source}")
        recipes = (Unread(recipe, read_words(recipe)) for recipe in read_release(source))
        return recipes, replace(info, scheme=make_scheme(model, info.scheme))
    if source.is_dir():
        return _read_folder(source, processor), ReleaseInfo(scheme=make_scheme(model))
    found = read_plain_text(read_text(source, str(source)))
    sections = {"ingredients": found.ingredients, "instructions": found.instructions}
    unread = read_plain(make_id(source.stem), found.title or source.stem, sections, processor)
    return iter([unread]), ReleaseInfo(scheme=make_scheme(model))


def make_scheme(model: RFGModel, known: Scheme | None = None) -> Scheme:
    """The language, tags and labels of a model, with the meanings that are known."""
    config = model.config
    meanings = [{**TAGS, **(known.tags if known else {})}, {**LABELS, **(known.labels if known else {})}]
    tags, labels = (
        {name: known_ones.get(name, name) for name in names}
        for names, known_ones in zip((config.tags, config.labels), meanings, strict=True)
    )
    return Scheme(config.language, tags, labels)


def _read_folder(folder: Path, processor: RFGProcessor) -> Iterator[Unread]:
    for home in sorted((folder / "recipes").iterdir()):
        if home.is_dir():
            title, *sections = (read_text(home / name, f"recipes/{home.name}/{name}", home.name) for name in TEXTS)
            recipe = dict(zip(("ingredients", "instructions"), sections, strict=True))
            yield read_plain(home.name, title.strip(), recipe, processor)


def read_plain(recipe_id: str, title: str, text: RecipeLike, processor: RFGProcessor) -> Unread:
    """A recipe without annotation from plain text, split into words by the rules of the model's language.

    Raises:
        UsageError: If there is no text, or it cannot be split.
    """
    try:
        words = processor.read(text)
    except (ValueError, ImportError) as error:
        raise UsageError(f"recipe {recipe_id}: {error}") from error
    if not words.words:
        raise UsageError(f"recipe {recipe_id}: expected text to read, found none; write at least one line")
    sections: tuple[list[Line], list[Line]] = ([], [])
    for line in words.lines:
        sections[line.section].append(Line(tuple(Word(start, end) for start, end in line.spans), line.text))
    ingredients, instructions = map(tuple, sections)
    return Unread(Recipe(recipe_id, ingredients, instructions, title=" ".join(title.split()) or recipe_id), words)


def annotate_recipe(recipe: Recipe, words: RFGRecipe, graph: RFGGraph) -> tuple[Recipe, Scores]:
    """A recipe with the entities and flows of a graph in place of its own, and the score of each."""
    tags: dict[tuple[int, int], str] = {}
    ids = []
    for (first, last), tag in zip(graph.spans, graph.tags, strict=True):
        number, place = words.places[first]
        tags |= {(number, place + step): f"{tag}-{'I' if step else 'B'}" for step in range(last - first)}
        ids.append(word_id(words.lines[number].section, words.lines[number].number, place))
    flows = tuple(Flow(ids[start], ids[end], label) for start, end, label, _ in graph.edges)
    tagged = replace(recipe, **_tag_lines(recipe, words, tags), flows=flows, state_changes=(), frames_folder=None)
    scores = Scores(
        {entity: round(score, 4) for entity, score in zip(ids, graph.entity_scores, strict=True)},
        {flow: round(score, 4) for flow, (*_, score) in zip(flows, graph.edges, strict=True)},
    )
    return tagged, scores


def _tag_lines(recipe: Recipe, words: RFGRecipe, tags: Mapping[tuple[int, int], str]) -> dict[str, tuple[Line, ...]]:
    numbers = {(line.section, line.number): number for number, line in enumerate(words.lines)}

    def tag(section: int, lines: Sequence[Line]) -> tuple[Line, ...]:
        return tuple(
            replace(
                line,
                words=tuple(
                    replace(word, ne=tags.get((numbers[section, at], place), "O"))
                    for place, word in enumerate(line.words)
                ),
            )
            for at, line in enumerate(lines)
        )

    return {"ingredients": tag(0, recipe.ingredients), "instructions": tag(1, recipe.instructions)}
