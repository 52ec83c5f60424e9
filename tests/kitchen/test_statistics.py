"""The kitchen is calibrated to the official release; these are the limits that it promises to keep."""

from collections import Counter

import pytest

from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import read_release
from recipeflow.release.recipe import Recipe

RECIPES = 200


@pytest.fixture(scope="module", params=[0, 1, 20220901])
def kitchen(request) -> list[Recipe]:
    return [devise_recipe(request.param, index).recipe for index in range(RECIPES)]


@pytest.fixture(scope="module")
def release(official) -> list[Recipe]:
    return list(read_release(official))


def mean(values) -> float:
    values = list(values)
    return sum(values) / len(values)


def tag_shares(recipes: list[Recipe]) -> dict[str, float]:
    counts = Counter(entity.tag for recipe in recipes for entity in recipe.entities.values())
    return {tag: count / counts.total() for tag, count in counts.items()}


def label_shares(recipes: list[Recipe]) -> dict[str, float]:
    counts = Counter(flow.label for recipe in recipes for flow in recipe.flows)
    return {label: count / counts.total() for label, count in counts.items()}


def visible_shares(recipes: list[Recipe]) -> dict[tuple[bool, bool], float]:
    changes = [change for recipe in recipes for change in recipe.state_changes]
    counts = Counter((change.before is not None, change.after is not None) for change in changes)
    return {seen: 100 * count / counts.total() for seen, count in counts.items()}


def test_sizes(kitchen):
    assert mean(len(recipe.ingredients) for recipe in kitchen) == pytest.approx(8.5, abs=0.7)
    assert mean(len(recipe.instructions) for recipe in kitchen) == pytest.approx(5.3, abs=0.5)
    assert mean(len(recipe.state_changes) for recipe in kitchen) == pytest.approx(18.5, abs=2.5)


def test_shares_of_tags_and_labels(kitchen, release):
    tags, official_tags = tag_shares(kitchen), tag_shares(release)
    for tag in ("F", "Ac", "Q", "Sf", "T"):
        assert tags[tag] == pytest.approx(official_tags[tag], rel=0.25), tag
    labels, official_labels = label_shares(kitchen), label_shares(release)
    for label in ("Targ", "Dest", "F-eq", "F-set", "other-mod"):
        assert labels[label] == pytest.approx(official_labels[label], rel=0.25), label
    assert labels.keys() >= {"Agent", "T-comp", "V-tm", "F-part-of"}


def test_missing_images(kitchen, release):
    shares, official_shares = visible_shares(kitchen), visible_shares(release)
    for seen in ((True, True), (True, False), (False, True), (False, False)):
        assert shares[seen] == pytest.approx(official_shares[seen], abs=3), seen


def test_unique_images_per_use(kitchen):
    uses = sum((c.before is not None) + (c.after is not None) for recipe in kitchen for c in recipe.state_changes)
    unique = sum(len(recipe.used_frames) for recipe in kitchen)
    assert 0.60 <= unique / uses <= 0.75


def test_variety(kitchen):
    actions = {action.text for recipe in kitchen for action in recipe.actions}
    foods = {entity.text for recipe in kitchen for entity in recipe.entities.values() if entity.tag == "F"}
    assert len(actions) >= 30
    assert len(foods) >= 60
