"""A parser as a source of suggestions for annotators: valid, named, combined with what finished recipes teach."""

from dataclasses import replace

import pytest

from recipeflow.annotate.document import annotated_document, blank_document
from recipeflow.annotate.items import list_items, make_item
from recipeflow.annotate.suggest.guess import PARSER
from recipeflow.annotate.suggest.parsing import ParserReader
from recipeflow.annotate.suggest.tasks import Tasks
from recipeflow.errors import UsageError
from recipeflow.release import read_release, read_scheme
from tests.making_english import ENGLISH_INFO


@pytest.fixture(scope="module")
def tasks(trained, recipes) -> Tasks:
    tasks = Tasks()
    tasks.open_parser(str(trained), read_scheme(recipes))
    tasks.learn("alice", [])
    return tasks


def test_tags_and_flows_of_the_parser_are_suggested(tasks, recipes):
    """The recipes are known by heart, so most suggestions are right; nothing else was learned."""
    right = wanted = 0
    for recipe in read_release(recipes):
        gold = annotated_document(recipe, origin=None)
        guesses = tasks.suggest("alice", blank_document(recipe))
        guesses += tasks.suggest("alice", gold.change(flows=(), pairs=()))
        assert {guess.origin for guess in guesses} <= {PARSER, "the dictionary"}
        keys = {make_item(guess.value).key for guess in guesses}
        gold_keys = {key for key, item in list_items(gold).items() if item.kind != "image"}
        right, wanted = right + len(keys & gold_keys), wanted + len(gold_keys)
    assert right > 0.5 * wanted


def test_what_the_parser_says_are_probabilities(trained, recipes):
    """Of the tags of each word, and of the ends of flows from each entity, none among them; names as the scheme's."""
    parser = ParserReader(str(trained))
    for recipe in read_release(recipes):
        document = annotated_document(recipe, origin=None)
        words = parser.read_words(document)
        assert {place: len(rows) for place, rows in words.lines.items()} == {
            (section, number): len(line.words)
            for section, lines in enumerate(recipe.sections)
            for number, line in enumerate(lines)
        }
        assert all(abs(row.sum() - 1) < 1e-3 for rows in words.lines.values() for row in rows)
        flows = parser.read_flows(document)
        assert flows.entities == tuple(recipe.entities)
        assert abs(flows.ends.sum(axis=1) - 1).max() < 1e-3
        likeliest = int(flows.ends[0, :-1].argmax())
        assert abs(sum(flows.name(0, likeliest).values()) - 1) < 1e-3


def test_a_tag_that_the_scheme_does_not_have_counts_as_none(trained, recipes):
    """Where the parser reads such an entity, no other one may be suggested in its place."""
    parser, scheme = ParserReader(str(trained)), read_scheme(recipes)
    fewer = replace(scheme, tags={"T": "Tool"})
    document = blank_document(next(read_release(recipes)), fewer)
    for rows in parser.read_words(document).lines.values():
        assert abs(rows.sum(axis=1) - 1).max() < 1e-3


def test_another_text_under_the_same_id_is_read_anew(tasks, recipes):
    """A recipe's text can be replaced: what was read in the old one does not fit."""
    one, other, *_ = read_release(recipes)
    tasks.suggest("alice", blank_document(one))
    replaced = tasks.suggest("alice", blank_document(replace(other, id=one.id)))
    assert replaced == tasks.suggest("alice", blank_document(other))


def test_a_layers_own_parser_is_used_for_it_alone(tasks, trained, recipes):
    other = Tasks()
    other.open_parser(str(trained), read_scheme(recipes), "alice")
    for layer in ("alice", "bob"):
        other.learn(layer, [])
    document = blank_document(next(read_release(recipes)))
    assert other.suggest("alice", document)
    assert not other.suggest("bob", document)


def test_a_parser_for_other_recipes_is_refused(trained):
    with pytest.raises(UsageError, match="language"):
        ParserReader(str(trained)).check(ENGLISH_INFO.scheme)
