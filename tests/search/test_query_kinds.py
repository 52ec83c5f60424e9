"""Queries asked with parts left out: the same embeddings as those of a search that lacks these parts."""

from dataclasses import replace

import pytest
import torch

from recipeflow.search.query_kinds import ask_by_kind
from recipeflow.training.runs import prepare_run
from recipeflow.training.settings import TrainingConfig
from tests.pairs.pairing import OFFLINE, SMALL, make_pairs

RESIDUAL = {"architecture": "residual", "hidden_dim": 8}
FOLDS = [0, 1]


def make_run(context: str, inputs=("action", "object", "image")):
    pairs = make_pairs()
    config = TrainingConfig(inputs=inputs, model=RESIDUAL | {"context": context})
    return pairs, prepare_run(pairs, config, 5, **OFFLINE, **SMALL)


def test_a_kind_is_asked_with_the_rows_that_have_its_parts():
    pairs, run = make_run("history")
    asked = ask_by_kind(run.model, run.processor, pairs, FOLDS)
    rows = pairs.rows(("action", "object"), FOLDS)
    has_image = pairs.images.pre[rows] >= 0
    has_context = torch.tensor([bool(pairs.contexts[row]) for row in rows.tolist()])
    expected = {(): has_image & has_context, ("image",): has_context, ("context",): has_image}
    expected[("image", "context")] = torch.ones(len(rows), dtype=torch.bool)
    assert list(asked) == [(), ("image",), ("context",), ("image", "context")]
    assert len({int(mask.sum()) for mask in expected.values()}) == 4, "the kinds have to differ in their rows"
    for kind, mask in expected.items():
        assert asked[kind].recipes.equal(pairs.recipes[rows[mask]])
        assert len(asked[kind].data) == len(asked[kind].recipes)
        found = asked[kind].data
        shown = pairs.images.post[pairs.rows((), range(10))].unique()[found.targets]
        assert shown.equal(pairs.images.post[rows[mask]])


@pytest.mark.parametrize("kind", [(), ("image",), ("context",), ("image", "context")])
def test_what_is_left_out_is_left_out_as_in_a_search(kind):
    pairs, run = make_run("history")
    model = run.model.eval()
    asked = ask_by_kind(model, run.processor, pairs, FOLDS)[kind]
    rows = pairs.rows(("action", "object"), FOLDS)
    keep = torch.tensor(
        [
            ("image" in kind or pairs.images.pre[row] >= 0) and ("context" in kind or bool(pairs.contexts[row]))
            for row in rows.tolist()
        ]
    )
    rows = rows[keep].tolist()
    contexts = [dict(pairs.contexts[row]) for row in rows]
    words = run.processor(
        actions=[pairs.actions[row] for row in rows],
        objects=[pairs.objects[row] for row in rows],
        contexts=[{}] * len(rows) if "context" in kind else contexts,
    )
    mask = torch.full((len(rows),), "image" not in kind)
    with torch.no_grad():
        features = pairs.images.features[pairs.images.pre[rows].clamp(min=0)]
        expected = model.get_query_embeds(**words, pre_features=features, pre_mask=mask)
    torch.testing.assert_close(asked.data.queries, expected)


def test_words_that_a_model_does_not_read_are_no_context():
    pairs, run = make_run("modifiers")
    pairs = replace(pairs, contexts=tuple(context[row % 2 :] for row, context in enumerate(pairs.contexts)))
    asked = ask_by_kind(run.model, run.processor, pairs, FOLDS)
    modified = [row for row in range(len(pairs.folds)) if ("modifier", "薄く") in pairs.contexts[row]]
    rows = pairs.rows(("action", "object"), FOLDS)
    assert len(asked[("image",)].data) == int(torch.isin(rows, torch.tensor(modified)).sum()) < len(rows)


@pytest.mark.parametrize("inputs", [("action", "object"), ("image",)])
def test_a_model_that_takes_one_kind_is_asked_in_one(inputs):
    pairs, run = make_run("none", inputs)
    asked = ask_by_kind(run.model, run.processor, pairs, FOLDS)
    assert list(asked) == [()]
    assert asked[()].recipes.equal(pairs.recipes[pairs.rows(inputs, FOLDS)])
