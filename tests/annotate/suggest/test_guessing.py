"""Suggestions are always valid: whatever was learned, all of them can be accepted together, on any document."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipeflow.annotate.accepting import Accept, Accepted, Reject
from recipeflow.annotate.document import Document, annotated_document, blank_document
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.items import list_items, make_item
from recipeflow.annotate.operations import apply, read_operation
from recipeflow.annotate.suggest.film import FilmTraits, look_at
from recipeflow.annotate.suggest.frames import FrameModel
from recipeflow.annotate.suggest.guess import Guess
from recipeflow.annotate.suggest.guessing import guess_frames
from recipeflow.annotate.suggest.learning import Learned, Lesson
from recipeflow.annotate.suggest.reading import Reader
from recipeflow.errors import RefusedError
from recipeflow.graph import build_graph
from recipeflow.kitchen.cooking import cook_recipe, devise_recipe
from recipeflow.release.recipe import frame_name
from tests.annotate.generating import draw_operation
from tests.making import EGG, SALAD, TEA
from tests.making_english import ENGLISH_INFO, SOUP

STEPS = frozenset(("words", "flows", "frames"))
ENGLISH = ENGLISH_INFO.scheme


def learn(*documents: Document) -> Reader:
    return Reader(Learned.learn([Lesson(document, STEPS) for document in documents]))


READERS = [
    learn(),
    learn(annotated_document(SALAD)),
    learn(*(annotated_document(devise_recipe(3, number).recipe) for number in range(4))),
    learn(annotated_document(SOUP, ENGLISH)),
]
BEGINNINGS = [
    *(blank_document(SALAD), blank_document(EGG), annotated_document(EGG, origin=None)),
    *(annotated_document(SALAD, origin=None), blank_document(SOUP, ENGLISH)),
]
FILM = FilmTraits((1, 2, 4, 5, 9), dict.fromkeys((1, 2, 4, 5, 9), ("into 0", "clear less more")))
FRAMES = [FrameModel.untrained(), FrameModel.learn([(annotated_document(SALAD), FILM)])]


def accept_all(document: Document, guesses: list[Guess]) -> Document:
    """As a page does it: one operation per origin. Nothing may be left out."""
    rejected = {rejection.key for rejection in document.rejected}
    for origin in dict.fromkeys(guess.origin for guess in guesses):
        items = [make_item(guess.value).as_dict(document) for guess in guesses if guess.origin == origin]
        items = [item for item in items if item["key"] not in rejected]
        if not items:
            continue
        accept = Accept(origin, tuple(Accepted(item["key"], item["kind"], item["item"]) for item in items))
        effects = Effects()
        document = accept.run(document, effects)
        assert not effects.skipped
    return document


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(BEGINNINGS), st.sampled_from(READERS), st.integers(0, 12))
def test_suggestions_are_valid_operations(random: Random, document: Document, reader: Reader, changes: int):
    for _ in range(changes):
        with suppress(RefusedError):
            document = apply(document, read_operation(draw_operation(random, document, []))).document
    tagged = accept_all(document, reader.tags(document))
    linked = accept_all(tagged, reader.flows(tagged))
    build_graph(linked.recipe)  # which refuses a cycle
    frames = guess_frames(linked, random.choice(FRAMES), FILM)
    chosen = {frame for guess in frames for frame in (guess.value.before, guess.value.after)}
    already = {frame for pair in linked.pairs for frame in (pair.before, pair.after)}
    assert chosen <= {*FILM.numbers, "none"} | already
    accept_all(linked, frames)


def test_what_is_finished_or_given_gets_no_suggestions():
    reader = READERS[2]
    given = annotated_document(SALAD)
    assert not reader.tags(given)
    assert not reader.flows(given)
    done = blank_document(SALAD).change(done=("words", "flows"))
    assert not reader.tags(done)
    assert not reader.flows(done)


def test_finished_recipes_teach():
    """Of recipes that were not seen, most tags and flows are found after a few finished ones."""
    reader = learn(*(annotated_document(devise_recipe(5, number).recipe) for number in range(8)))
    found = wanted = right = 0
    for number in range(4):
        recipe = devise_recipe(6, number).recipe
        gold = annotated_document(recipe, origin=None)
        guesses = reader.tags(blank_document(recipe))
        guesses += reader.flows(gold.change(flows=()))
        keys = {make_item(guess.value).key for guess in guesses}
        gold_keys = {key for key, item in list_items(gold).items() if item.kind != "image"}
        found, wanted, right = found + len(keys), wanted + len(gold_keys), right + len(keys & gold_keys)
    assert right / found > 0.85
    assert right / wanted > 0.85


def test_a_word_tagged_by_hand_is_suggested_elsewhere_in_the_recipe():
    entity = next(e for e in annotated_document(SALAD, origin=None).entities if e.tag == "F")
    document = blank_document(SALAD).change(entities=(entity,))
    guesses = READERS[0].tags(document)
    assert guesses
    assert {guess.value.tag for guess in guesses} == {"F"}


def test_where_a_flow_was_drawn_the_rules_suggest_no_other():
    tagged = annotated_document(SALAD, origin=None).change(flows=(), pairs=())
    suggested = READERS[0].flows(tagged)
    first = suggested[0].value
    other = next(e.id for e in tagged.entities if e.id not in (first.start, first.end))
    drawn = tagged.change(flows=(replace(first, end=other),))
    left = {guess.value.start for guess in READERS[0].flows(drawn)}
    assert first.start not in left
    assert left


def test_a_rejected_suggestion_stays_rejected_whoever_makes_it_again():
    document, reader = blank_document(SALAD), READERS[2]
    guess = reader.tags(document)[0]
    key = make_item(guess.value).key
    document = apply(document, Reject("the parser", (key,))).document
    again = {make_item(each.value).key: each.origin for each in reader.tags(document)}
    assert again[key] == "the parser"  # so that it is listed as rejected, and can be taken back


@pytest.fixture(scope="module")
def filmed(tmp_path_factory) -> tuple[Document, Path]:
    cooked = cook_recipe(7, 0)
    folder = tmp_path_factory.mktemp("film")
    for number, data in cooked.frames.items():
        (folder / frame_name(number)).write_bytes(data)
    return annotated_document(cooked.recipe, origin=None), folder


def test_a_film_is_looked_at_without_its_damaged_frames(filmed):
    _, folder = filmed
    numbers = sorted(int(path.stem.removeprefix("frame_")) for path in folder.iterdir())
    (folder / frame_name(numbers[3])).write_bytes(b"not a picture")
    film = look_at(folder, numbers)
    assert film is not None
    assert film.numbers == tuple(numbers[:3] + numbers[4:])
    assert look_at(folder, numbers[:2]) is None


def test_chosen_frames_move_the_next_suggestion(filmed):
    """What is set by hand is kept, and later objects are looked for from there on."""
    gold, folder = filmed
    film = look_at(folder, sorted(int(path.stem.removeprefix("frame_")) for path in folder.iterdir()))
    assert film is not None
    model = FrameModel.learn([(gold, film)])
    assert model is not None
    set_pairs = [pair for pair in gold.pairs if isinstance(pair.after, int)]
    late = set_pairs[len(set_pairs) // 2]
    guesses = guess_frames(gold.change(pairs=(late,)), model, film)
    assert all(guess.value.key != late.key for guess in guesses)
    later = [guess.value for guess in guesses if guess.value.sort_key > late.sort_key]
    assert all(pair.after >= late.after for pair in later if isinstance(pair.after, int))


def test_nothing_is_suggested_without_text():
    """The official annotations alone have no words to recognise; flows still follow from tags and order."""
    bare = devise_recipe(3, 0).recipe
    lines = [tuple(type(line)(line.words) for line in section) for section in bare.sections]
    recipe = type(bare)(bare.id, *lines, flows=bare.flows)
    document = blank_document(recipe)
    assert not READERS[2].tags(document)
    tagged = annotated_document(recipe, origin=None).change(flows=())
    assert READERS[0].flows(tagged)


def test_the_smallest_recipe_has_suggestions_too():
    reader = learn(annotated_document(TEA))
    assert {guess.value.tag for guess in reader.tags(blank_document(TEA))} >= {"F"}
