"""Several sources together: what is suggested is what is likelier than nothing, and what people did decides first."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from recipeflow.annotate.document import AnnotatedEntity
from recipeflow.annotate.suggest.flow_chances import FlowChances, read_flows
from recipeflow.annotate.suggest.guess import FINISHED, PARSER
from recipeflow.annotate.suggest.word_chances import WordChances, read_entities

LABELS = ("Agent", "Targ")


def words(origin: str, classes: tuple[str, ...], *rows: tuple[float, ...]) -> WordChances:
    return WordChances(origin, classes, {(1, 0): np.array(rows, np.float32)})


def found(*sources: WordChances, given: tuple[AnnotatedEntity, ...] = ()) -> list[tuple]:
    guesses = read_entities(sources, given)
    return [(each.value.start, each.value.end, each.value.tag, round(each.confidence, 3)) for each in guesses]


def test_two_sources_that_know_different_tags_are_averaged():
    one = words(PARSER, ("O", "B-F"), (0.2, 0.8), (0.9, 0.1))
    other = words(FINISHED, ("O", "B-F", "B-T"), (0.1, 0.6, 0.3), (0.3, 0.0, 0.7))
    assert found(one, other) == [(0, 1, "F", 0.7)]
    assert found(other) == [(0, 1, "F", 0.6), (1, 2, "T", 0.7)]
    assert [each.origin for each in read_entities([one, other], ())] == [PARSER]


def test_a_confirmed_entity_changes_how_its_neighbours_are_read():
    chances = words(PARSER, ("O", "B-F", "I-F"), (0.1, 0.9, 0.0), (0.1, 0.2, 0.7), (0.6, 0.3, 0.1))
    assert found(chances) == [(0, 2, "F", 0.567)]
    first = AnnotatedEntity(1, 0, 0, 1, "F")
    assert [each[:3] for each in found(chances, given=(first,))] == [(1, 2, "F")]
    unknown = AnnotatedEntity(1, 0, 0, 2, "Sf")
    assert found(chances, given=(unknown,)) == []


def flows(origin: str, ends: list[list[float]], label: Mapping[str, float]) -> FlowChances:
    return FlowChances(origin, ("1-0-0", "1-0-1", "1-0-2"), np.array(ends, np.float32), lambda start, end: label)


NOTHING = [0.0, 0.0, 0.0, 1.0]


def linked(*sources: FlowChances, drawn: tuple[tuple[str, str], ...] = ()) -> list[tuple[str, str, str]]:
    guesses = read_flows(sources, drawn, LABELS)
    return [(each.value.start[-1], each.value.end[-1], each.value.label) for each in guesses]


def test_a_flow_is_suggested_if_it_is_likelier_than_none():
    likely = flows(FINISHED, [[0, 0.3, 0.3, 0.4], [0.0, 0, 0.2, 0.1], NOTHING], {"Targ": 0.9, "Agent": 0.1})
    assert linked(likely) == [("1", "2", "Targ")]


def test_each_source_is_heard_as_far_as_it_believes_in_a_flow():
    sure = flows(PARSER, [[0, 0.9, 0.0, 0.1], NOTHING, NOTHING], {"Targ": 0.6, "Agent": 0.4})
    unsure = flows(FINISHED, [[0, 0.1, 0.0, 0.9], NOTHING, NOTHING], {"Targ": 0.1, "Agent": 0.9})
    assert linked(sure, unsure) == []
    sure.ends[0] = (0, 1.0, 0, 0)
    assert linked(sure, unsure) == [("0", "1", "Targ")]
    (guess,) = read_flows([sure, unsure], (), LABELS)
    assert guess.origin == PARSER
    assert 0.25 < guess.confidence < 0.55


def test_a_flow_that_was_drawn_replaces_what_was_suggested_from_there():
    two = flows(PARSER, [[0, 0.5, 0.4, 0.1], [0, 0, 0.9, 0.1], NOTHING], {"Targ": 1.0})
    assert linked(two) == [("0", "1", "Targ"), ("0", "2", "Targ"), ("1", "2", "Targ")]
    # An accepted one leaves the others, and is itself refused later, because it is there.
    assert ("0", "2", "Targ") in linked(two, drawn=(("1-0-0", "1-0-1"),))
    assert linked(two, drawn=(("1-0-1", "1-0-0"),)) == [("0", "1", "Targ"), ("0", "2", "Targ")]


def test_a_label_that_the_scheme_does_not_have_is_never_suggested():
    strange = flows(PARSER, [[0, 0.9, 0, 0.1], NOTHING, NOTHING], {"Strange": 0.8, "Agent": 0.2})
    assert linked(strange) == [("0", "1", "Agent")]
    nothing = flows(PARSER, [[0, 0.9, 0, 0.1], NOTHING, NOTHING], {"Strange": 1.0})
    assert linked(nothing) == []


def test_a_source_counts_as_much_as_it_weighs():
    one = words(PARSER, ("O", "B-F"), (0.3, 0.7))
    other = words(FINISHED, ("O", "B-F"), (0.9, 0.1))
    assert found(one, other) == []
    assert found(one, replace(other, weight=0.2)) == [(0, 1, "F", 0.6)]
    sure = flows(PARSER, [[0, 0.7, 0, 0.3], NOTHING, NOTHING], {"Targ": 1.0})
    unsure = flows(FINISHED, [[0, 0.1, 0, 0.9], NOTHING, NOTHING], {"Agent": 1.0})
    assert linked(sure, unsure) == []
    assert linked(sure, replace(unsure, weight=0.2)) == [("0", "1", "Targ")]
