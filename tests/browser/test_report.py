"""The report of a real experiment in a real browser, opened as the file that it is."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from recipeflow.experiment.report.page import write_report
from tests.experiment.reporting import EVIL, change_columns, make_experiment
from tests.search.searching import own_cache  # noqa: F401  (autouse)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    return make_experiment(tmp_path_factory.mktemp("report"), rows=("random", "both"))


@pytest.fixture(scope="module")
def address(reported) -> str:
    return (reported.folder / "report.html").as_uri()


def undrawn(page) -> list[str]:
    return page.evaluate("[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.alt)")


def test_the_page_shows_its_plots_pictures_and_styles(page, address):
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_contain_text("report of an experiment")
    assert undrawn(page) == []
    assert page.evaluate("document.images.length") > 20
    expect(page.get_by_role("row", name="verb + object + image").first).to_contain_text("37.01")
    assert page.evaluate("getComputedStyle(document.body).maxWidth") == "1080px"  # the policy lets its own style in
    drawn = page.locator("#map svg image")
    assert drawn.count() > 5 and drawn.first.bounding_box()["width"] > 20
    page.get_by_role("link", name="Map").click()
    expect(page.locator("#map")).to_be_in_viewport()


def test_a_table_opens_by_keyboard(page, address):
    page.goto(address)
    summary = page.locator("#verb summary")
    expect(page.locator("#verb table")).to_be_hidden()
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#verb table")).to_be_visible()
    expect(page.locator("#verb table")).to_contain_text("n = ")


def test_script_in_words_does_not_run(page, reported, tmp_path):
    evil = change_columns(reported.dataset, tmp_path / "vrf", "image_pairs", action=EVIL, object=EVIL)
    change_columns(evil, evil, "recipes", title=EVIL)
    page.goto(write_report(reported.folder, evil, tmp_path / "evil.html").as_uri())
    expect(page.locator("#queries")).to_contain_text("<script>document.title")
    assert page.title() == "Report of an experiment: Visual Recipe Flow"
    assert page.evaluate("document.scripts.length") == 0


def test_the_policy_would_stop_a_script_all_the_same(page, reported, tmp_path, expected_complaints):
    expected_complaints.append("Content Security Policy")
    html = (reported.folder / "report.html").read_text(encoding="utf-8")
    forged = tmp_path / "forged.html"
    forged.write_text(html.replace("<main>", f"<main>{EVIL}"), encoding="utf-8")
    page.goto(forged.as_uri())
    assert page.title() == "Report of an experiment: Visual Recipe Flow"


def test_axe_finds_nothing_serious(page, address):
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    found = [rule for rule in Axe().run(page).response["violations"] if rule["impact"] in ("serious", "critical")]
    assert not found, [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found]


def test_it_fits_a_narrow_screen_and_prints(page, address):
    page.set_viewport_size({"width": 380, "height": 700})
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    assert page.pdf()[:4] == b"%PDF"
