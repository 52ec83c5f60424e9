"""A wrong argument is refused at once: before torch is imported, which alone takes seconds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = """
import contextlib, io, json, sys
import recipeflow.cli

answers = {}
for name, arguments in json.load(sys.stdin).items():
    sys.argv = ["vrf", *arguments]
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            recipeflow.cli.main()
        except SystemExit as stop:
            code = stop.code
    answers[name] = {"code": code, "errors": errors.getvalue(), "torch": "torch" in sys.modules}
json.dump(answers, sys.stdout)
"""

DATASET, MODEL, RELEASE, TEXT = "vrf", "model", "release", "picture.png"
QUERY = ("search", "--action", "切る", "--model", MODEL)

WRONG = {
    "no dataset": (("train", "nowhere"), "found no readable image_pairs"),
    "a release": (("train", RELEASE), "`vrf build release --out vrf` makes a dataset of it"),
    "preset": (("train", DATASET, "--preset", "slow"), "paper, fast, best, found 'slow'"),
    "inputs": (("train", DATASET, "--inputs", "verb+object"), "verb"),
    "train fold": (("train", DATASET, "--fold", "10"), "expected a fold from 0 to 9, found 10"),
    "train out": (("train", DATASET, "--out", f"{TEXT}/run"), "Not a directory"),
    "views": (("features", DATASET, "--views", "3"), "expected 1, 2 or 4 views, found 3"),
    "features": (("features", "nowhere"), "found no readable image_pairs"),
    "rows": (("experiment", DATASET, "--rows", "text,smell"), "found smell"),
    "folds": (("experiment", DATASET, "--folds", "0,12"), "expected a fold from 0 to 9, found 12"),
    "experiment": (("experiment", "nowhere"), "found no readable image_pairs"),
    "experiment out": (("experiment", DATASET, "--out", f"{TEXT}/x"), "Not a directory"),
    "default model": (("evaluate", DATASET), "found nothing at run/model; train one with `vrf train"),
    "evaluate fold": (("evaluate", DATASET, "--model", MODEL, "--fold", "-1"), "found -1"),
    "index model": (("index", DATASET), "found nothing at run/model; train one with `vrf train"),
    "index on the Hub": (("index", DATASET, "--model", "lab/salad"), "`vrf pull model lab/salad FOLDER`"),
    "index dataset": (("index", "nowhere", "--model", MODEL), "found no readable image_pairs"),
    "right": (("calibrate", DATASET, "--model", MODEL, "--right", "1.5"), "up to 1"),
    "calibrate model": (("calibrate", DATASET, "--model", RELEASE), "found no config.json in release"),
    "plot": (("calibrate", DATASET, "--model", MODEL, "--plot", f"{TEXT}/x.png"), "Not a directory"),
    "no query": (("search", "--model", MODEL), "expected a query, found none"),
    "search model": (("search", "--action", "切る"), "found nothing at run/model; train one with `vrf train"),
    "model below a folder": (
        ("search", "--action", "切る", "--model", "release/model"),
        "found nothing at release/model",
    ),
    "no index": (QUERY, "make one with `vrf index VRF --model model`"),
    "text as image": ((*QUERY, "--image", TEXT), "expected a picture at picture.png, found something else"),
    "no image": ((*QUERY, "--image", "no.jpg"), "expected a picture at no.jpg, found no such file"),
    "context": ((*QUERY, "--context", "modifier"), "expected --context as a role and words"),
    "drawing": ((*QUERY, "--dataset", DATASET, "--picture", f"{TEXT}/x.png"), "Not a directory"),
    "search dataset": ((*QUERY, "--dataset", RELEASE), "found the release folder release"),
    "report": (("report", "nowhere"), "found no results.json in nowhere"),
    "push": (("push", "model", "nowhere", "lab/salad"), "found no config.json"),
    "push picture": (
        ("push", "model", MODEL, "lab/salad", "--picture", TEXT),
        "expected a picture (PNG) at picture.png",
    ),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What a single process, in which everything goes wrong, has to say."""
    folder = tmp_path_factory.mktemp("wrong")
    for name in ("vrf/image_pairs/train.parquet", "release/annotations.json", TEXT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("not a picture")
    (folder / MODEL).mkdir()
    for name in ("config.json", "model.safetensors", "modeling_vrf.py", "processor_config.json", "tokenizer.json"):
        (folder / MODEL / name).touch()
    before = sorted(folder.rglob("*"))
    lines = json.dumps({name: arguments for name, (arguments, _) in WRONG.items()})
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, cwd=folder, env=environment, check=True
    )
    assert sorted(folder.rglob("*")) == before
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", WRONG)
def test_it_is_refused_without_torch(answers, name):
    answer = answers[name]
    assert WRONG[name][1] in answer["errors"]
    assert answer["code"] == 1
    assert not answer["torch"]
