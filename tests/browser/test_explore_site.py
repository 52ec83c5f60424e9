"""The exported site, opened from the disk as a person would open it."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from recipeflow.explore.export import export_site
from recipeflow.explore.library import Library
from recipeflow.explore.sources import open_source
from tests.browser.exploring import check_accessible, wait_for_pictures
from tests.making import EGG, INFO, SALAD, TEA, make_recipe, make_release

GLOSSARY = {"きゅうり": "cucumber", "切り": "cut", "塩": "salt", SALAD.title: "salad of cucumber and tomato"}
EVIL = "<img src=x onerror='window.hacked=1'>"
SCRIPT = "</script><script>window.hacked=1</script>"


def hostile():
    """A recipe whose every text tries to become HTML; stand-ins hold its place, because the notation has no blanks."""
    food, word = "悪" * len(EVIL), "字" * len(SCRIPT)
    recipe = make_recipe(
        "bad\"'><b>&",
        EVIL,
        f"{food}/F:food {word}",
        f"１ ． {food}/F:food1 を __proto__/Ac:cut {word} 。",
        "food F-eq food1\nfood1 Targ cut",
        "cut 1 2",
    )
    sections = {
        name: tuple(replace(line, text=line.text.replace(food, EVIL).replace(word, SCRIPT)) for line in lines)
        for name, lines in (("ingredients", recipe.ingredients), ("instructions", recipe.instructions))
    }
    return replace(recipe, **sections)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of an exported site of four recipes, one of them hostile, one without frames."""
    folder = tmp_path_factory.mktemp("exported")
    info = replace(INFO, glossary=GLOSSARY | {EVIL: EVIL, "__proto__": EVIL})
    release = make_release(folder / "release", [SALAD, EGG, hostile(), TEA], info=info)
    (release / "recipes" / TEA.id / "frames" / "frame_2.jpg").unlink()
    export_site(Library(open_source(release)), folder / "site")
    return (folder / "site" / "index.html").as_uri()


def open_recipe(page, site, recipe, view="flows", more=""):
    page.goto("about:blank")
    page.goto(f"{site}#/recipe/{recipe.id}/{view}{more}")
    expect(page.locator(".recipe-body > *").first).to_be_visible()


def cards(page):
    return page.locator(".card")


def test_the_gallery_shows_every_recipe_with_its_picture(page, site):
    page.goto(site)
    expect(cards(page)).to_have_count(4)
    expect(page.get_by_role("status")).to_have_text("4 recipes")
    expect(cards(page).first).to_contain_text("salad of cucumber and tomato")
    wait_for_pictures(page, ".card img", 4)


def test_search_and_filters_narrow_the_gallery_and_stay_in_the_address(page, site):
    page.goto(site)
    expect(cards(page)).to_have_count(4)
    page.get_by_label("Search").fill("CUCUMBER cut")
    expect(cards(page)).to_have_count(1)
    page.get_by_label("Search").fill("")
    page.get_by_label("Flow label").select_option("F-part-of")
    expect(cards(page)).to_have_count(1)
    expect(cards(page).first).to_contain_text(EGG.title)
    page.get_by_role("button", name="Remove the filter Flow label").click()
    expect(cards(page)).to_have_count(4)
    page.get_by_label("Action", exact=True).select_option("切り")
    page.get_by_label("Ingredient").select_option("塩")
    expect(cards(page)).to_have_count(1)
    options = ["Any ingredient", "きゅうり cucumber (1)", "ミニトマト (1)"]
    expect(page.get_by_label("Ingredient").locator("option")).to_have_text(options)
    page.reload()
    expect(cards(page)).to_have_count(1)
    page.get_by_label("Search").fill("nothing like it")
    expect(page.get_by_text("No recipe fits")).to_be_visible()


def test_the_way_back_leads_to_what_was_found(page, site):
    page.goto(site)
    page.get_by_label("Search").fill(EGG.title)
    expect(cards(page)).to_have_count(1)
    cards(page).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(EGG.title)
    page.go_back()
    expect(cards(page)).to_have_count(1)
    expect(page.get_by_label("Search")).to_have_value(EGG.title)


def test_a_recipe_has_words_entities_arcs_and_pairs(page, site):
    open_recipe(page, site, SALAD)
    expect(page.get_by_role("heading", level=1)).to_contain_text("きゅうりとトマトのサラダ")
    expect(page.locator(".recipe-text .entity")).to_have_count(len(SALAD.entities))
    expect(page.locator(".arc")).to_have_count(len(SALAD.flows))
    expect(page.locator(".pair")).to_have_count(len(SALAD.state_changes))
    expect(page.locator('.entity[data-entity="1-0-2"]')).to_have_attribute("data-english", "cucumber")
    # One object has no image before, one none after, and one none at all: each is reported, none is faked.
    expect(page.locator(".pair-list .missing")).to_have_count(4)
    expect(page.get_by_role("img", name="salt 塩 before: 入れ: no image was annotated")).to_be_visible()
    wait_for_pictures(page, ".pair img", 10)


def test_a_frame_that_is_gone_is_reported_by_its_number(page, site):
    open_recipe(page, site, TEA)
    missing = page.get_by_role("img", name="frame 2 is annotated, but not in this release")
    expect(missing.first).to_have_text("frame 2")


def lit(page, role):
    return sorted(page.locator(f".recipe-text .{role}").evaluate_all("spans => spans.map((s) => s.dataset.entity)"))


def test_pointing_at_an_action_lights_its_objects_through_the_graph(page, site):
    open_recipe(page, site, SALAD)
    page.locator('.entity[data-entity="1-2-8"]').hover()
    assert lit(page, "lit-action") == ["1-2-8"]
    assert lit(page, "lit-object") == ["1-0-2", "1-1-2", "1-2-6"], "through the set and the action of slicing"
    assert lit(page, "lit-through") == ["1-0-5", "1-2-4"]
    assert lit(page, "lit-origin") == ["0-0-0", "0-1-3", "0-2-0"]
    flows = page.locator(".arc.meant").evaluate_all("arcs => arcs.map((arc) => arc.dataset.flow)")
    assert "1-0-5>1-2-4:F-set" in flows
    assert "1-2-2>1-2-8:Dest" in flows
    assert "0-0-0>1-0-2:F-eq" not in flows
    expect(page.locator(".arc-name").first).to_be_attached()
    expect(page.locator('.pair-group[data-action="1-2-8"]')).to_have_class("pair-group lit")
    expect(page.locator(".lit-note")).to_contain_text("入れ is done to きゅうり cucumber, ミニトマト, 塩 salt.")
    page.mouse.move(1, 1)
    expect(page.locator(".recipe-text.lit")).to_have_count(0)


def test_pointing_at_a_pair_lights_its_action(page, site):
    open_recipe(page, site, SALAD)
    page.locator('.pair-group[data-action="1-0-5"] .pair').hover()
    assert lit(page, "lit-action") == ["1-0-5"]
    assert lit(page, "lit-object") == ["1-0-2"]


def test_an_action_is_reached_and_kept_with_the_keyboard(page, site):
    open_recipe(page, site, SALAD)
    page.get_by_label("English").focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.entity ?? ''"):
            break
    assert page.evaluate("document.activeElement.dataset.entity") == "1-0-5"
    assert lit(page, "lit-object") == ["1-0-2"]
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="cut 切り, action").first).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#announcer")).to_contain_text("切り cut is done to きゅうり cucumber")
    page.keyboard.press("Tab")
    assert lit(page, "lit-action") == ["1-1-7"], "while another has the keyboard"
    page.keyboard.press("Escape")
    expect(page.locator('[aria-pressed="true"].entity')).to_have_count(0)


def test_labels_of_flows_can_be_left_out(page, site):
    open_recipe(page, site, SALAD)
    page.get_by_role("button", name="Targ").click()
    expect(page.locator(".arc.label-Targ:not(.left-out)")).to_have_count(0)
    expect(page.locator(".arc.label-F-eq:not(.left-out)")).to_have_count(3)


def test_the_trail_follows_an_ingredient_picture_by_picture(page, site):
    open_recipe(page, site, SALAD, "trail", "/0-0-0")
    expect(page.locator(".trail-panel h2")).to_have_text("きゅうり cucumber")
    moments = page.locator(".trail > li")
    frames = moments.locator("img").evaluate_all("images => images.map((image) => image.src.split('/').pop())")
    assert frames == ["1.jpg", "3.jpg", "7.jpg"], "a picture that two steps share stands once"
    expect(page.locator(".moment-action .name-text").first).to_have_text("切り")
    expect(page.locator(".moment-picture figcaption").first).to_have_text("frame 1 · raw")
    expect(page.locator(".moment-picture.unseen")).to_have_count(1)
    page.get_by_role("navigation", name="Ingredients").get_by_role("link", name="塩 salt").click()
    expect(page.locator(".trail-panel h2")).to_have_text("塩 salt")
    expect(page.locator(".moment-action")).to_have_count(2)


def test_the_graph_is_walked_with_the_keyboard(page, site):
    open_recipe(page, site, SALAD, "graph")
    expect(page.locator(".box")).to_have_count(len(SALAD.entities) - 2)
    page.locator('.box[tabindex="0"]').focus()
    assert page.evaluate("document.activeElement.dataset.node") == "0-0-0"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.node") == "1-0-5"
    assert page.locator(".box.lit-object").evaluate_all("boxes => boxes.map((box) => box.dataset.node)") == ["1-0-2"]
    page.keyboard.press("Enter")
    expect(page.locator(".box.lit-near")).to_have_count(6)
    way = set(page.locator(".box.lit-near").evaluate_all("boxes => boxes.map((box) => box.dataset.node)"))
    assert way == {"0-0-0", "1-0-2", "1-0-5", "1-2-4", "1-2-8", "1-2-10"}
    page.keyboard.press("Escape")
    expect(page.locator(".box.lit-near.lit-self")).to_have_count(0)
    page.get_by_label("Quantities and manners inside boxes").uncheck()
    expect(page.locator(".box")).to_have_count(len(SALAD.entities))


def scale_of(page):
    return page.locator(".graph > g").evaluate("group => group.getCTM().a")


def test_the_graph_is_zoomed_and_moved(page, site):
    open_recipe(page, site, SALAD, "graph")
    before = scale_of(page)
    page.get_by_role("button", name="Larger").click()
    assert scale_of(page) > before * 1.2
    box = page.locator(".graph").bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 200)
    start = page.locator(".graph > g").evaluate("group => group.getCTM().e")
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 220, steps=4)
    page.mouse.up()
    assert page.locator(".graph > g").evaluate("group => group.getCTM().e") == pytest.approx(start + 60, abs=12)
    page.get_by_role("button", name="Show everything").click()
    assert scale_of(page) == pytest.approx(before)


def test_the_program_is_there_in_both_languages(page, site):
    open_recipe(page, site, SALAD, "program")
    expect(page.locator(".program")).to_contain_text("x1 = cut(cucumber(is=i1), how=薄く)")
    page.get_by_label("English words").uncheck()
    expect(page.locator(".program")).to_contain_text("x1 = 切り(きゅうり(is=i1), how=薄く)")


def test_script_in_a_recipe_does_not_run(page, site):
    for view in ("flows", "trail", "graph", "program"):
        page.goto("about:blank")
        page.goto(site)
        cards(page).nth(2).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x onerror")
        page.get_by_role("navigation", name="Ways to look").get_by_role("link").nth(
            ["flows", "trail", "graph", "program"].index(view)
        ).click()
        expect(page.locator(f".view-{view}")).to_contain_text("onerror")
        assert page.locator('img[src="x"], script:not([src])').count() == 0
        assert page.evaluate("window.hacked ?? null") is None


def test_addresses_of_nothing_say_so(page, site):
    page.goto(f"{site}#/recipe/none-such")
    expect(page.get_by_text("There is no recipe none-such here.")).to_be_visible()
    page.goto("about:blank")
    page.goto(f"{site}#/recipe/%E0%A4%A/flows")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")


def test_an_index_that_is_gone_is_reported(page, site, expected_complaints):
    expected_complaints.append("ERR_FAILED")
    page.route("**/data/index/0.js", lambda route: route.abort())
    page.goto(site)
    expect(page.get_by_text("The index could not be loaded to its end")).to_be_visible()


@pytest.mark.parametrize("view", ["", "flows", "trail", "graph", "program"])
def test_axe_finds_nothing_serious(page, site, view):
    if view:
        open_recipe(page, site, SALAD, view)
    else:
        page.goto(site)
        expect(cards(page)).to_have_count(4)
    check_accessible(page)


def test_the_keyboard_skips_to_the_content(page, site):
    page.goto(site)
    expect(cards(page)).to_have_count(4)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Search")).to_be_focused()
