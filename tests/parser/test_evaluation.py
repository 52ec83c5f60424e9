"""The measures, against a naive count and on cases that can be counted by hand."""

from dataclasses import replace

import pytest

from modeling_rfg import RFGGraph
from recipeflow.errors import UsageError
from recipeflow.parser import evaluation
from recipeflow.parser.evaluation import evaluate_parser
from recipeflow.parser.examples import make_example, read_examples
from recipeflow.parser.runs import load_parser
from tests.making import SALAD


@pytest.fixture(scope="module")
def example():
    return make_example(SALAD)


def measure(example, monkeypatch, gold_edges, spans, edges):
    """Score a made-up graph: found with the gold entities, and found from text."""
    with_gold = RFGGraph([span[:2] for span in example.spans], [span[2] for span in example.spans], [], gold_edges)
    from_text = RFGGraph([span[:2] for span in spans], [span[2] for span in spans], [], edges)
    monkeypatch.setattr(evaluation, "parse_with_entities", lambda *_: [with_gold])
    monkeypatch.setattr(evaluation, "parse_recipes", lambda *_: [from_text])
    monkeypatch.setattr(evaluation, "check_names", lambda *_: None)
    return evaluate_parser(type("Model", (), {"config": None})(), None, [example])


def scored(edges):
    return [(*edge, 0.9) for edge in edges]


def test_a_perfect_graph_has_100(example, monkeypatch):
    edges = scored(example.edges)
    scores = measure(example, monkeypatch, edges, example.spans, edges)
    assert set(scores.figures().values()) == {100.0}
    assert all(score.f_measure == 100 for score in scores.by_distance["text"].values())


def test_an_empty_graph_has_0(example, monkeypatch):
    scores = measure(example, monkeypatch, [], (), [])
    assert set(scores.figures().values()) == {0.0}
    assert scores.totals["edges_text"].first == len(example.edges)


def test_a_wrong_label_counts_only_as_an_unlabelled_edge(example, monkeypatch):
    start, end, _ = example.edges[0]
    edges = scored([(start, end, "A-eq"), *example.edges[1:]])
    figures = measure(example, monkeypatch, edges, example.spans, edges).figures()
    share = 100 * (len(example.edges) - 1) / len(example.edges)
    assert figures["edges_gold"] == figures["edges_text"] == pytest.approx(share)
    assert figures["edges_gold_unlabelled"] == figures["edges_text_unlabelled"] == 100


def test_entities_are_strict_and_edges_go_by_first_words(example, monkeypatch):
    (first, last, tag), *rest = example.spans
    spans = ((first, last, "T"), *rest[:-1], (rest[-1][0], rest[-1][1] + 1, rest[-1][2]))
    scores = measure(example, monkeypatch, scored(example.edges), spans, scored(example.edges))
    assert scores.totals["entities"].both == len(example.spans) - 2
    assert scores.by_tag[tag].both == scores.by_tag[tag].first - 1
    assert scores.figures()["edges_text"] == 100


def test_distance_counts_entities(example, monkeypatch):
    edges = scored(example.edges)
    scores = measure(example, monkeypatch, edges, example.spans, edges)
    distances = [abs(start - end) for start, end, _ in example.edges]
    assert scores.by_distance["gold"]["1"].first == distances.count(1)
    assert scores.by_distance["gold"]["3 to 4"].first == sum(3 <= distance <= 4 for distance in distances)
    assert sum(score.first for score in scores.by_distance["gold"].values()) == len(distances)


def test_a_parser_is_measured_as_naively_counted(trained, recipes):
    model, processor = load_parser(str(trained))
    examples = list(read_examples(recipes).examples[:3])
    examples[0] = replace(examples[0], edges=examples[0].edges[:-2], spans=examples[0].spans)
    scores = evaluate_parser(model, processor, examples)
    both = first = second = 0
    for example in examples:
        (graph,) = model.parse(**processor(example.recipe))
        found = {(graph.spans[start][0], graph.spans[end][0], label) for start, end, label, _ in graph.edges}
        gold = {(example.spans[start][0], example.spans[end][0], label) for start, end, label in example.edges}
        both, first, second = both + len(found & gold), first + len(gold), second + len(found)
    total = scores.totals["edges_text"]
    assert (total.both, total.first, total.second) == (both, first, second) and both > 0
    assert scores.as_dict()["figures"]["edges_text"] == pytest.approx(200 * both / (first + second))
    assert scores.tables()[0].title == "How well 3 recipes are read"


def test_recipes_with_other_tags_are_refused(trained, recipes):
    model, processor = load_parser(str(trained))
    example = read_examples(recipes).examples[0]
    other = replace(example, spans=((*example.spans[0][:2], "Ac2"), *example.spans[1:]))
    with pytest.raises(UsageError, match="found 'Ac2'"):
        evaluate_parser(model, processor, [other])
