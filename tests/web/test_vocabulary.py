"""Tags and labels, with English names, stand in ``recipeflow.release.recipe`` and nowhere else; pages get them."""

from pathlib import Path

import recipeflow
from recipeflow.release.recipe import LABELS, TAGS

SCRIPTS = sorted(Path(recipeflow.__file__).parent.glob("*/static/*.js"))


def test_no_script_repeats_their_names():
    copies = [
        f"{path.name}: {name}"
        for path in SCRIPTS
        for name in (*TAGS.values(), *LABELS.values())
        if f'"{name}"' in path.read_text(encoding="utf-8")
    ]
    assert SCRIPTS and copies == []
