"""Parts of recipes in training: what is in them, and that they are drawn anew."""

from dataclasses import replace
from random import Random

import torch

from configuration_rfg import RFGConfig
from processing_rfg import RFGLine, RFGRecipe
from recipeflow.parser.examples import Example, label_tensors, read_examples
from recipeflow.parser.parts import cut_words, random_part, sentence_bounds
from recipeflow.parser.runs import prepare_run
from recipeflow.parser.training import ParserTrainer
from tests.parser.reading import tiny_config


def make_line(section: int, number: int, text: str) -> RFGLine:
    words = tuple(text.split())
    firsts = [len(" ".join([*words[:place], ""])) for place in range(len(words))]
    return RFGLine(section, number, text, words, tuple((a, a + len(b)) for a, b in zip(firsts, words, strict=True)))


SOUP = Example(
    "soup",
    RFGRecipe(
        (
            make_line(0, 0, "two onions"),
            make_line(1, 0, "Peel the onions . Chop them ."),
            make_line(1, 1, "Fry the onions in oil"),
        )
    ),
    ((0, 1, "Q"), (1, 2, "F"), (2, 3, "Ac"), (4, 5, "F"), (6, 7, "Ac"), (9, 10, "Ac"), (11, 12, "F"), (13, 14, "F")),
    ((0, 1, "other-mod"), (3, 2, "Targ"), (2, 4, "Targ"), (4, 6, "F-eq"), (6, 5, "Targ"), (7, 5, "Dest")),
)


def entities(example: Example) -> list[tuple[str, str]]:
    return [(" ".join(example.recipe.words[first:end]), tag) for first, end, tag in example.spans]


def flows(example: Example) -> list[tuple[str, str, str]]:
    found = entities(example)
    return [(found[start][0], found[end][0], label) for start, end, label in example.edges]


def test_sentences_end_at_full_stops_and_at_the_ends_of_lines() -> None:
    assert sentence_bounds(SOUP.recipe) == [0, 2, 6, 9, 14]
    assert sentence_bounds(RFGRecipe(())) == [0]


def test_a_part_has_the_entities_and_flows_that_are_inside() -> None:
    part = cut_words(SOUP, 2, 9)
    assert part.recipe.words == ["Peel", "the", "onions", ".", "Chop", "them", "."]
    assert [(line.section, line.number) for line in part.recipe.lines] == [(1, 0)]
    assert entities(part) == [("Peel", "Ac"), ("onions", "F"), ("Chop", "Ac")]
    assert flows(part) == [("onions", "Peel", "Targ"), ("Peel", "Chop", "Targ")]
    second = cut_words(SOUP, 6, 14)
    assert second.recipe.words == ["Chop", "them", ".", "Fry", "the", "onions", "in", "oil"]
    assert flows(second) == [("Chop", "onions", "F-eq"), ("onions", "Fry", "Targ"), ("oil", "Fry", "Dest")]
    assert [line.text[slice(*line.spans[0])] for line in second.recipe.lines] == ["Chop", "Fry"]
    assert cut_words(SOUP, 0, 14) == SOUP


def test_random_parts_are_whole_sentences_and_at_least_half_of_them(recipes) -> None:
    seen = set()
    for seed in range(60):
        part = random_part(SOUP, Random(seed))
        seen.add(" ".join(part.recipe.words))
        bounds = sentence_bounds(part.recipe)
        assert len(bounds) - 1 >= 2
    assert {len(words.split()) for words in seen} == {6, 7, 8, 9, 12, 14}  # of sentences of 2, 4, 3 and 5 words
    for example in read_examples(recipes).examples:
        label_tensors([random_part(example, Random(1))], RFGConfig())


def test_a_recipe_of_one_or_two_sentences_stays_whole() -> None:
    short = cut_words(SOUP, 2, 9)
    assert all(random_part(short, Random(seed)) is short for seed in range(20))
    empty = replace(SOUP, recipe=RFGRecipe(()), spans=(), edges=())
    assert random_part(empty, Random(0)) is empty


def test_every_epoch_reads_other_parts_and_the_same_ones_again_after_a_stop(recipes) -> None:
    def words(share: float, epoch: int, done: int = 0) -> list[list[int]]:
        config = tiny_config(part_share=share, recipes_per_batch=2)
        run = prepare_run(read_examples(recipes), config)
        trainer = ParserTrainer(run.model, run.processor, config, run.train_data, show_progress=False)
        return [batch.inputs["word_mask"].sum(dim=1).tolist() for batch in trainer.load_epoch(epoch, done)]

    def total(lengths: list[list[int]]) -> int:
        return sum(map(sum, lengths))

    torch.manual_seed(5)
    first = words(1.0, 0)
    torch.manual_seed(6)
    assert words(1.0, 0, done=2) == first[2:]
    assert total(words(0.0, 0)) == total(words(0.0, 1)) > total(first) != total(words(1.0, 1))
    assert total(words(0.0, 0)) > total(words(0.5, 0)) > total(words(1.0, 0))
