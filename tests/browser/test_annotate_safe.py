"""What recipes say stays text; the pages speak two languages and can be used without seeing or pointing."""

import re
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from recipeflow.release.recipe import LABELS, TAGS, Line, Word
from tests.annotate.serving import AnnotationServer
from tests.browser.annotating import expect_saved, open_step
from tests.making import SALAD, TEA, make_release

HOSTILE = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"
HOSTILE_ID = "x' onclick='window.hacked=1' <svg onload=window.hacked=1>"


def hostile():
    """麦茶 with script in title, id and every word."""

    def poison(line: Line) -> Line:
        size = len(HOSTILE)
        words = tuple(Word(i * size, (i + 1) * size, word.ne) for i, word in enumerate(line.words))
        return Line(words, HOSTILE * len(words))

    lines = {name: tuple(map(poison, getattr(TEA, name))) for name in ("ingredients", "instructions")}
    url = "https://www.kurashiru.com/recipes/" + HOSTILE_ID
    return replace(TEA, id=HOSTILE_ID, title=HOSTILE, url=url, **lines)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("safe")
    release = make_release(folder / "model", [SALAD, TEA, hostile()])
    options = ("--annotator", "alice", "--annotator", "bob", "--curate", "--suggest", str(release))
    with AnnotationServer(release, folder / "work.db", *options) as server:
        for layer in ("alice", "bob"):  # who has done nothing has nothing to compare
            for recipe in (SALAD.id, HOSTILE_ID):
                assert server.save(recipe, {"op": "done", "step": "words", "done": True}, layer)[0] == 200
        yield server


def addresses(recipe):
    """Every page that shows a recipe."""
    from urllib.parse import quote

    name = quote(recipe, safe="")
    steps = [f"/r/{name}/{step}?layer=alice" for step in ("words", "flows", "frames")]
    return [
        "/?layer=alice",
        *steps,
        "/agreement?first=alice&second=bob",
        f"/differences/{name}?first=alice&second=bob",
    ]


def visit(page, server, address):
    page.goto(server.url + address)
    expect(page.locator("#app main")).to_be_visible()
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("address", addresses(HOSTILE_ID))
def test_script_in_recipes_never_runs(page, server, address):
    visit(page, server, address)
    assert page.evaluate("() => window.hacked") is None
    expect(page.locator('img[src="x"]')).to_have_count(0)
    expect(page.locator("#app")).to_contain_text("onload=" if "agreement" in address else "onerror=window.hacked=1")


def test_hostile_words_are_annotated_like_any_other(page, server):
    page.goto(server.url + addresses(HOSTILE_ID)[1])
    page.locator('[data-word="0-0-0"]').click()
    page.locator('.floating [data-tag="T"]').click()
    expect_saved(page)
    page.get_by_role("button", name=re.compile("Undo")).click()
    expect_saved(page)
    assert page.evaluate("() => window.hacked") is None


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("number", range(6))
def test_no_serious_barrier(page, server, number, language):
    page.add_init_script(f"localStorage.setItem('vrf-language', '{language}')")
    visit(page, server, addresses(SALAD.id)[number])
    found = Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in {"serious", "critical"}]
    assert not serious, [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in serious]


def test_the_language_is_switched_and_remembered(page, server):
    open_step(page, server, SALAD.id, "words")
    page.get_by_role("button", name="日本語").click()
    expect(page.locator(".step-tab").first).to_contain_text("単語")
    assert page.evaluate("() => document.documentElement.lang") == "ja"
    expect(page.locator(".tag-choice").first).to_contain_text("食材")
    page.reload()
    expect(page.locator(".step-tab").first).to_contain_text("単語")
    expect(page.locator(".save-state")).to_contain_text("保存済み")


def test_a_japanese_browser_begins_in_japanese(new_context, server):
    page = new_context(locale="ja-JP").new_page()
    page.goto(server.url + "/?layer=alice")
    expect(page.locator("h1")).to_contain_text("のレシピ")


def test_every_sentence_exists_in_both_languages(page, server):
    page.goto(server.url)
    english, japanese = page.evaluate("""async () => [
        (await import("/static/english.js")).english, (await import("/static/japanese.js")).japanese]""")
    assert list(english) == list(japanese)
    names = re.compile(r"\{(\w+)\}")
    different = [key for key in english if set(names.findall(english[key])) != set(names.findall(japanese[key]))]
    assert not different


def test_every_tag_and_label_has_a_japanese_name(page, server):
    page.goto(server.url)
    names = page.evaluate("""async () => (await import("/shared/names.js")).japaneseNames""")
    assert (list(names["tags"]), list(names["labels"])) == (list(TAGS), list(LABELS))


def test_it_fits_1280_x_800(page, server):
    for address in addresses(SALAD.id):
        visit(page, server, address)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 1280
