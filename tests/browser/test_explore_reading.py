"""The explorer as different people use it: searched with other spellings, in Japanese, in the dark."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from recipeflow.explore.export import export_site
from recipeflow.explore.library import Library
from recipeflow.explore.sources import open_source
from tests.browser.exploring import check_accessible
from tests.making import SALAD, TEA, make_recipe, make_release

SLAW = make_recipe(
    "slaw",
    "コールスロー",
    "キャベツ/F:cabbage １/Q 個/Q+",
    "１ ． キャベツ/F:cabbage1 を 切/Ac:cut り 、 茹で/Ac:boil ま す 。",
    "cabbage F-eq cabbage1\ncabbage1 Targ cut\ncut Targ boil",
    "cut 1 2\nboil 2 3",
)
PAGES = Path(__file__).parents[2] / "recipeflow" / "explore" / "static"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("reading")
    release = make_release(folder / "release", [SALAD, SLAW, TEA])
    export_site(Library(open_source(release)), folder / "site")
    return (folder / "site" / "index.html").as_uri()


def test_other_spellings_are_found(page: Page, site: str):
    page.goto(site)
    expect(page.locator(".card")).to_have_count(3)
    for query in ("きゃべつ", "切る", "切って", "茹でる 切ります", "ｷｬﾍﾞﾂ"):
        page.locator("#search").fill(query)
        expect(page.locator(".card")).to_have_count(1)
        expect(page.locator(".card-title")).to_have_text("コールスロー")
    page.locator("#search").fill("焼く")
    expect(page.locator(".card")).to_have_count(0)


def test_filters_stay_when_nothing_is_found(page: Page, site: str):
    page.goto(f"{site}#/?q=nothing-like-this&verb=茹で")
    expect(page.locator(".notice")).to_contain_text("No recipe fits")
    for kind in ("ingredient", "verb", "label"):
        expect(page.locator(f"#filter-{kind}")).to_be_visible()
    page.get_by_role("button", name="Remove the filter Action: 茹で").click()
    page.locator("#search").fill("")
    expect(page.locator(".card")).to_have_count(3)


def test_in_japanese(new_context, site):
    page = new_context(locale="ja-JP").new_page()
    page.goto(site)
    expect(page.get_by_role("heading", name="レシピ")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    expect(page.locator("#filter-verb")).to_contain_text("すべての動作")
    expect(page.locator("#filter-label")).to_contain_text("Targ 対象")
    page.goto(f"{site}#/recipe/slaw/flows")
    expect(page.locator(".views")).to_contain_text("状態の移り変わり")
    expect(page.locator(".tag-key")).to_contain_text("人の動作")
    page.get_by_role("button", name="English").click()
    expect(page.locator(".views")).to_contain_text("State trail")
    page.reload()
    expect(page.locator(".views")).to_contain_text("State trail")


def test_every_sentence_is_translated():
    """What pages say, read off their own modules."""
    known = (PAGES / "japanese_text.js").read_text(encoding="utf-8")
    said = {
        sentence
        for path in PAGES.glob("*.js")
        for sentence in re.findall(
            r'\bsay\((?:[^()"]*\? )?"([^"]+)"(?: : "([^"]+)")?', path.read_text(encoding="utf-8")
        )
        for sentence in sentence
        if sentence
    }
    assert len(said) > 70
    assert not [sentence for sentence in said if f'"{sentence}":' not in known]


@pytest.mark.parametrize(
    "view", ["", "recipe/slaw/flows", "recipe/slaw/trail", "recipe/slaw/graph", "recipe/slaw/program"]
)
def test_in_the_dark_everything_can_be_read(new_context, site, view):
    page = new_context(color_scheme="dark", locale="ja-JP").new_page()
    page.goto(f"{site}#/{view}")
    expect(page.locator("main h1")).to_be_visible()
    ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", ground))) < 60
    check_accessible(page)
