"""The chain of queries: batches by depth against one query after the other."""

import pytest
import torch

from imagination_vrf import Candidates, Questions, imagine_states
from recipeflow.storyboard.scripts import script_of
from storyboard_vrf import make_queries, word_tensors
from tests.making import SALAD
from words_vrf import Translator

TEMPERATURE = 0.1


@pytest.fixture
def asked(retriever) -> tuple[Questions, Candidates]:
    script = script_of(SALAD)
    queries = make_queries(script, retriever.model, Translator({}, retriever.processor))
    words = word_tensors(queries, retriever.processor)
    vectors = torch.cat([torch.from_numpy(part) for part in retriever.index.vectors()])
    features = torch.from_numpy(retriever.index.features.astype("float32"))
    temperatures = torch.full((len(script.states), 2), TEMPERATURE)
    return Questions(script.states, words, temperatures), Candidates(vectors, lambda rows: features[rows])


@torch.no_grad()
def one_by_one(model, questions, candidates, beam, number) -> torch.Tensor:
    """The same for one state, by the definition: each earlier state is imagined again for it."""

    def ask(feature):
        words = {name: ids[number : number + 1] for name, ids in questions.words.items()}
        given = feature is not None
        pre = feature[None] if given else torch.zeros(1, model.image_encoder.hidden.in_features)
        query = model.get_query_embeds(**words, pre_features=pre, pre_mask=torch.tensor([given]))
        return (query @ candidates.embeds.T / TEMPERATURE).softmax(1)[0]

    before = questions.states[number].before
    if before is None:
        return ask(None)
    earlier = one_by_one(model, questions, candidates, beam, before)
    chances, rows = earlier.topk(beam)
    found = sum(chance * ask(candidates.features(row[None])[0]) for chance, row in zip(chances, rows, strict=True))
    return found + (1 - chances.sum()) * ask(None)


def test_states_asked_together_have_the_same_answers_as_one_after_the_other(retriever, asked):
    found = imagine_states(retriever.model, *asked, beam=3)
    for number in range(len(asked[0].states)):
        expected = one_by_one(retriever.model, *asked, 3, number)
        torch.testing.assert_close(found.chances[number], expected, rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(found.chances.sum(1), torch.ones(len(asked[0].states)))
    assert found.has_picture.tolist()[:2] == [False, False]


def test_without_carrying_every_state_is_asked_without_a_picture(retriever, asked):
    found = imagine_states(retriever.model, *asked, beam=0)
    alone = imagine_states(retriever.model, Questions([*asked[0].states[:1]], *_first(asked[0])), asked[1])
    torch.testing.assert_close(found.chances[0], alone.chances[0])
    assert not found.has_picture.any()


def _first(questions: Questions) -> tuple:
    return {name: ids[:1] for name, ids in questions.words.items()}, questions.temperatures[:1]


def test_a_picture_of_a_state_changes_what_continues_it_and_nothing_else(retriever, asked):
    questions, candidates = asked
    picture = candidates.features(torch.tensor([3]))[0]
    plain = imagine_states(retriever.model, questions, candidates)
    own = Questions(questions.states, questions.words, questions.temperatures, after={2: picture})
    changed = imagine_states(retriever.model, own, candidates)
    same = [torch.equal(one, other) for one, other in zip(plain.chances, changed.chances, strict=True)]
    assert same == [True, True, True, False, False, False]
    assert changed.has_picture[3]


def test_a_state_with_unknown_words_gets_no_picture_and_passes_none_on(retriever, asked):
    questions, candidates = asked
    lost = Questions(questions.states, questions.words, questions.temperatures, unasked=frozenset({0}))
    found = imagine_states(retriever.model, lost, candidates)
    assert not found.chances[0].any() and not found.has_picture[2]
