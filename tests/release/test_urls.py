import pytest

from recipeflow.errors import UrlListError
from recipeflow.release import check_release, read_release
from tests.making import EGG, RECIPES, TEA


@pytest.mark.parametrize(
    ("change", "recipe"),
    [
        (lambda lines: lines[:-1], TEA.id),
        (lambda lines: [*lines, "kurashiru.com/recipes/unknown"], "unknown"),
        (lambda lines: [*lines, lines[1]], EGG.id),
        (lambda lines: [line.replace("ゆで卵", "egg") for line in lines], None),
    ],
    ids=["a line less", "a line more", "a line twice", "another id"],
)
def test_lists_that_do_not_fit(release, change, recipe):
    path = release / "recipe_urls.txt"
    path.write_text("\n".join(change(path.read_text(encoding="utf-8").splitlines())), encoding="utf-8")
    problems = check_release(release)
    assert {type(p) for p in problems} == {UrlListError}
    assert [p.recipe for p in problems] == ([recipe] if recipe else [EGG.id, "egg"])
    assert all(p.file == "recipe_urls.txt" for p in problems)


@pytest.mark.parametrize("url", ["http://example.org/x/{}", "https://www.example.org/{}/", "  example.org/{}\t"])
def test_addresses_of_other_shapes(release, url):
    (release / "recipe_urls.txt").write_text("\n\n".join(url.format(r.id) for r in RECIPES), encoding="utf-8")
    full = url.strip() if "://" in url else f"https://www.{url.strip()}"
    assert [recipe.url for recipe in read_release(release)] == [full.format(recipe.id) for recipe in RECIPES]
