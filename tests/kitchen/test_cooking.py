import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recipeflow.errors import OutputExistsError, UsageError
from recipeflow.kitchen import cook_recipe, cook_release
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import check_release, read_info, read_release
from recipeflow.release.recipe import frame_name


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def cooked(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("kitchen") / "release"
    cook_release(folder, recipes=4, seed=3, workers=2)
    return folder


def test_a_cooked_release_is_valid_and_says_that_it_is_simulated(cooked):
    assert check_release(cooked) == []
    assert read_info(cooked).source == "simulated"
    recipes = list(read_release(cooked))
    assert len(recipes) == 4
    assert all(recipe.has_text and recipe.frames_folder and recipe.title and recipe.url for recipe in recipes)


def test_what_is_read_is_what_was_devised(cooked):
    assert list(read_release(cooked)) == [devise_recipe(3, index).recipe for index in range(4)]


def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_workers(cooked, tmp_path):
    script = f"from recipeflow.kitchen import cook_release; cook_release({str(tmp_path / 'a')!r}, 4, 3, workers=1)"
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert files_of(tmp_path / "a") == files_of(cooked)


def test_the_default_kitchen_is_what_it_always_was():
    """Others have cooked it before, and compare with figures that were measured on it."""
    digest = hashlib.sha256()
    for index in range(20):
        devised = devise_recipe(0, index)
        digest.update(repr((devised.recipe, devised.look, sorted(devised.glossary.items()))).encode())
    assert digest.hexdigest() == "edc3215a1d5f565ff5426f91984ccc98768355fdfd869543119e8ab555345142"


def test_kitchens_of_half_a_pantry_have_names_of_their_own(tmp_path):
    cook_release(tmp_path / "half", recipes=1, seed=3, used_only=True, workers=1, pantry="second")
    assert check_release(tmp_path / "half") == []
    assert read_info(tmp_path / "half").details["pantry"] == "second"
    (recipe,) = read_release(tmp_path / "half")
    assert recipe.id == "kitchen-second-3-0000" and recipe == devise_recipe(3, 0, "second").recipe
    with pytest.raises(UsageError, match="expected a pantry among"):
        cook_release(tmp_path / "other", recipes=1, pantry="half")
    assert not (tmp_path / "other").exists()


def test_another_seed_gives_other_recipes(cooked):
    assert cook_recipe(4, 0, used_only=True).recipe.instructions != next(read_release(cooked)).instructions


def test_a_whole_film_has_every_frame_and_used_only_just_the_annotated_ones(cooked):
    for recipe in read_release(cooked):
        written = {path.name for path in recipe.frames_folder.iterdir()}
        last = max(int(name.removeprefix("frame_").removesuffix(".jpg")) for name in written)
        assert written == {frame_name(number) for number in range(1, last + 1)}
    whole, used = cook_recipe(3, 0), cook_recipe(3, 0, used_only=True)
    assert set(used.frames) == set(used.recipe.used_frames)
    assert used.frames.items() <= whole.frames.items()


def test_the_glossary_covers_every_entity_and_title(cooked):
    glossary = read_info(cooked).glossary
    for recipe in read_release(cooked):
        assert recipe.title in glossary
        assert all(entity.text in glossary for entity in recipe.entities.values())


def test_cooking_never_overwrites_unasked_and_refuses_nonsense(cooked, tmp_path):
    before = files_of(cooked)
    with pytest.raises(OutputExistsError):
        cook_release(cooked, recipes=1)
    assert files_of(cooked) == before
    with pytest.raises(UsageError):
        cook_release(tmp_path / "none", recipes=0)


def test_the_command(tmp_path):
    command = [
        sys.executable,
        "-m",
        "recipeflow.cli",
        "kitchen",
        str(tmp_path / "out"),
        "--recipes",
        "2",
        "--used-only",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "2 recipes" in done.stdout
    assert len(json.loads((tmp_path / "out" / "annotations.json").read_text())) == 2
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 1 and "--overwrite" in again.stderr and "Traceback" not in again.stderr
