"""A release as examples and batches."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from configuration_rfg import RFGConfig
from modeling_rfg import tags_to_spans
from parsing_rfg import make_batches
from recipeflow.errors import UsageError
from recipeflow.parser.batches import LengthBatches
from recipeflow.parser.encoders import find_encoder
from recipeflow.parser.examples import check_names, label_tensors, make_example, read_examples
from recipeflow.release import read_release
from tests.making import SALAD


def test_entities_and_flows_are_those_of_the_recipe(recipes):
    data = read_examples(recipes)
    for example, recipe in zip(data.examples, read_release(recipes), strict=True):
        words = [token for lines in recipe.sections for line in lines for token in line.tokens]
        assert example.recipe.words == words
        texts = ["".join(words[first:last]) for first, last, _ in example.spans]
        assert texts == [entity.text for entity in recipe.entities.values()]
        ids = list(recipe.entities)
        assert [(ids[start], ids[end], label) for start, end, label in example.edges] == [
            (flow.start, flow.end, flow.label) for flow in recipe.flows
        ]


def test_labels_of_words_give_the_entities_again(recipes):
    examples, config = read_examples(recipes).examples[:3], RFGConfig()
    labels = label_tensors(examples, config)
    spans, tags = tags_to_spans(labels["tag_labels"].clamp(min=0))
    assert torch.equal(spans, labels["entity_spans"]) and torch.equal(tags, labels["entity_tags"])
    counts = [(row[:, 0] >= 0).sum().item() for row in labels["edges"]]
    assert counts == [len(example.edges) for example in examples]


def test_of_two_labels_between_a_pair_the_first_is_learnt():
    example = make_example(SALAD)
    start, end, _ = example.edges[0]
    doubled = replace(example, edges=(*example.edges, (start, end, "Targ")))
    tensors = [label_tensors([each], RFGConfig())["edges"] for each in (example, doubled)]
    assert torch.equal(*tensors)


def test_a_release_without_text_is_refused():
    without = replace(SALAD, ingredients=tuple(replace(line, text=None) for line in SALAD.ingredients))
    with pytest.raises(UsageError, match=r"c0ffee00-salad: expected text to read, found none"):
        make_example(without)


def test_names_that_a_model_does_not_have_are_refused(recipes):
    examples = read_examples(recipes).examples
    check_names(examples, RFGConfig())
    with pytest.raises(UsageError, match="expected only tags of the model"):
        check_names(examples, RFGConfig(tags=["F", "T"]))
    with pytest.raises(UsageError, match="expected only labels of the model"):
        check_names(examples, RFGConfig(labels=["Targ"]))


def test_folds_split_the_recipes(recipes):
    data = read_examples(recipes)
    parts = [data.in_folds([fold]) for fold in range(10)]
    assert Counter(example.recipe_id for part in parts for example in part) == Counter(
        example.recipe_id for example in data.examples
    )


def test_the_digest_is_of_the_content(recipes, tmp_path):
    data = read_examples(recipes)
    assert data.digest() == read_examples(recipes).digest() != replace(data, language="en").digest()
    changed = replace(data.examples[0], edges=data.examples[0].edges[1:])
    assert replace(data, examples=(changed, *data.examples[1:])).digest() != data.digest()


@settings(max_examples=40)
@given(st.lists(st.integers(0, 300), min_size=3, max_size=60), st.integers(1, 12), st.integers(1, 3))
def test_every_recipe_is_used_once_per_epoch_over_all_processes(lengths, per_batch, world):
    if per_batch < world:
        return
    sides = [LengthBatches(lengths, per_batch, 7, rank, world) for rank in range(world)]
    for epoch in range(2):
        shares = [list(side.epoch(epoch)) for side in sides]
        assert all(len(share) == len(sides[0]) for share in shares)
        assert all(batch for share in shares for batch in share)
        used = Counter(recipe for share in shares for batch in share for recipe in batch)
        assert used == Counter(range(len(lengths)))
        assert list(sides[0].epoch(epoch)) == shares[0]  # the same again, for a run that is resumed


@given(st.lists(st.integers(0, 500), max_size=40), st.integers(1, 9), st.integers(50, 2000))
def test_batches_to_parse_are_bounded_and_complete(lengths, batch_size, most_words):
    batches = list(make_batches(lengths, batch_size, most_words))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= batch_size
        assert len(batch) == 1 or len(batch) * max(lengths[position] for position in batch) <= most_words


def test_too_few_recipes_for_the_processes_are_refused():
    with pytest.raises(UsageError, match="at least one recipe per process"):
        LengthBatches([5], 4, 0, 0, 2)


def test_an_encoder_that_does_not_exist_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    for name, message in (("./nowhere", "check the path"), (str(tmp_path / "empty"), "no config.json")):
        with pytest.raises(Exception, match=message):
            find_encoder(name)
    assert find_encoder("answerdotai/ModernBERT-base") == "answerdotai/ModernBERT-base"
