"""Time per step and recipe, from the log."""

import json

import pytest
from typer.testing import CliRunner

from recipeflow.annotate.store import Layer, Store
from recipeflow.annotate.times import measure_times
from recipeflow.cli import app
from tests.making import SALAD, TEA


def at(seconds: int) -> str:
    return f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}.000Z"


def test_time_belongs_to_the_step_of_the_later_operation():
    entries = [
        ("a", {"op": "tag"}, at(0)),
        ("a", {"op": "cut"}, at(10)),
        ("a", {"op": "undo", "of": 2}, at(15)),
        ("a", {"op": "done", "step": "words", "done": True}, at(20)),
        ("a", {"op": "accept", "items": [{"key": "fg:0-0-0>1-0-0:Targ"}]}, at(50)),
        ("b", {"op": "reject", "keys": ["im:1-0-0/0-0-0:1:2"]}, at(60)),
        ("b", {"op": "frame"}, at(600)),  # after a break
        ("a", {"op": "redo", "of": 5}, at(605)),
    ]
    works = measure_times(entries)
    assert dict(works["a"].seconds) == {"words": 20, "flows": 35}
    assert dict(works["b"].seconds) == {"frames": 10}
    assert works["a"].operations == {"words": 4, "flows": 2} and works["b"].operations == {"frames": 2}
    assert measure_times(entries, pause=1000)["b"].seconds["frames"] == 550


@pytest.mark.parametrize("form", ["--json", "--markdown", None])
def test_the_command(tmp_path, form):
    db = tmp_path / "w.db"
    with Store(db) as store:
        store.add_recipes([SALAD, TEA])
        store.add_layer(Layer("alice"))
        store.save(TEA.id, Layer("alice"), 0, "a", {"op": "retag", "entity": "0-0-0", "tag": "T"})
        store.undo(TEA.id, Layer("alice"), 1, "b")
    done = CliRunner().invoke(app, ["annotate-times", str(db), "--layer", "alice", *([form] if form else [])])
    assert done.exit_code == 0, done.output
    if form == "--json":
        assert json.loads(done.stdout)[TEA.id]["words"]["operations"] == 2
    else:
        assert TEA.id in done.stdout and SALAD.id not in done.stdout
