"""Recipes from folders into a database: a release, or plain texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from recipeflow.annotate.content import words_of
from recipeflow.annotate.database import Notes
from recipeflow.annotate.note_files import read_notes
from recipeflow.annotate.store import Store
from recipeflow.errors import RefusedError, ReleaseProblem, UsageError
from recipeflow.own.text import recipe_from_text
from recipeflow.release import Scheme, read_scheme, scan_release
from recipeflow.release.parsing import ANNOTATIONS, id_problem
from recipeflow.release.recipe import Recipe
from recipeflow.release.recipe_files import TEXTS, read_text


@dataclass(frozen=True)
class Imported:
    """The outcome of an import: the ids of new recipes, why others were left out, and which were known."""

    added: list[str]
    skipped: list[tuple[str, str]]
    known: tuple[str, ...] = ()


def import_folder(store: Store, folder: Path) -> Imported:
    """Import a release folder, or a folder of plain texts if there are no annotations; an empty one has none."""
    if folder.is_dir() and not any(folder.iterdir()):
        return Imported([], [])
    if (folder / ANNOTATIONS).exists() or not (folder / "recipes").is_dir():
        return import_release(store, folder)
    return import_texts(store, folder)


def import_texts(store: Store, folder: Path) -> Imported:
    """Import every new ``recipes/<id>`` with texts, normalised and split into words."""
    known, scheme = set(store.names()) | set(store.recipe_ids()), check_scheme(store, folder)
    new, skipped = [], []
    for home in sorted((folder / "recipes").iterdir()):
        if home.name in known or not home.is_dir():
            continue
        try:
            texts = [read_text(home / name, f"recipes/{home.name}/{name}", home.name) for name in TEXTS]
            new.append(recipe_from_text(home.name, *texts, scheme.language))
        except (ReleaseProblem, RefusedError) as problem:
            skipped.append((home.name, str(problem)))
    add_recipes(store, new, scheme)
    return Imported([recipe.id for recipe in new], skipped)


def import_release(store: Store, folder: Path) -> Imported:
    """Import the recipes of a release; known ones must have the same words.

    Raises:
        UsageError: If a known recipe has other words: its annotations would not fit.
    """
    known, ever, scheme = set(store.recipe_ids()), set(store.names()), check_scheme(store, folder)
    new, skipped, same = [], [], []
    for checked in scan_release(folder):
        if checked.recipe is None:
            skipped.append((checked.id, str(checked.problems[0])))
        elif checked.id not in ever and checked.id not in known:
            new.append(checked.recipe)
        elif store.key_of(checked.id) != checked.id:
            continue  # it was renamed, replaced or deleted here
        elif words_of(checked.recipe) != words_of(store.known_recipe(checked.id)):
            raise UsageError(
                f"recipe {checked.id}: expected in {folder} the words that {store.path} was started with, "
                "found other ones; pass that release, or start another --db"
            )
        else:
            same.append(checked.id)
    notes = {recipe.id: read_notes(folder, recipe.id) for recipe in new}
    add_recipes(store, new, scheme, notes)
    return Imported([recipe.id for recipe in new], skipped, tuple(same))


def check_scheme(store: Store, folder: Path) -> Scheme:
    """The scheme of a folder to import, which must be that of the recipes that are there.

    Raises:
        UsageError: If it is another: pages offer one set of tags and labels.
    """
    scheme = read_scheme(folder)
    if store.recipe_ids() and scheme != store.scheme:
        raise UsageError(
            f"expected in {folder} the language, tags and labels that {store.path} was started with, found "
            "others; start another --db"
        )
    return scheme


def add_recipes(store: Store, recipes: Iterable[Recipe], scheme: Scheme, notes: Notes | None = None) -> None:
    """Add recipes, all of them or none.

    Raises:
        RefusedError: If one exists, or its id is not a folder name.
    """
    known = set(store.recipe_ids())
    recipes = list(recipes)
    for recipe in recipes:
        if (problem := id_problem(recipe.id)) is not None:
            raise RefusedError("recipe_id", problem.message, id=recipe.id)
        if recipe.id in known:
            reason = f"expected the id of a new recipe, found {recipe.id!r} already there; choose another"
            raise RefusedError("recipe_id", reason, id=recipe.id, exists=True)
    if recipes:
        store.add_recipes(recipes, scheme, notes)
