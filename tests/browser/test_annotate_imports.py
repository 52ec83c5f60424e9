"""A recipe that was imported is renamed, replaced and deleted in the list, and every one of these is undone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.annotate.serving import LocalServer, local_server
from tests.making import SALAD, TEA


@pytest.fixture
def server(tmp_path) -> Iterator[LocalServer]:
    with local_server(tmp_path, "alice", recipes=[SALAD, TEA]) as server:
        yield server


def open_menu(page: Page, server: LocalServer, title: str, edit: str):
    page.goto(f"{server.url}/?layer=alice")
    page.get_by_label(f"More for {title}").click()
    page.locator(f'.recipe-menu[open] [data-edit="{edit}"]').click()
    return page.get_by_role("dialog")


def undo(page: Page) -> None:
    page.locator('[data-tool="undo edit"]').click()
    expect(page.locator('[data-tool="undo edit"]')).to_have_count(0)


def test_rename_replace_delete_and_back(page: Page, server: LocalServer, expected_complaints: list[str]):
    expected_complaints.append("422 \\(Unprocessable")
    assert server.save(TEA.id, {"op": "retag", "entity": "0-0-0", "tag": "T"})[0] == 200
    annotated = server.document(TEA.id)

    dialog = open_menu(page, server, TEA.title, "rename")
    dialog.get_by_label("Id of the recipe").fill(SALAD.id)
    dialog.get_by_role("button", name="Rename…").click()
    expect(dialog.locator(".problem")).to_contain_text("cannot be used, or is taken")
    dialog.get_by_label("Id of the recipe").fill("barley")
    dialog.get_by_label("Title").fill("冷たい麦茶")
    dialog.get_by_role("button", name="Rename…").click()
    expect(page.locator(".recipes")).to_contain_text("冷たい麦茶")
    renamed = server.document("barley")
    assert renamed["entities"] == annotated["entities"] and renamed["frames"]["count"] == annotated["frames"]["count"]
    undo(page)
    expect(page.locator(".recipes")).not_to_contain_text("冷たい麦茶")
    assert server.document(TEA.id)["entities"] == annotated["entities"]

    dialog = open_menu(page, server, TEA.title, "replace")
    expect(dialog.get_by_label("Instructions")).to_have_value("１．麦茶を冷やし、注ぎます。")
    dialog.get_by_label("Instructions").fill("１．麦茶を注ぐ。")
    dialog.get_by_role("button", name="Replace the text…").click()
    expect(page.locator('[data-tool="undo edit"]')).to_be_visible()
    replaced = server.document(TEA.id)
    assert replaced["entities"] == [] and replaced["revision"] == 0 and replaced["frames"] is not None
    undo(page)
    assert server.document(TEA.id)["entities"] == annotated["entities"]

    dialog = open_menu(page, server, TEA.title, "delete")
    dialog.get_by_role("button", name="Delete…").click()
    expect(page.locator(".recipes tbody tr")).to_have_count(1)
    undo(page)
    expect(page.locator(".recipes tbody tr")).to_have_count(2)
    assert server.document(TEA.id)["entities"] == annotated["entities"]
