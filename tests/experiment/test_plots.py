import warnings

import pytest

from recipeflow.evaluation.accuracy import Share
from recipeflow.experiment.plots import (
    EDGES,
    STYLES,
    plot_learning,
    plot_rank_histograms,
    plot_recall,
    plot_shares,
    to_svg,
    trained_rows,
)

ROWS = {
    "random search": [{"ranks": [40, 3.5, 90], "history": []}, {"ranks": [1, 700, 12], "history": []}],
    "verb + object": [
        {"ranks": [1, 1, 2], "history": [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.2}]},
        {"ranks": [4, 1, 9], "history": [{"epoch": 1, "loss": 0.4}, {"epoch": 2, "loss": 0.1}]},
    ],
}


@pytest.mark.parametrize("quality", ["colour", "dashes", "marker", "hatch"])
def test_rows_differ_in_more_than_their_colour(quality):
    values = [str(getattr(style, quality)) for style in STYLES]
    assert len(set(values)) == len(STYLES)


def test_histograms_count_every_query_once():
    figure = plot_rank_histograms(ROWS)
    panels = figure.axes
    assert [panel.get_title(loc="left") for panel in panels] == [
        "random search: 6 queries",
        "verb + object: 6 queries",
    ]
    for panel in panels:
        assert len(panel.patches) == len(EDGES)
        assert sum(bar.get_height() for bar in panel.patches) == pytest.approx(100)
    assert panels[1].patches[0].get_height() == pytest.approx(50)  # three of six are first
    assert [label.get_text() for label in panels[1].get_xticklabels()][:4] == ["1", "2", "3–4", "5–8"]


def test_recall_is_the_mean_of_the_folds():
    (axes,) = plot_recall(ROWS).axes
    curve = axes.lines[1]
    assert curve.get_label() == "verb + object"
    assert curve.get_ydata()[:5] == pytest.approx([50, 66.67, 66.67, 83.33, 83.33], abs=0.01)


def test_rows_without_a_model_have_no_learning_curve():
    trained = trained_rows(ROWS)
    assert list(trained) == ["verb + object"]
    (axes,) = plot_learning(trained).axes
    assert axes.lines[0].get_ydata() == pytest.approx([0.45, 0.15])


def test_japanese_is_drawn_and_the_same_figure_has_the_same_bytes():
    shares = [Share("千切り", 3, 4), Share("茹で", 0, 9)]
    with warnings.catch_warnings(action="error"):  # a missing glyph is a warning
        drawings = [to_svg(plot_shares(shares, {"茹で": "茹で boil"}, "R@5 by verb")) for _ in range(2)]
    assert drawings[0] == drawings[1]
    assert "<image" not in drawings[0] and "<script" not in drawings[0]
