"""The page of ``vrf score --html`` in a real browser, opened as the file that it is."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from recipeflow.dataset.build import build_dataset
from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.making import make_tasks
from recipeflow.tasks.schema import TASKS
from recipeflow.tasks.scoring.judging import judge
from tests.cli.commanding import vrf
from tests.tasks.conftest import write_kitchen
from tests.tasks.test_scoring import right_answer

SHOWN = 12
ODD = "a=b;c"
"""A model whose name has the characters that lists are written with."""


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A page about two models: one knows all answers, the other always says A and leaves questions out."""
    folder = tmp_path_factory.mktemp("scored")
    build_dataset(write_kitchen(folder / "kitchen", 40), folder / "vrf")
    make_tasks(folder / "vrf", folder / "vrf-tasks")
    tasks = TasksFolder(folder / "vrf-tasks")
    rows = {task: list(tasks.rows(task, "test")) for task in tasks.tasks("test")}
    knowing = {row["id"]: right_answer(task, row) for task in rows for row in rows[task]}
    guessing = {row["id"]: "A" for task in ("state_choice", "action_choice") for row in rows[task][::2]}
    for name, answers in (("knowing", knowing), (ODD, guessing)):
        lines = (json.dumps({"id": key, "answer": answer}) for key, answer in answers.items())
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    page = folder / "score.html"
    paths = [folder / f"{name}.jsonl" for name in ("knowing", ODD)]
    assert vrf("score", tasks.path, *paths, "--html", page, "--questions", SHOWN).code == 0
    return page, rows, {"knowing": knowing, ODD: guessing}


def cards(page):
    return page.locator("article:visible")


def shown_ids(page):
    return set(cards(page).locator("small").all_text_contents())


def expected(scored, ids, task=None, model=None, outcome=None):
    """The questions of the page that a filter should leave, found without it."""
    _, rows, answers = scored
    found = set()
    for name in [task] if task else rows:
        for row in (row for row in rows[name] if row["id"] in ids):
            for who in [model] if model else answers:
                said = answers[who].get(row["id"])
                judged = judge(TASKS[name].answered_by, row, said, row["id"] in answers[who])
                if outcome in (None, judged.outcome):
                    found.add(row["id"])
    return found


def test_filters_leave_exactly_the_questions_that_they_name(page, scored):
    page.goto(scored[0].as_uri())
    ids = shown_ids(page)
    total = len(ids)
    expect(page.get_by_role("status")).to_have_text(f"{total} of {total} questions")
    for chosen in (
        {"task": "state_choice"},
        {"task": "state_choice", "model": ODD},
        {"model": ODD, "outcome": "missing"},
        {"model": "knowing", "outcome": "right"},
        {"task": "state_choice", "model": ODD, "outcome": "other_object"},
        {"outcome": "other_object"},
    ):
        page.get_by_role("button", name="Show all").click()
        for name, value in chosen.items():
            page.locator(f"select[name={name}]").select_option(value)
        wanted = expected(scored, ids, **chosen)
        assert shown_ids(page) == wanted and wanted, chosen
        expect(page.get_by_role("status")).to_have_text(f"{len(wanted)} of {total} questions")
    page.get_by_role("button", name="Show all").click()
    assert shown_ids(page) == ids


def test_a_filter_without_questions_says_so(page, scored):
    page.goto(scored[0].as_uri())
    page.get_by_label("Model").select_option("knowing")
    page.get_by_label("Answer").select_option("missing")
    expect(page.get_by_role("status")).to_contain_text("0 of ")
    expect(page.get_by_text("No question has such an answer")).to_be_visible()


def test_filters_work_by_keyboard(page, scored):
    page.goto(scored[0].as_uri())
    page.get_by_label("Task").focus()
    page.keyboard.press("ArrowDown")
    chosen = page.get_by_label("Task").input_value()
    assert chosen and {*cards(page).locator("strong").all_text_contents()} == {chosen}
    page.keyboard.press("Tab")
    expect(page.get_by_label("Model")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Show all")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Task")).to_have_value("")


def test_pictures_are_drawn_and_answers_are_named(page, scored):
    page.goto(scored[0].as_uri())
    assert page.evaluate("[...document.images].filter(i => !i.complete || !i.naturalWidth).length") == 0
    page.get_by_label("Task").select_option("state_choice")
    first = cards(page).first
    assert first.locator("img").count() == 6
    expect(first).to_contain_text("knowing: ")
    expect(first.locator(".outcome-right").first).to_have_text("(right)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_either_scheme(new_context, scored, scheme):
    page = new_context(color_scheme=scheme).new_page()
    page.goto(scored[0].as_uri())
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 25, 29)"}[scheme]
    assert page.evaluate("getComputedStyle(document.querySelector('form')).backgroundColor") == ground
    found = [rule for rule in Axe().run(page).response["violations"] if rule["impact"] in ("serious", "critical")]
    assert not found, [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found]


def test_it_fits_a_phone(new_context, scored):
    page = new_context(viewport={"width": 390, "height": 760}).new_page()
    page.goto(scored[0].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Task").select_option("state_choice")
    cards(page).nth(3).scroll_into_view_if_needed()
    expect(page.get_by_label("Answer")).to_be_in_viewport()  # the filter stays, and leaves room for a question
    assert page.locator("form").bounding_box()["height"] < 190
