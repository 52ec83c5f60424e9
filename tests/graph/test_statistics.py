import json

import pytest

from recipeflow.graph.statistics import PAPER, compute_statistics, object_kind
from recipeflow.release import read_release
from recipeflow.release.recipe import LABELS, TAGS, StateChange
from recipeflow.tables import Table, format_cell
from tests.making import EGG, RECIPES, SALAD, TEA, make_recipe

# The two columns of the table in the notes on the official release: (release, paper).
FIGURES = {
    "recipes": (200, 200),
    "recipes_with_text": (0, None),
    "recipes_with_frames": (0, None),
    "ingredients": (1701, 1701),
    "instructions": (1077, 1077),
    "words": (33389, 33400),
    "ingredients_per_recipe": (8.505, 8.51),
    "instructions_per_recipe": (5.385, 5.31),
    "objects_per_recipe": (18.525, None),
    "entities": (11686, 11686),
    "flows": (11512, 11291),
    "objects": (3705, 3705),
    "image_uses": (5632, 5659),
    "unique_images": (3808, 3824),
    "unique_actions": (None, 89),
    "unique_ingredients": (None, 275),
}
OFFICIAL_TAGS = {"F": 5098, "T": 758, "D": 129, "Q": 1778, "Ac": 2532, "Af": 353, "Sf": 971, "St": 67}
OFFICIAL_LABELS = {
    "Agent": (330, 330),
    "Targ": (2960, 2961),
    "Dest": (1026, 1025),
    "T-comp": (156, 157),
    "F-comp": (20, 20),
    "F-eq": (1601, 2397),
    "F-part-of": (551, 330),
    "F-set": (985, 987),
    "T-eq": (4, 4),
    "T-part-of": (0, 0),
    "A-eq": (1, 1),
    "V-tm": (111, 112),
    "other-mod": (3767, 2967),
}
OFFICIAL_IMAGES = {"none": (611, 597), "pre_only": (72, 72), "post_only": (484, 485), "both": (2538, 2551)}


def columns(rows):
    return {key: (row["release"], row["paper"]) for key, row in rows.items()}


def test_every_figure_of_the_official_release(official):
    rows = json.loads(json.dumps(compute_statistics(read_release(official)).beside_paper()))
    assert columns(rows["figures"]) == FIGURES
    assert columns(rows["tags"]) == {tag: (count, count) for tag, count in OFFICIAL_TAGS.items()}
    assert columns(rows["labels"]) == OFFICIAL_LABELS
    assert columns(rows["images"]) == OFFICIAL_IMAGES
    assert rows.keys() == {"figures", "tags", "labels", "images"}


def test_the_papers_tables_add_up_to_its_text():
    assert sum(PAPER["tags"].values()) == PAPER["figures"]["entities"]
    assert sum(PAPER["labels"].values()) == PAPER["figures"]["flows"]
    assert sum(PAPER["images"].values()) == PAPER["figures"]["objects"]
    images = PAPER["images"]
    assert 2 * images["both"] + images["pre_only"] + images["post_only"] == PAPER["figures"]["image_uses"]
    assert list(PAPER["tags"]) == list(TAGS)
    assert list(PAPER["labels"]) == list(LABELS)


def test_a_small_release_counted_by_hand():
    statistics = compute_statistics(iter(RECIPES))
    assert statistics.figures() == {
        "recipes": 3,
        "recipes_with_text": 3,
        "recipes_with_frames": 0,
        "ingredients": 3 + 2 + 1,
        "instructions": 3 + 3 + 1,
        "words": (3 + 7 + 2 + 8 + 10 + 13) + (3 + 2 + 7 + 9 + 7) + (3 + 9),
        "ingredients_per_recipe": 2,
        "instructions_per_recipe": 7 / 3,
        "objects_per_recipe": 4,
        "entities": 17 + 11 + 5,
        "flows": 13 + 8 + 3,
        "objects": 7 + 3 + 2,
        "image_uses": 10 + 4 + 3,
        "unique_images": 4 + 3 + 3,
        "unique_actions": 3 + 3 + 2,
        "unique_ingredients": 3 + 2 + 1,
    }
    assert statistics.tags == {"F": 14, "T": 1, "D": 1, "Q": 6, "Ac": 9, "Af": 0, "Sf": 2, "St": 0}
    assert statistics.images == {"none": 2, "pre_only": 2, "post_only": 1, "both": 7}


def test_frames_of_two_recipes_are_two_images():
    assert SALAD.used_frames[0] == TEA.used_frames[0] == 1
    assert compute_statistics([SALAD, TEA]).unique_images == len(SALAD.used_frames) + len(TEA.used_frames)


def test_headings_are_no_ingredients():
    recipe = make_recipe(
        "a",
        "a",
        """
        （ Ａ/F ） 酢/F １/Q
        （ Ａ/F ） 油/F １/Q
        （ Ａ/F ） （ ソース/F ） 塩/F １/Q
        トマト/F （ 缶詰/F ） １/Q
        ( 飾り/F ) 酢/F １/Q
        適量/Q
        """,
        "終わり",
    )
    assert compute_statistics([recipe]).unique_ingredients == len({"酢", "油", "塩", "トマト"})


def test_what_needs_text_is_null_unless_all_recipes_have_it(tmp_path, release):
    (release / "recipes" / EGG.id).rename(tmp_path / "away")
    statistics = compute_statistics(read_release(release))
    assert (statistics.recipes_with_text, statistics.recipes_with_frames) == (2, 2)
    assert (statistics.unique_actions, statistics.unique_ingredients) == (None, None)


def test_nothing_at_all():
    statistics = compute_statistics([])
    assert statistics.recipes == statistics.objects == 0
    assert statistics.ingredients_per_recipe is None
    assert set(statistics.shares()["tags"].values()) == {0}
    json.dumps(statistics.beside_paper(), allow_nan=False)


def test_shares_add_up_to_one():
    shares = compute_statistics(RECIPES).shares()
    assert {name: pytest.approx(1) for name in shares} == {name: sum(row.values()) for name, row in shares.items()}
    assert shares["labels"]["F-set"] == 2 / 24


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [(None, None, "none"), (3, None, "pre_only"), (None, 4, "post_only"), (3, 4, "both")],
)
def test_object_kinds(before, after, kind):
    assert object_kind(StateChange("1-0-0", before, after)) == kind


def test_tables_show_both_columns_and_totals(official):
    figures, tags, labels, images = compute_statistics(read_release(official)).tables()
    assert ("Words", 33389, 33400) in figures.rows
    assert tags.rows[-1] == ("Total", "", 11686, 11686)
    assert labels.rows[-1] == ("Total", "", 11512, 11291)
    assert images.rows[-1] == ("Total", "", 3705, 3705)
    assert ("F-eq", "Food equality", 1601, 2397) in labels.rows


def test_a_table_in_markdown():
    table = Table("Foods", ("Food", "count", "mean"), [("卵|egg", 1200, 0.5), ("塩", None, None)])
    assert table.markdown() == (
        "### Foods\n\n| Food | count | mean |\n| --- | ---: | ---: |\n| 卵\\|egg | 1,200 | 0.50 |\n| 塩 | — | — |\n"
    )


def test_cells():
    assert [format_cell(cell) for cell in (None, 0, 11686, 8.505, "x")] == ["—", "0", "11,686", "8.51", "x"]
