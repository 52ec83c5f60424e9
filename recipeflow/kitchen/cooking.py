"""Cook whole recipes and whole releases, deterministically by seed and on all cores."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

from recipeflow.errors import UsageError
from recipeflow.kitchen.camera import FILM, check_studio, open_camera
from recipeflow.kitchen.film import Film, render_film, shoot_film
from recipeflow.kitchen.pantry import open_shelf
from recipeflow.kitchen.plan import Plan
from recipeflow.kitchen.planner import plan_recipe
from recipeflow.kitchen.writer import add_meanings, write_recipe
from recipeflow.machines.processes import available_cores, no_interrupts
from recipeflow.progress import progress_bar
from recipeflow.release import ReleaseInfo, ReleaseWriter
from recipeflow.release.recipe import Recipe

SOURCE = "simulated"
VERSION = "1"


@dataclass(frozen=True)
class DevisedRecipe:
    """A recipe that is planned and written, but not drawn yet: everything except the pictures."""

    recipe: Recipe
    plan: Plan
    film: Film
    look: int
    glossary: dict[str, str]


@dataclass(frozen=True)
class CookedRecipe:
    """A recipe with its frames as JPEG by number, and the English of its words."""

    recipe: Recipe
    frames: dict[int, bytes]
    glossary: dict[str, str]


def kitchen_name(seed: int, pantry: str) -> str:
    """The prefix of a kitchen's recipe ids; its studio changes the pictures only."""
    return f"kitchen-{seed}" if pantry == "all" else f"kitchen-{pantry}-{seed}"


def devise_recipe(seed: int, index: int, pantry: str = "all") -> DevisedRecipe:
    """Make up one recipe: the same seed and index give the same recipe, whatever else is cooked.

    Args:
        seed: The kitchen.
        index: The number of the recipe in that kitchen.
        pantry: All ingredients, or the ``first`` or ``second`` half of them.
    """
    rng = Random(f"kitchen/{VERSION}/{seed}/{index}" + ("" if pantry == "all" else f"/{pantry}"))
    plan = plan_recipe(rng, pantry)
    text = write_recipe(plan, rng)
    film = shoot_film(plan, text.actions, rng)
    recipe_id = f"{kitchen_name(seed, pantry)}-{index:04d}"
    recipe = Recipe(
        id=recipe_id,
        ingredients=text.lines(0),
        instructions=text.lines(1),
        flows=text.sorted_flows(),
        state_changes=tuple(film.changes),
        title=plan.title,
        url=f"https://www.kitchen.invalid/recipes/{recipe_id}",
    )
    glossary = text.glossary | {plan.title: plan.english_title}
    return DevisedRecipe(recipe, plan, film, rng.getrandbits(31), glossary)


def cook_recipe(
    seed: int, index: int, used_only: bool = False, pantry: str = "all", studio: str = FILM
) -> CookedRecipe:
    """Devise one recipe and draw its frames; with ``used_only``, just the annotated ones."""
    devised = devise_recipe(seed, index, pantry)
    frames = dict(render_film(devised.film, open_camera(devised.look, studio), used_only))
    return CookedRecipe(devised.recipe, frames, devised.glossary)


def cook_release(
    folder: str | Path,
    recipes: int = 200,
    seed: int = 0,
    used_only: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    pantry: str = "all",
    studio: str = FILM,
) -> None:
    """Cook a release folder, marked as simulated; it appears only when it is complete.

    Args:
        folder: The folder to write.
        recipes: The number of recipes.
        seed: The kitchen.
        used_only: Write only the annotated frames instead of the whole films.
        overwrite: Replace an existing release.
        workers: Processes; as many as there are cores by default.
        pantry: ``all`` ingredients, or one half of them, ``first`` or ``second``; the halves share no word.
        studio: Where pictures are taken: ``film``, the default, in one place for each recipe; otherwise each picture
            in another place, in one of the ways of `camera.studio`.
    """
    open_shelf(pantry)  # refused before any work is done
    check_studio(studio)
    if recipes < 1:
        raise UsageError(f"expected at least one recipe, found {recipes}; pass --recipes 200, for example")
    writer = ReleaseWriter(folder, overwrite=overwrite)
    glossary: dict[str, str] = {}
    with writer, closing(_cook_all(recipes, seed, used_only, workers, pantry, studio)) as finished:
        for cooked in progress_bar(finished, recipes, "cooking recipes"):
            writer.add(cooked.recipe, cooked.frames)
            add_meanings(glossary, cooked.glossary)
        details = {"seed": seed, "recipes": recipes, "frames": "used only" if used_only else "all"}
        details |= {} if pantry == "all" else {"pantry": pantry}
        details |= {} if studio == FILM else {"studio": studio}
        writer.info = ReleaseInfo(SOURCE, "MIT", VERSION, dict(sorted(glossary.items())), details)


def _cook_all(
    recipes: int, seed: int, used_only: bool, workers: int | None, pantry: str, studio: str
) -> Generator[CookedRecipe]:
    workers = min(recipes, workers or available_cores())
    columns = [seed] * recipes, range(recipes), [used_only] * recipes, [pantry] * recipes, [studio] * recipes
    if workers == 1:
        yield from map(cook_recipe, *columns)
        return
    with ProcessPoolExecutor(workers) as pool:
        with no_interrupts():
            cooked = pool.map(cook_recipe, *columns)
        yield from cooked
