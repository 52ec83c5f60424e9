import numpy as np
import pytest

from recipeflow.errors import UsageError
from recipeflow.kitchen import cook_recipe, cook_release
from recipeflow.kitchen.camera import FILM, STUDIOS, open_camera
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.kitchen.world import Portion, Scene
from recipeflow.release import check_release, read_info, read_release

TRAVELLING = [name for name in STUDIOS if name != FILM]
SCENE = Scene("board", (Portion("にんじん", "rounds"),))


def corners(picture) -> np.ndarray:
    """What is mostly table, and not food."""
    pixels = np.asarray(picture, np.float32)
    return np.stack([pixels[:40, :40], pixels[:40, -40:], pixels[-40:, :40], pixels[-40:, -40:]]).mean(axis=(1, 2))


def spread(studio: str) -> float:
    """How much the surroundings vary between takes of one scene of one recipe."""
    camera = open_camera(5, studio)
    return float(np.stack([corners(camera.shoot(SCENE, take)) for take in range(12)]).std(axis=0).mean())


@pytest.mark.parametrize("studio", TRAVELLING)
def test_every_picture_is_taken_in_another_place(studio):
    assert spread(studio) > 1.5 * spread(FILM)


def test_the_same_take_gives_the_same_picture():
    first, second = (open_camera(5, "any").shoot(SCENE, 7) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_blur_and_close_ups_show():
    def edges(studio):
        takes = [np.asarray(open_camera(5, studio).shoot(SCENE, take).convert("L"), np.float32) for take in range(8)]
        return np.mean([np.abs(np.diff(take, axis=1)).mean() for take in takes])

    assert edges("handheld") < edges("changing")
    assert edges("close") < edges("changing")  # large things have fewer edges


def test_a_studio_changes_the_pictures_only(tmp_path):
    cook_release(tmp_path / "out", recipes=1, seed=3, used_only=True, workers=1, studio="any")
    assert check_release(tmp_path / "out") == []
    assert read_info(tmp_path / "out").details["studio"] == "any"
    assert list(read_release(tmp_path / "out")) == [devise_recipe(3, 0).recipe]


def test_a_whole_film_of_a_travelling_camera_has_every_frame():
    cooked = cook_recipe(3, 0, studio="changing")
    assert sorted(cooked.frames) == list(range(1, max(cooked.frames) + 1))


def test_an_unknown_studio_is_refused_before_any_work(tmp_path):
    with pytest.raises(UsageError, match="film, changing, stock, close, cluttered, handheld, any, found 'loft'"):
        cook_release(tmp_path / "out", recipes=1, studio="loft")
    assert not (tmp_path / "out").exists()
