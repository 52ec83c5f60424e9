"""The network of the recipe reader: shapes, padding, windows, entities found and given, saving."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from torch.nn.functional import pad
from transformers import AutoModel

from configuration_rfg import RFGConfig
from decoding_rfg import decode_tags, iob2_penalties
from modeling_rfg import RFGModel
from scoring_rfg import RFGWordsBetween, shared_words
from tests.parser.reading import BERT, save_encoder

SMALL = {
    "tags": ["F", "Ac", "T"],
    "labels": ["Targ", "Dest"],
    "word_dim": 8,
    "char_dim": 4,
    "hidden_dim": 8,
    "tag_dim": 4,
    "entity_dim": 6,
    "head_dim": 6,
    "label_dim": 4,
    "pair_dim": 6,
    "vocab_size": 30,
    "char_vocab_size": 20,
    "refinements": 1,
    "between_words": True,
    "labels_by_end": True,
}
PADDING = {
    "word_mask": False,
    "input_words": -1,
    "entity_spans": -1,
    "entity_tags": -1,
    "tag_labels": -100,
    "edges": -1,
}


def make_config(kind: str, **settings: object) -> RFGConfig:
    encoder = {"encoder": dict(BERT), "cls_token_id": 48, "sep_token_id": 49, "window": 30, "window_overlap": 10}
    return RFGConfig(**{**SMALL, **(encoder if kind == "transformer" else {}), **settings})


def make_model(kind: str, **settings: object) -> RFGModel:
    torch.manual_seed(0)
    model = RFGModel(make_config(kind, **settings)).eval()
    for weight in model.parameters():  # no weight is 0 at the start, so that every part has an effect
        weight.data += 0.3 * torch.randn(weight.shape)
    return model


def make_recipe(words: int, seed: int = 0) -> dict[str, torch.Tensor]:
    """A recipe of words of one or two sub-words, with an entity on every second word and a chain of edges."""
    generator = torch.Generator().manual_seed(seed)

    def numbers(*shape: int, low: int = 1, high: int = 20) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator)

    input_words = torch.arange(words).repeat_interleave(numbers(words, high=3))
    spans = torch.stack([torch.arange(0, words, 2), torch.arange(0, words, 2) + 1], dim=1)
    starts = torch.arange(max(len(spans) - 1, 0))
    tags = numbers(len(spans), low=0, high=3)
    return {
        "word_mask": torch.ones(words, dtype=torch.bool),
        "form_ids": numbers(words, high=6),
        "section_ids": (torch.arange(words) > words // 3).long(),
        "line_ids": torch.arange(words) // 7,
        "sentence_ids": torch.arange(words) // 4,
        "word_ids": numbers(words),
        "char_ids": numbers(words, 5, low=0),
        "input_ids": numbers(len(input_words), high=48),
        "input_words": input_words,
        "entity_spans": spans,
        "entity_tags": tags,
        "tag_labels": torch.zeros(words, dtype=torch.long).index_put((spans[:, 0],), 1 + 2 * tags),
        "edges": torch.stack([starts, starts + 1, tags[starts] % 2], dim=1),
    }


def make_batch(*recipes: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    batch = {}
    for name in recipes[0]:
        longest = max(len(recipe[name]) for recipe in recipes)
        rows = []
        for recipe in recipes:
            value = recipe[name]
            rows.append(pad(value, (*[0, 0] * (value.ndim - 1), 0, longest - len(value)), value=PADDING.get(name, 0)))
        batch[name] = torch.stack(rows)
    return batch


def inputs_of(batch: dict[str, torch.Tensor], *, entities: bool = True) -> dict[str, torch.Tensor]:
    left_out = {"tag_labels", "edges"} | (set() if entities else {"entity_spans", "entity_tags"})
    return {name: value for name, value in batch.items() if name not in left_out}


KINDS = pytest.mark.parametrize("kind", ["scratch", "transformer"])


@KINDS
def test_shapes_and_probabilities(kind: str) -> None:
    output = make_model(kind)(**make_batch(make_recipe(9), make_recipe(14, 1)))
    assert output.tag_logits.shape == (2, 14, 7)
    assert output.edge_scores.shape == (2, 7, 7, 2)
    assert output.loss.item() == pytest.approx(output.tag_loss.item() + output.edge_loss.item(), rel=1e-5)
    assert output.edge_scores.min() >= 0
    assert output.edge_scores.sum(dim=(2, 3)).max() <= 1 + 1e-5
    assert not output.edge_scores.diagonal(dim1=1, dim2=2).any()
    assert not output.edge_scores[0, 5:].any()
    assert not output.edge_scores[0, :, 5:].any()
    assert ((output.entity_scores > 0) == (output.entity_tags >= 0)).all()
    assert output.entity_scores.max() <= 1


@KINDS
def test_padding_changes_no_score(kind: str) -> None:
    model, short, long = make_model(kind), make_recipe(10), make_recipe(60, 1)  # with a word after the last entity
    alone, beside = model(**inputs_of(make_batch(short))), model(**inputs_of(make_batch(short, long)))
    assert torch.allclose(alone.tag_logits[0], beside.tag_logits[0, :10], atol=1e-5)
    assert torch.allclose(alone.edge_scores[0], beside.edge_scores[0, :5, :5], atol=1e-5)
    assert torch.allclose(alone.entity_scores[0], beside.entity_scores[0, :5], atol=1e-5)


@KINDS
@pytest.mark.parametrize("refinements", [0, 1])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_scores_a_long_recipe_as_whole_precision_does(
    kind: str, refinements: int, dtype: torch.dtype
) -> None:
    model = make_model(kind, refinements=refinements)
    for weight in model.parameters():  # usual sizes: with larger weights rounding alone turns one label into another
        weight.data /= 3
    batch = inputs_of(make_batch(make_recipe(300), make_recipe(9, 1)))
    whole, half = model(**batch), model.to(dtype)(**batch)
    assert half.edge_scores.isfinite().all()
    assert torch.allclose(half.entity_scores.float(), whole.entity_scores, atol=0.05)
    assert torch.allclose(half.edge_scores.float(), whole.edge_scores, atol=0.02)


def test_a_short_text_is_read_the_same_in_a_smaller_window() -> None:
    recipe = make_recipe(9)
    count = len(recipe["input_ids"])
    batch = inputs_of(make_batch(recipe))
    whole, tight = make_model("transformer"), make_model("transformer", window=count, window_overlap=count // 2)
    assert torch.equal(whole(**batch).tag_logits, tight(**batch).tag_logits)


def test_each_sub_word_of_a_long_text_is_read_by_the_window_in_whose_middle_it_is() -> None:
    model = make_model("transformer")
    ids = make_recipe(80)["input_ids"][None, :75]
    states = model.encoder._read(ids, torch.ones_like(ids, dtype=torch.bool))
    bert = model.encoder.transformer
    first, second, third, fourth = (
        bert(torch.cat([torch.tensor([48]), ids[0, start : start + 30], torch.tensor([49])])[None]).last_hidden_state[
            0, 1:-1
        ]
        for start in (0, 20, 40, 60)
    )
    expected = torch.cat([first[:25], second[5:25], third[5:25], fourth[5:15]])
    assert torch.allclose(states[0], expected, atol=1e-5)


def test_a_word_without_sub_words_has_a_zero_vector() -> None:
    model = make_model("transformer")
    words = model.encoder(torch.tensor([[5, 6, 7]]), torch.tensor([[0, 0, 2]]), 3)
    assert words.shape == (1, 3, 16)
    assert not words[0, 1].any()
    assert words[0, [0, 2]].any(dim=1).all()


@KINDS
def test_without_entities_those_of_the_tags_are_scored(kind: str) -> None:
    model = make_model(kind)
    batch = inputs_of(make_batch(make_recipe(9), make_recipe(20, 1)), entities=False)
    output = model(**batch)
    tags = decode_tags(output.tag_logits, batch["word_mask"], model.tagger.transitions.weight)
    begins = (tags % 2 == 1).sum(dim=1)
    assert ((output.entity_tags >= 0).sum(dim=1) == begins).all()
    graphs = model.parse(**batch)
    assert [len(graph.spans) for graph in graphs] == begins.tolist()
    for graph in graphs:
        assert set(graph.tags) <= {"F", "Ac", "T"}
        assert all(label in ("Targ", "Dest") for _, _, label, _ in graph.edges)


@KINDS
@pytest.mark.parametrize("words", [0, 1])
def test_hardly_any_text_gives_a_valid_graph(kind: str, words: int) -> None:
    batch = inputs_of(make_batch(make_recipe(words)), entities=False)
    graphs = make_model(kind).parse(**batch)
    assert len(graphs) == 1
    assert graphs[0].edges == []


@KINDS
def test_an_empty_recipe_beside_another_one(kind: str) -> None:
    model, recipe = make_model(kind), make_recipe(9)
    batch = make_batch(make_recipe(0), recipe)
    assert torch.isfinite(model(**batch).loss)
    empty, found = model.parse(**inputs_of(batch))
    assert (empty.spans, empty.edges) == ([], [])
    alone = model.parse(**inputs_of(make_batch(recipe)))[0]
    assert [edge[:3] for edge in found.edges] == [edge[:3] for edge in alone.edges]


@KINDS
def test_training_learns_a_recipe_by_heart(kind: str) -> None:
    torch.manual_seed(0)
    model = RFGModel(make_config(kind, predicted_share=0.3, dropout=0.0, pair_dropout=0.0)).train()
    batch = make_batch(make_recipe(9), make_recipe(14, 1))
    optimizer = torch.optim.AdamW(model.parameter_groups(2e-2, 2e-3, 0.01, 0.9))
    for _ in range(60):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    graphs = model.parse(**inputs_of(batch, entities=False))
    for graph, recipe in zip(graphs, (make_recipe(9), make_recipe(14, 1)), strict=True):
        assert [list(span) for span in graph.spans] == recipe["entity_spans"].tolist()
        edges = [[start, end, SMALL["labels"].index(label)] for start, end, label, _ in graph.edges]
        assert edges == recipe["edges"].tolist()
    assert model.training


def test_layers_of_the_encoder_have_their_own_rates() -> None:
    model = make_model("transformer")
    groups = model.parameter_groups(1e-3, 1e-4, 0.01, 0.5)
    rates = {id(weight): group["lr"] for group in groups for weight in group["params"]}
    assert len(rates) == len(list(model.parameters()))
    bert = model.encoder.transformer
    assert rates[id(bert.encoder.layer[2].output.dense.weight)] == 1e-4
    assert rates[id(bert.encoder.layer[0].output.dense.weight)] == 2.5e-5
    assert rates[id(bert.embeddings.word_embeddings.weight)] == 1.25e-5
    assert rates[id(model.tagger.output.weight)] == 1e-3
    frozen = [weight for group in model.parameter_groups(1e-3) for weight in group["params"]]
    assert not {id(weight) for weight in bert.parameters()} & {id(weight) for weight in frozen}


def test_frozen_layers_are_computed_once_per_text_and_change_no_result() -> None:
    settings = {"frozen_layers": 2, "dropout": 0.0, "pair_dropout": 0.0, "predicted_share": 0.0}
    model = make_model("transformer", **settings)
    model.encoder.transformer.config.hidden_dropout_prob = 0.0
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    calls = []
    layers = model.encoder.transformer.encoder.layer
    layers[0].attention.register_forward_hook(lambda *_: calls.append(1))
    batch = make_batch(make_recipe(9), make_recipe(60, 1))  # the second one has several windows
    expected = model(**batch).loss
    expected.backward()
    gradients = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    calls.clear()
    model.train().zero_grad()
    for _ in range(2):
        found = model(**batch).loss
    windows = len(calls)
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    found.backward()
    model(**batch)
    assert len(calls) == windows > 2
    assert not any(weight.requires_grad for weight in layers[:2].parameters())
    for name, weight in model.named_parameters():
        assert (weight.grad is None) == (name not in gradients)
        assert weight.grad is None or torch.allclose(weight.grad, gradients[name], atol=1e-4)
    model.train()  # forgets them
    model(**make_batch(make_recipe(60, 1), make_recipe(30, 2)))
    beside_others = model(**batch).loss
    model.train()
    calls.clear()
    assert torch.equal(model(**batch).loss, beside_others)  # to the last bit, so that a resumed run is exact
    assert len(calls) == windows


def test_some_words_are_hidden_from_the_encoder_in_training_alone() -> None:
    read = []

    def encoder(mask: int | None) -> torch.nn.Module:
        made = make_model("transformer", word_dropout=0.5, mask_token_id=mask).encoder
        made.transformer.register_forward_pre_hook(
            lambda module, inputs, options: read.append(options["input_ids"][0, 1:26]), with_kwargs=True
        )
        return made

    ids, words = torch.arange(4, 29)[None], torch.arange(25)[None] // 2  # one window, and words of two sub-words
    hiding, maskless = encoder(3), encoder(None)
    hiding(ids, words, 13)
    for reader in (hiding.train(), hiding, maskless.train()):
        reader(ids, words, 13)
    whole, first, second, unmasked = read
    assert whole.tolist() == unmasked.tolist() == ids[0].tolist()
    assert not torch.equal(first, second)
    for seen in (first, second):
        is_hidden = seen == 3
        assert 0 < is_hidden.sum() < 25
        assert torch.equal(is_hidden[0:24:2], is_hidden[1:24:2])  # words are hidden as a whole
        assert torch.equal(seen[~is_hidden], ids[0][~is_hidden])


def test_frozen_layers_are_not_remembered_where_words_are_hidden() -> None:
    settings = {"frozen_layers": 2, "word_dropout": 0.3}
    assert make_model("transformer", **settings).encoder.frozen is not None
    model = make_model("transformer", mask_token_id=3, **settings)
    assert model.encoder.frozen is None
    model.train()(**make_batch(make_recipe(9))).loss.backward()
    layers = model.encoder.transformer.encoder.layer
    assert [layer.output.dense.weight.grad is None for layer in layers] == [True, True, False]


def test_a_model_starts_from_the_weights_of_an_encoder(tmp_path: Path) -> None:
    encoder = AutoModel.from_pretrained(save_encoder(tmp_path))
    model = RFGModel.from_encoder(tmp_path, tags=["F"], window_overlap=5)
    config = model.config
    assert (config.cls_token_id, config.sep_token_id, config.mask_token_id, config.window) == (2, 3, 4, 38)
    assert config.encoder_weights == tmp_path.name
    assert config.encoder.attention_probs_dropout_prob == 0
    for name, weight in encoder.state_dict().items():
        assert torch.equal(weight, model.encoder.transformer.state_dict()[name])


def test_a_window_has_to_fit_into_the_encoder() -> None:
    with pytest.raises(StrictDataclassClassValidationError, match="a window of at most 38 sub-words"):
        make_config("transformer", window=39)


@KINDS
def test_a_saved_model_gives_the_same_scores(kind: str, tmp_path: Path) -> None:
    model, batch = make_model(kind), inputs_of(make_batch(make_recipe(9)))
    model.save_pretrained(tmp_path)
    loaded = RFGModel.from_pretrained(tmp_path)
    assert loaded.config.iob_tags == ["O", "B-F", "I-F", "B-Ac", "I-Ac", "B-T", "I-T"]
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name])
    assert torch.allclose(model(**batch).edge_scores, loaded(**batch).edge_scores, atol=1e-6)


def test_the_loss_of_tags_is_that_of_all_sequences_written_out() -> None:
    model = make_model("scratch", tags=["F"])
    logits = torch.randn(3, 4, 3, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[1, 2, 0, 1], [0, 1, -100, -100], [-100] * 4])
    steps = model.tagger.transitions.weight
    steps.data = steps.data.double()
    penalties = iob2_penalties(3).double()

    def score(row: int, tags: Sequence[int]) -> torch.Tensor:
        pairs = zip((-1, *tags), tags, strict=False)
        words = sum(logits[row, word, tag] for word, tag in enumerate(tags))
        return words + sum((steps.double() + penalties)[before, tag] for before, tag in pairs)

    expected = torch.zeros((), dtype=torch.float64)
    for row, length in ((0, 4), (1, 2)):
        every = torch.stack([score(row, tags) for tags in product(range(3), repeat=length)])
        expected = expected + every.logsumexp(dim=0) - score(row, labels[row, :length].tolist())
    found = model.tagger.loss(logits, labels)
    assert found.item() == pytest.approx(expected.item() / 6, rel=1e-4)
    for right, own in zip(
        *(torch.autograd.grad(loss, (logits, steps)) for loss in (expected / 6, found)), strict=True
    ):
        assert torch.allclose(right.float(), own.float(), atol=1e-5)


def test_words_that_entities_share() -> None:
    spans = torch.tensor([[[0, 2], [2, 3], [3, 5], [5, 7], [-1, -1]]])
    mask = torch.tensor([[True, True, True, True, False]])
    forms = torch.tensor([[1, 2, 2, 1, 2, 1, 3]])  # "red pepper", "pepper", "red pepper", "red onion"
    expected = [[3, 2, 3, 1, 0], [2, 3, 2, 0, 0], [3, 2, 3, 1, 0], [1, 0, 1, 3, 0], [0, 0, 0, 0, 0]]
    assert shared_words(spans, mask, forms).tolist() == [expected]


def test_the_words_between_two_entities_are_averaged_with_a_sign() -> None:
    between = RFGWordsBetween(make_config("scratch", pair_dim=2), 2)
    between.words.weight.data = torch.eye(2)
    states = torch.tensor([[[1.0, 0], [2, 0], [4, 1], [0, 3], [5, 5], [9, 9]]])
    spans = torch.tensor([[[0, 1], [1, 2], [4, 5], [-1, -1]]])
    expected = [[[0.0, 0], [0, 0], [2, 4 / 3]], [[0, 0], [0, 0], [2, 2]], [[-2, -4 / 3], [-2, -2], [0, 0]]]
    assert torch.allclose(between(states, spans)[0, :3, :3], torch.tensor(expected), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_means_at_the_end_of_a_long_recipe_are_right_in_half_precision(dtype: torch.dtype) -> None:
    """They come from sums up to a word, which half precision cannot count beyond some hundred words."""
    graph = make_model("scratch", refinements=0).graph
    for weight in graph.order.parameters():
        weight.data.zero_()
    graph.between.words.weight.data.fill_(1 / graph.between.words.in_features)
    graph = graph.to(dtype)
    words, width = 5000, graph.between.words.in_features
    states = torch.ones(1, words, width, dtype=dtype)
    spans = torch.tensor([[[10, 11], [20, 21], [words - 20, words - 19], [words - 10, words - 9]]])
    between = graph.between(states, spans)[0]
    for pair in (between[0, 1], between[2, 3]):
        assert torch.allclose(pair.float(), torch.ones(between.shape[-1]), atol=1e-2)
    tags, count = torch.zeros(1, 4, dtype=torch.long), torch.tensor([[words]])
    _, early, late, _ = graph._represent(states, spans, tags, count)[0]
    assert early.equal(late)


def test_each_end_of_an_edge_scores_its_label_alone() -> None:
    model, batch = make_model("scratch", refinements=0), inputs_of(make_batch(make_recipe(9)))
    before = model(**batch).edge_scores
    for end in range(2):
        model.graph.label_alone[end].bias.data[1] += 50.0
        found = model(**batch).edge_scores
        assert torch.allclose(found[..., 1], before.sum(dim=-1), atol=1e-5)
        model.graph.label_alone[end].bias.data[1] -= 50.0


def test_a_config_saved_before_makes_the_network_of_then() -> None:
    def new_weights(model: RFGModel) -> list[str]:
        return [name for name in model.state_dict() if "between.words" in name or "label_alone" in name]

    assert new_weights(RFGModel(RFGConfig())) == []
    assert len(new_weights(make_model("scratch"))) == 5


def test_a_missing_input_is_named() -> None:
    batch = inputs_of(make_batch(make_recipe(9)))
    batch.pop("char_ids")
    with pytest.raises(ValueError, match="expected word_ids and char_ids for a model from scratch, found no char_ids"):
        make_model("scratch")(**batch)


def test_windows_that_never_advance_are_refused() -> None:
    with pytest.raises(StrictDataclassClassValidationError, match="window_overlap"):
        RFGConfig(window=10, window_overlap=10)
