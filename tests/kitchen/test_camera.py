import hashlib
import subprocess
import sys

import numpy as np
import pytest

from recipeflow.kitchen.camera import Camera, Look, encode
from recipeflow.kitchen.camera.look import PLACES, derive
from recipeflow.kitchen.pantry import PANTRY
from recipeflow.kitchen.world import CONTAINERS, FORMS, HEATS, MARKS, Portion, Scene

CARROT, TOMATO, CABBAGE, POTATO, SHRIMP = "にんじん", "トマト", "キャベツ", "じゃがいも", "むきエビ"
CORN, CUCUMBER, RED_CABBAGE, SOY_SAUCE = "コーン", "きゅうり", "紫キャベツ", "しょうゆ"

DIGEST = f"""
import hashlib
from recipeflow.kitchen.camera import Camera, Look, encode
from recipeflow.kitchen.world import Portion, Scene
camera = Camera(Look.from_seed(3))
raw = Portion("{CARROT}", "julienned", marks=frozenset(("trimmed", "salted", "washed", "chilled")))
mixed = camera.shoot(Scene("bowl", (raw, Portion("{CORN}"), Portion("{SOY_SAUCE}")), 3, (Portion("{TOMATO}"),)), 5)
whole = camera.shoot(Scene("board", (Portion("{TOMATO}"),)), 6)
frame = camera.between(whole, mixed, 0.4, 7, "knife", "Cut")
print(hashlib.sha256(mixed.tobytes() + frame.tobytes() + encode(frame)).hexdigest())
"""


def pixels(image):
    return np.asarray(image, np.float32)


def distance(one, other):
    return float(np.abs(pixels(one) - pixels(other)).mean())


def on_board(camera, *portions, seed=1):
    return camera.shoot(Scene("board", portions), seed)


def food(camera, *portions, container="board", mixed=0):
    """The picture, and where it differs from the same take of the empty container."""
    full = pixels(camera.shoot(Scene(container, portions, mixed), 1))
    empty = pixels(camera.shoot(Scene(container), 1))
    return full, np.abs(full - empty).max(axis=2) > 24


def edge_density(picture, mask):
    grey = picture.mean(axis=2)
    edges = np.abs(np.diff(grey, axis=0))[:, 1:] + np.abs(np.diff(grey, axis=1))[1:]
    return float((edges > 14)[mask[1:, 1:]].mean())


def test_same_picture_in_every_process():
    found = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hash_seed in ("1", "77")
    }
    assert len(found) == 1
    assert len(found.pop()) == 64


def test_seed_decides_and_history_does_not():
    scene = Scene("bowl", (Portion(TOMATO, "wedges"), Portion(CORN)))
    fresh, used = Camera(Look.from_seed(8)), Camera(Look.from_seed(8))
    on_board(used, Portion(CABBAGE))
    used.shoot(scene, 4)
    assert fresh.shoot(scene, 3).tobytes() == used.shoot(scene, 3).tobytes()
    assert fresh.shoot(scene, 3).tobytes() != fresh.shoot(scene, 4).tobytes()


def test_every_container_is_drawn_at_the_right_size():
    camera = Camera(Look.from_seed(0))
    pictures = [camera.shoot(Scene(container), 0) for container in CONTAINERS]
    assert {(picture.size, picture.mode) for picture in pictures} == {((320, 320), "RGB")}
    assert len({hashlib.sha256(picture.tobytes()).digest() for picture in pictures}) == len(CONTAINERS)
    assert encode(pictures[0])[:2] == b"\xff\xd8"


def test_every_ingredient_in_every_state_shows():
    camera = Camera(Look.from_seed(1))
    empty = camera.shoot(Scene("plate"), 1)
    for item in PANTRY.values():
        for form in ("whole", *item.cuts):
            for heat in ("raw", *item.heats):
                picture = camera.shoot(Scene("plate", (Portion(item.name, form, heat),)), 1)
                assert distance(picture, empty) > 0.15, (item.english, form, heat)


@pytest.mark.parametrize("name", [CARROT, TOMATO, CABBAGE, POTATO])
def test_all_forms_look_different(name):
    camera = Camera(Look.from_seed(2))
    pictures = [on_board(camera, Portion(name, form)) for form in FORMS]
    for number, one in enumerate(pictures):
        for other in pictures[number + 1 :]:
            assert distance(one, other) > 0.8


@pytest.mark.parametrize("name", [CARROT, TOMATO, POTATO, "なす", "大根"])
def test_smaller_pieces_have_more_edges(name):
    order = ("whole", "chunks", "diced", "minced")
    densities = np.zeros(len(order))
    for seed in range(3):
        camera = Camera(Look.from_seed(seed))
        densities += [edge_density(*food(camera, Portion(name, form))) for form in order]
    assert list(densities) == sorted(densities)


@pytest.mark.parametrize("name", [CARROT, POTATO, CABBAGE, "豚バラ肉"])
def test_fried_is_darker_and_browner(name):
    camera = Camera(Look.from_seed(4))
    colours = []
    for heat in ("raw", "fried"):
        picture, mask = food(camera, Portion(name, "bite-sized", heat), container="plate")
        colours.append(picture[mask].mean(axis=0))
    raw, fried = colours
    assert fried.sum() < raw.sum() - 20
    assert fried[0] / fried.sum() > raw[0] / raw.sum() - 0.01


def test_every_heat_and_mark_shows():
    camera = Camera(Look.from_seed(5))
    plain = camera.shoot(Scene("plate", (Portion(CUCUMBER, "sliced"),)), 1)
    for heat in HEATS[1:]:
        assert distance(plain, camera.shoot(Scene("plate", (Portion(CUCUMBER, "sliced", heat),)), 1)) > 0.3, heat
    whole = camera.shoot(Scene("plate", (Portion(CARROT),)), 1)
    for mark in MARKS:
        marked = Portion(CARROT, marks=frozenset({mark}))
        assert distance(whole, camera.shoot(Scene("plate", (marked,)), 1)) > 0.05, mark


def test_mixed_differs_from_layered_and_shows_every_member():
    camera = Camera(Look.from_seed(6))
    members = {CARROT: "diced", CORN: "whole", RED_CABBAGE: "julienned", CUCUMBER: "rounds"}
    portions = tuple(Portion(name, form) for name, form in members.items())
    layered, mixed = (camera.shoot(Scene("bowl", portions, flag), 1) for flag in (0, len(portions)))
    assert distance(layered, mixed) > 5
    for left_out in range(len(portions)):
        rest = tuple(p for number, p in enumerate(portions) if number != left_out)
        assert distance(mixed, camera.shoot(Scene("bowl", rest, len(rest)), 1)) > 2
    colours = pixels(mixed).reshape(-1, 3)
    for name in members:
        own, _ = food(camera, Portion(name, members[name]), container="bowl")
        mask = np.abs(own - pixels(camera.shoot(Scene("bowl"), 1))).max(axis=2) > 60
        assert (np.abs(colours - np.median(own[mask], axis=0)).max(axis=1) < 26).sum() > 60, name


def test_dressing_colours_the_mixture():
    camera = Camera(Look.from_seed(7))
    base = (Portion(POTATO, "diced"), Portion(CORN))
    plain, mask = food(camera, *base, container="bowl", mixed=len(base))
    dressed, _ = food(camera, *base, Portion(SOY_SAUCE), container="bowl", mixed=len(base) + 1)
    assert dressed[mask].mean() < plain[mask].mean() - 10


def test_film_starts_at_before_and_ends_at_after():
    camera = Camera(Look.from_seed(9))
    before, after = on_board(camera, Portion(CARROT)), on_board(camera, Portion(CARROT, "diced"))
    for tool in ("knife", "spoon", "chopsticks", None):
        upper = (0, 0, 320, 90)
        for progress, still in ((0.01, before), (0.99, after)):
            frame = camera.between(before, after, progress, 1, tool)
            assert np.median(np.abs(pixels(frame) - pixels(still))) <= 1
            assert distance(frame.crop(upper), still.crop(upper)) < distance(before, after) + 6
        assert distance(camera.between(before, after, 0.5, 1, tool), before) > 2
    with pytest.raises(ValueError, match="whisk"):
        camera.between(before, after, 0.5, 1, "whisk")


def test_hand_and_caption_are_laid_over_a_copy():
    camera = Camera(Look.from_seed(10))
    still = on_board(camera, Portion(SHRIMP))
    kept = still.tobytes()
    assert distance(camera.annotate(still, 1), still) == 0
    assert distance(camera.annotate(still, 1, hand=True), still) > 0.8
    captioned = camera.annotate(
        still, 1, caption="Mix everything well, then season to taste with soy sauce and pepper"
    )
    changed = np.abs(pixels(captioned) - pixels(still)).max(axis=(1, 2)) > 20
    assert 15 < changed.sum() < 40
    assert still.tobytes() == kept


def test_places_differ_more_than_takes():
    scene = Scene("bowl", (Portion(TOMATO, "wedges"), Portion(CUCUMBER, "rounds")), True)
    takes = [[Camera(Look.from_seed(look)).shoot(scene, seed) for seed in (1, 2)] for look in range(2 * PLACES)]
    within = [distance(*pair) for pair in takes]
    across = [
        distance(takes[one][0], takes[other][1])
        for one in range(len(takes))
        for other in range(one + 1, len(takes))
        if (other - one) % PLACES
    ]
    assert max(within) < min(across)


def test_recipes_of_one_place_differ_a_little():
    scene = Scene("bowl", (Portion(TOMATO, "wedges"),), True)
    one, other = (Camera(Look.from_seed(look)).shoot(scene, 1) for look in (0, PLACES))
    assert distance(one, other) > 1
    assert Look.from_seed(5) == Look.from_seed(5) != Look.from_seed(5 + PLACES)


def test_what_waits_is_visible_at_the_edge():
    camera = Camera(Look.from_seed(11))
    alone = pixels(camera.shoot(Scene("bowl", (Portion(CORN),)), 1))
    waiting = pixels(camera.shoot(Scene("bowl", (Portion(CORN),), aside=(Portion(TOMATO),)), 1))
    changed = np.abs(alone - waiting).max(axis=2) > 30
    assert changed[:110].sum() > 500
    assert changed[200:].sum() < 2000


def test_seeds_derive_from_every_part():
    assert len({derive("a", 1), derive("a", 2), derive("b", 1), derive("a", 12)}) == 4
