"""Title, ingredients and instructions in the text that people paste: with headings, with marks only, with neither."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaintext_rfg import read_plain_text
from recipeflow.kitchen.cooking import devise_recipe

MARKDOWN = """---
title: "Greek salad"
tags: [salad]
---
A *lovely* summer salad. ![](x.jpg)

## Ingredients (serves 4)
- 2 large [tomatoes](https://example.org/tomato)
- [ ] 1/2 cucumber
- 100 g **feta**

### For the dressing
- 3 tbsp olive oil

## Directions
1. Cut the tomatoes and the
   cucumber into pieces.
2) Mix everything.

Chill for 10 minutes.

## Notes
Keeps for a day.
"""


def test_markdown_with_groups_wrapped_steps_and_notes():
    found = read_plain_text(MARKDOWN)
    assert found.title == "Greek salad"
    assert found.ingredients == [
        "2 large tomatoes",
        "1/2 cucumber",
        "100 g feta",
        "(For the dressing) 3 tbsp olive oil",
    ]
    assert found.instructions == [
        "Cut the tomatoes and the cucumber into pieces.",
        "Mix everything.",
        "Chill for 10 minutes.",
    ]
    assert found.left_out == ["A lovely summer salad.", "Keeps for a day."]


def test_japanese_headings_and_numbers_as_the_release_has_them():
    text = """きゅうりの酢の物

【材料】(2人分)
きゅうり……1本
・わかめ 5g
☆酢 大さじ2
■作り方
①きゅうりを切る。
2、☆を混ぜ、
和える。"""
    found = read_plain_text(text)
    assert found.title == "きゅうりの酢の物"
    assert found.ingredients == ["きゅうり 1本", "わかめ 5g", "☆酢 大さじ2"]
    assert found.instructions == ["1．きゅうりを切る。", "2．☆を混ぜ、和える。"]


@pytest.mark.parametrize(
    ("text", "title", "ingredients", "instructions"),
    [
        ("Ingredients:\n2 eggs\n\nsalt\nMethod\nBoil the eggs.\n", None, ["2 eggs", "salt"], ["Boil the eggs."]),
        ("作り方\n茹でる\n材料\n卵", None, ["卵"], ["茹でる"]),
        ("Boil.\nPeel.", None, [], ["Boil.", "Peel."]),
        ("Chop onions\nFry them\nServe", None, [], ["Chop onions", "Fry them", "Serve"]),
        (" \n", None, [], []),
        (
            "Pancakes\n1 cup flour\nsalt\na pinch of sugar\nWhisk everything.\nFry",
            "Pancakes",
            ["1 cup flour", "salt", "a pinch of sugar"],
            ["Whisk everything.", "Fry"],
        ),
        ("Eggs\n\n2 eggs\nsalt\n\nBoil\nPeel", "Eggs", ["2 eggs", "salt"], ["Boil", "Peel"]),
        ("Ingredients\n- 2 eggs\n- salt\n\n1. Boil.\n2. Peel.", None, ["2 eggs", "salt"], ["Boil.", "Peel."]),
        ("Soup\n2 carrots\n\nInstructions\nStep 1: Boil.\nStep 2: Eat.", "Soup", ["2 carrots"], ["Boil.", "Eat."]),
        (
            "酢の物\nきゅうり 1本\n塩 少々\n薄く切る\n塩を振る",
            "酢の物",
            ["きゅうり 1本", "塩 少々"],
            ["薄く切る", "塩を振る"],
        ),
        ("1．切る。\n2．5分冷やす。", None, [], ["1．切る。", "2．5分冷やす。"]),
        ("Toast\n1.5 cups flour\nBake it.", "Toast", ["1.5 cups flour"], ["Bake it."]),
        ("Title: Tea\nBoil the water, then\nwait.", "Tea", [], ["Boil the water, then", "wait."]),
    ],
)
def test_headings_marks_and_looks_decide(text, title, ingredients, instructions):
    found = read_plain_text(text)
    assert (found.title, found.ingredients, found.instructions) == (title, ingredients, instructions)
    assert found.left_out == []


def test_steps_that_begin_like_a_remark_stay_and_remarks_are_listed():
    found = read_plain_text("Rice\n\nServes 4\nCook time: 20 min\n1 cup rice\n\nCook for 5 minutes.\nTotal it up.")
    assert (found.title, found.ingredients) == ("Rice", ["1 cup rice"])
    assert found.instructions == ["Cook for 5 minutes.", "Total it up."]
    assert found.left_out == ["Serves 4", "Cook time: 20 min"]


LAYOUTS = {
    "headings": lambda title, needed, steps: [title, "", "材料", *needed, "", "作り方", *steps],
    "gaps": lambda title, needed, steps: [title, "", *needed, "", *steps],
    "nothing": lambda title, needed, steps: [title, *needed, *steps],
    "no numbers": lambda title, needed, steps: [title, *needed, *(step.partition("．")[2] for step in steps)],
    "bullets": lambda title, needed, steps: [f"# {title}", *(f"- {line}" for line in needed), *steps],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_kitchens_recipes_are_read_without_a_wrong_line(layout):
    for number in range(30):
        recipe = devise_recipe(5, number).recipe
        needed, steps = ([line.text for line in lines] for lines in recipe.sections)
        found = read_plain_text("\n".join(LAYOUTS[layout](recipe.title, needed, steps)))
        kept = [step.partition("．")[2] for step in steps] if layout == "no numbers" else steps
        assert found.title == recipe.title
        assert [unicodedata.normalize("NFKC", line) for line in (*found.ingredients, *found.instructions)] == [
            unicodedata.normalize("NFKC", line) for line in (*needed, *kept)
        ]
        assert len(found.ingredients) == len(needed) and found.left_out == []


@given(st.text(max_size=400))
def test_any_text_can_be_read(text):
    found = read_plain_text(text)
    assert all(line.strip() for line in [*found.ingredients, *found.instructions, *found.left_out])


words = st.sampled_from(
    ["tomato", "salt", "2 eggs", "Cut it.", "塩 少々", "切る。", "1 cup", "Serve", "# Soup", "Notes"]
)


@given(st.lists(words, max_size=8))
def test_no_line_is_lost_or_invented(lines):
    found = read_plain_text("\n".join(lines))
    parts = [found.title or "", *found.ingredients, *found.instructions, *found.left_out]
    kept = " ".join(parts)
    assert all(line.lstrip("# ") in kept or line == "Notes" for line in lines)
