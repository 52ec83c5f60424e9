"""Types the study of docs/annotate.md with two annotators, and annotates as alice, bob and the curator in between."""

import json
import re
import uuid
from contextlib import chdir
from pathlib import Path

from typer.testing import CliRunner

from recipeflow.cli import app
from recipeflow.release import read_release
from recipeflow.release.recipe import Recipe
from tests.annotate.serving import document_path
from tests.annotate.test_people import ALICE, BOB, BOSS, As, PersonalServer
from tests.docs.documents import ROOT, find_blocks, split_command, vrf_arguments

PAGE = ROOT / "docs" / "annotate.md"
LINES = 2
"""Of the instructions that both annotate; the rest would only take longer."""


def study_commands() -> list[list[str]]:
    """The arguments of every command in the section."""
    text = PAGE.read_text(encoding="utf-8")
    start = text.count("\n", 0, text.index("## A study with two annotators"))
    end = text.count("\n", 0, text.index("## In and out"))
    blocks = [block for block in find_blocks(PAGE) if start < block.line < end]
    return [vrf_arguments(words) for block in blocks for line in block.commands for words in split_command(line)]


def run(folder: Path, arguments: list[str]) -> str:
    if arguments[0] == "kitchen":
        arguments = [*arguments, "--used-only", "--recipes", "1"]  # one is enough to annotate here
    with chdir(folder):
        ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, f"vrf {' '.join(arguments)}: {ran.output} {ran.exception}"
    return ran.stdout


def serve(folder: Path, arguments: list[str]) -> PersonalServer:
    options = [word for word in arguments[2:] if word != "--no-browser"]
    at = options.index("--db")
    db = folder / options[at + 1]
    return PersonalServer(folder / arguments[1], db, *options[:at], *options[at + 2 :])


def annotate(person: As, recipe: Recipe, layer: str) -> None:
    """Tag as the release does, with its flows and frames; bob takes one tag for another, and sees one frame less."""
    is_bob = layer == BOB.name
    entities = [entity for entity in recipe.entities.values() if entity.section == 0 or entity.line < LINES]
    known = {entity.id for entity in entities}
    revision = 0

    def save(operation: dict) -> dict:
        nonlocal revision
        body = {"uuid": str(uuid.uuid4()), "base": revision, "operation": operation}
        status, answer = person.post(f"{document_path(recipe.id, layer)}/operations", body)
        assert status == 200, answer
        revision = answer["revision"]
        return answer["document"]

    for number, entity in enumerate(entities):
        place = {"section": entity.section, "line": entity.line, "start": entity.start_word, "end": entity.end_word}
        save({"op": "tag", **place, "tag": "T" if is_bob and number == 0 else entity.tag})
    for flow in recipe.flows:
        if {flow.start, flow.end} <= known:
            document = save({"op": "flow", "start": flow.start, "end": flow.end, "label": flow.label})
    numbers = person.get(document_path(recipe.id, layer))["frames"]["numbers"]
    for pair in document["objects"][is_bob:]:
        save({"op": "frame", "key": pair["key"], "side": "after", "value": numbers[0]})


def take_gold(boss: As, recipe: Recipe) -> None:
    """Take alice's side of everything, as the page does."""
    assert boss.post("/api/layers", {"name": "gold"})[0] in (200, 201)
    found = boss.get(f"/api/differences/{recipe.id}?first=alice&second=bob")
    assert found["first"] == "alice" and found["gold"]["revision"] == 0
    annotate(boss, recipe, "gold")


def test_the_study_from_import_to_table_2(tmp_path):
    printed = {}
    for arguments in study_commands():
        if arguments[0] == "annotate":
            (recipe,) = read_release(tmp_path / "films")
            with serve(tmp_path, arguments) as server:
                people = {person: As(server.url, server.token(person)) for person in (ALICE, BOB, BOSS)}
                for person in (ALICE, BOB):
                    annotate(people[person], recipe, person.name)
                take_gold(people[BOSS], recipe)
                assert people[ALICE].request("GET", "/api/layers/bob/recipes")[0] == 403
        else:
            printed[" ".join(arguments[:3])] = run(tmp_path, arguments)
    table = printed["agreement study.db:alice study.db:bob"]
    figures = dict(re.findall(r"^\| ([\w -]+?) \|.*?\| ([\d.]+) \|", table, re.MULTILINE))
    assert 0 < float(figures["r-NE"]) < 100, table
    same = json.loads(printed["agreement by-alice by-bob"])
    assert same
    assert (tmp_path / "gold-vrf" / "image_pairs").is_dir()
    assert len(list(read_release(tmp_path / "by-bob"))) == 1
