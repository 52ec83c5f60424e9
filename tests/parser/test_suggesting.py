"""A parser as a source of suggestions for annotators: valid, named, combined with what finished recipes teach."""

import pytest

from recipeflow.annotate.document import annotated_document, blank_document
from recipeflow.annotate.items import list_items, make_item
from recipeflow.annotate.suggest.guess import PARSER
from recipeflow.annotate.suggest.parsing import ParserGuesser
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
        ParserGuesser(str(trained)).check(ENGLISH_INFO.scheme)
