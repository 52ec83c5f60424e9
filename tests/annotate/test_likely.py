"""What the page proposes for flows, measured against what the paper's annotators chose: labels, and keys to press."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from recipeflow.annotate.likely import LIKELY
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import read_release
from recipeflow.release.recipe import Recipe
from tests.node import NODE

SCRIPT = Path(__file__).parent / "static" / "proposing.mjs"
KEYS = Path(__file__).parent / "static" / "counting_keys.mjs"


def count_keys(recipes: Iterable[Recipe], types: bool) -> tuple[float, float]:
    """Keys per flow with everything that the page offers, and with arrow keys alone."""
    lines = [
        json.dumps(
            {
                "entities": [
                    {"id": e.id, "tag": e.tag, "section": e.section, "line": e.line, "text": e.text}
                    for e in recipe.entities.values()
                ],
                "flows": [{"start": flow.start, "end": flow.end, "label": flow.label} for flow in recipe.flows],
                "types": types,
                "likely": LIKELY,
            }
        )
        for recipe in recipes
    ]
    done = subprocess.run([*NODE, KEYS], input="\n".join(lines), capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    flows = sum(row["flows"] for row in rows)
    return sum(row["page"] for row in rows) / flows, sum(row["arrows"] for row in rows) / flows


def test_a_flow_takes_few_keys(official):
    """11.1 keys before there was a key for the next entity without a flow."""
    kitchen = [devise_recipe(7, number).recipe for number in range(30)]
    for name, recipes, types in (("official", list(read_release(official)), False), ("kitchen", kitchen, False)):
        page, arrows = count_keys(recipes, types)
        print(f"{name}: {page:.2f} keys per flow, {arrows:.2f} with arrow keys alone")
        assert page < arrows / 2


def test_most_official_labels_are_proposed(official):
    recipes = list(read_release(official))
    lines = [
        json.dumps(
            {
                "likely": LIKELY,
                "entities": [
                    {"id": each.id, "tag": each.tag, "section": each.section, "line": each.line}
                    for each in recipe.entities.values()
                ],
                "flows": [{"start": flow.start, "end": flow.end, "label": flow.label} for flow in recipe.flows],
            }
        )
        for recipe in recipes
    ]
    done = subprocess.run([*NODE, SCRIPT], input="\n".join(lines), capture_output=True, text=True, check=True)
    proposed = [label for line in done.stdout.splitlines() for label in json.loads(line)]
    wanted = [flow.label for recipe in recipes for flow in recipe.flows]
    right = sum(a == b for a, b in zip(proposed, wanted, strict=True))
    print(f"proposed rightly: {right} of {len(wanted)} labels ({right / len(wanted):.1%})")
    assert right / len(wanted) > 0.85  # 71.7 % by the two tags alone
