import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipeflow.errors import AgreementError, DuplicateRecipeError
from recipeflow.graph.agreement import Score, measure_agreement
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.release import read_release
from recipeflow.release.recipe import StateChange
from tests.cli.test_cli import vrf
from tests.making import EGG, RECIPES, SALAD, TEA, make_recipe, make_release

# SALAD by somebody else. r-NEs: 少々 is a state, 薄く nothing, the second ミニトマト only ミニ. Flows: nothing says
# how to slice, and 具材 are the raw cucumber and what was halved. Images: two other frames, no surplus state change.
OTHER_SALAD = make_recipe(
    SALAD.id,
    SALAD.title,
    """
    きゅうり/F:cucumber １/Q 本/Q+
    （ Ａ ） ミニ/F:tomato トマト/F+ ２/Q 個/Q+
    塩/F:salt 少々/Sf
    """,
    """
    １ ． きゅうり/F:cucumber1 は 薄く 切り/Ac:slice ます 。
    ２ ． ミニ/F:tomato1 トマト は 半分/Sf:half に 切り/Ac:halve ます 。
    ３ ． ボウル/T:bowl に 具材/F:all と 塩/F:salt1 を 入れ/Ac:put 、 混ぜ/Ac:mix ます 。
    """,
    """
    cucumber F-eq cucumber1
    cucumber1 Targ slice
    tomato F-eq tomato1
    tomato1 Targ halve
    half other-mod halve
    cucumber F-set all
    halve F-set all
    salt F-eq salt1
    all Targ put
    salt1 Targ put
    bowl Dest put
    put Targ mix
    """,
    """
    slice 1 4
    halve 3 5
    put 3 7
    put 5 7
    put - 7
    mix 7 9
    """,
)


def figures(score: Score):
    return tuple(figure if figure is None else round(figure, 2) for figure in score.row()[:3])


def test_figures_computed_by_hand():
    agreement = measure_agreement([SALAD], [OTHER_SALAD])
    assert agreement.total("r-NE") == Score(both=14, first=17, second=16)
    assert agreement.total("r-FG") == Score(both=10, first=13, second=12)
    assert agreement.total("Image") == Score(both=8, first=14, second=12)
    assert figures(agreement.total("r-NE")) == (87.50, 82.35, 84.85)
    assert figures(agreement.total("r-FG")) == (83.33, 76.92, 80.00)
    assert figures(agreement.total("Image")) == (66.67, 57.14, 61.54)


def test_tags_and_labels_by_hand():
    scores = measure_agreement([SALAD], [OTHER_SALAD]).scores
    assert {tag: score for tag, score in scores["r-NE"].items() if score.first + score.second} == {
        "F": Score(6, 7, 7),
        "T": Score(1, 1, 1),
        "Q": Score(2, 3, 2),
        "Ac": Score(4, 4, 4),
        "Sf": Score(1, 2, 2),
    }
    assert {label: score for label, score in scores["r-FG"].items() if score.first + score.second} == {
        "Targ": Score(5, 5, 5),
        "Dest": Score(1, 1, 1),
        "F-eq": Score(3, 3, 3),
        "F-set": Score(0, 2, 2),
        "other-mod": Score(1, 2, 1),
    }


def test_images_by_hand():
    # The first object of 入れ is the cucumber of the ingredient list for one and that of the text for the other: its
    # frames are equal, and are of something else.
    assert measure_agreement([SALAD], [OTHER_SALAD]).scores["Image"] == {
        "before": Score(4, 5, 5),
        "no_before": Score(1, 2, 1),
        "after": Score(3, 5, 6),
        "no_after": Score(0, 2, 0),
    }


def test_the_papers_table():
    # 623 r-NEs, 616 flows and 199 state changes, as the paper says, with two images each.
    table = [Score(616, 623, 629), Score(530, 616, 615), Score(281, 2 * 199, 2 * 187)]
    assert list(map(figures, table)) == [(97.93, 98.88, 98.40), (86.18, 86.04, 86.11), (75.13, 70.60, 72.80)]


def test_no_other_counts_of_images_give_the_papers_row():
    found = [
        (both, first, second)
        for first in range(1, 2 * 199 + 1)
        for both in (round(0.7060 * first),)
        for second in range(both, 2 * first)
        if figures(Score(both, first, second)) == (75.13, 70.60, 72.80)
    ]
    assert found == [(281, 398, 374)]


def test_surplus_state_changes_are_counted_not_collected():
    twice = replace(
        SALAD, state_changes=(*SALAD.state_changes, StateChange(SALAD.state_changes[-1].action, None, None))
    )
    assert measure_agreement([SALAD], [twice]).total("Image") == Score(14, 14, 16)
    assert measure_agreement([twice], [twice]).total("Image") == Score(16, 16, 16)


def test_nothing_to_divide_by():
    bare = make_recipe("a", "a", "塩", "終わり")
    assert figures(measure_agreement([bare], [bare]).total("r-NE")) == (None, None, None)
    tagged = make_recipe("a", "a", "塩/F", "終わり")
    assert figures(measure_agreement([tagged], [bare]).total("r-NE")) == (None, 0, 0)
    assert figures(measure_agreement([bare], [tagged]).total("r-NE")) == (0, None, 0)


def test_the_same_annotation_agrees_fully(official):
    agreement = measure_agreement(read_release(official), read_release(official))
    assert agreement.total("r-NE") == Score(11686, 11686, 11686)
    assert agreement.total("r-FG") == Score(11512, 11512, 11512)
    assert agreement.total("Image") == Score(2 * 3705, 2 * 3705, 2 * 3705)


@given(st.integers(0, 2**32), st.integers(0, 999))
@settings(max_examples=30)
def test_the_other_way_round_precision_is_recall(seed, index):
    rng = random.Random(seed)
    recipe = devise_recipe(0, index).recipe
    layers = [
        replace(
            recipe,
            flows=tuple(flow for flow in recipe.flows if rng.random() < 0.9),
            state_changes=tuple(change for change in recipe.state_changes if rng.random() < 0.9),
        )
        for _ in range(2)
    ]
    there, back = measure_agreement(layers[:1], layers[1:]), measure_agreement(layers[1:], layers[:1])
    for step in there.scores:
        one, other = there.total(step), back.total(step)
        assert (one.precision, one.recall, one.f_measure) == (other.recall, other.precision, other.f_measure)
        assert one.both <= min(one.first, one.second)


def test_recipes_of_only_one_are_named():
    agreement = measure_agreement([EGG, SALAD], [TEA, SALAD])
    assert (agreement.recipes, agreement.only_first, agreement.only_second) == ([SALAD.id], [EGG.id], [TEA.id])
    assert agreement.total("r-NE").first == 17
    assert agreement.notes() == [
        "recipes compared, with the first annotation as the truth: 1",
        f"only in the first, and not compared: {EGG.id}",
        f"only in the second, and not compared: {TEA.id}",
    ]


def test_no_recipe_in_common():
    with pytest.raises(AgreementError, match="found 1 and 2 recipes with none in common"):
        measure_agreement([EGG], [TEA, SALAD])


@pytest.mark.parametrize("words", ["終わ", "終り。", "終わり\n終わり"])
def test_another_text_is_refused(words):
    first, second = (make_recipe("a", "a", "塩/F", text) for text in ("終わり", words))
    with pytest.raises(AgreementError, match=r"recipe a, instructions: expected the same text .* annotate both from"):
        measure_agreement([first], [second])


def test_the_same_text_in_other_words_is_compared_by_characters():
    flows, changes = "salt Targ cut", "cut 1 2"
    first = make_recipe("a", "a", "塩/F", "１ 、 塩/F:salt を 切り/Ac:cut ます", flows, changes)
    second = make_recipe("a", "a", "塩/F", "１、 塩/F:salt を 切/Ac:cut り ます", flows, changes)
    agreement = measure_agreement([first], [second])
    assert [agreement.total(step) for step in ("r-NE", "r-FG", "Image")] == [
        Score(2, 3, 3),
        Score(1, 1, 1),
        Score(2, 2, 2),
    ]


def test_a_release_without_text_can_be_compared():
    bare = replace(SALAD, instructions=tuple(replace(line, text=None) for line in SALAD.instructions))
    assert measure_agreement([SALAD], [bare]).total("r-NE") == Score(17, 17, 17)


def test_a_recipe_twice_is_refused():
    with pytest.raises(DuplicateRecipeError):
        measure_agreement([SALAD], [SALAD, OTHER_SALAD])


@pytest.fixture
def two_releases(tmp_path):
    return make_release(tmp_path / "a", RECIPES), make_release(tmp_path / "b", [EGG, OTHER_SALAD], frames=False)


def test_the_command_in_json(two_releases):
    figures = json.loads(vrf("agreement", *two_releases, "--json").stdout)
    assert (figures["recipes"], figures["only_first"], figures["only_second"]) == ([SALAD.id, EGG.id], [TEA.id], [])
    assert figures["agreement"]["r-NE"] == {
        "precision": 100 * 25 / 27,
        "recall": 100 * 25 / 28,
        "f_measure": 200 * 25 / 55,
        "both": 14 + 11,
        "first": 17 + 11,
        "second": 16 + 11,
    }
    assert figures["by_kind"]["Image"]["no_after"]["recall"] == 100 * 1 / 3


def test_the_command_as_a_table_and_in_markdown(two_releases):
    table = vrf("agreement", *two_releases).stdout
    assert "│ r-NE  │     92.59 │  89.29 │     90.91 │   25 │    28 │     27 │ 98.40 │" in table
    assert f"only in the first, and not compared: {TEA.id}" in table
    markdown = vrf("agreement", *two_releases, "--markdown").stdout
    assert "| r-NE | 92.59 | 89.29 | 90.91 | 25 | 28 | 27 | 98.40 |" in markdown
    assert "| F-comp | — | — | — | 0 | 0 | 0 |" in markdown
    assert f"only in the first, and not compared: {TEA.id}" in markdown


def test_one_form_at_a_time(two_releases):
    result = vrf("agreement", *two_releases, "--json", "--markdown")
    assert (result.returncode, result.stdout) == (1, "")
    assert "UsageError" in result.stderr
