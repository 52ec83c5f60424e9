"""The retrieval model as a judge of frames for annotators' suggestions."""

import numpy as np
import pytest

from recipeflow.annotate.document import annotated_document
from recipeflow.annotate.suggest.film import look_at
from recipeflow.annotate.suggest.frames import FrameModel
from recipeflow.annotate.suggest.guess import MODEL
from recipeflow.annotate.suggest.guessing import guess_frames
from recipeflow.annotate.suggest.ranking import FrameRanker
from recipeflow.web.pictures import read_film
from tests.making import SALAD, make_release
from tests.search.searching import make_table


@pytest.fixture(scope="module")
def ranker(tmp_path_factory) -> FrameRanker:
    folder = tmp_path_factory.mktemp("ranking")
    model, processor = make_table(folder / "vrf", recipes=2).make_model()
    model.save_pretrained(folder / "model", processor=processor)
    return FrameRanker(str(folder / "model"))


def test_frames_are_ranked_for_an_action_and_its_object(ranker, tmp_path):
    release = make_release(tmp_path / "release", [SALAD])
    film = read_film(release / "recipes" / SALAD.id / "frames")
    document = annotated_document(SALAD, origin=None)
    pair = document.pairs[0]
    shares = ranker.rank(document, film, pair, film.numbers)
    assert shares.shape == (len(film.numbers),)
    assert np.isclose(shares.sum(), 1)
    traits = look_at(film.folder, film.numbers)
    guesses = guess_frames(
        document.change(pairs=()),
        FrameModel.untrained(),
        traits,
        lambda pair, frames: ranker.rank(document, film, pair, frames),
    )
    assert guesses
    assert {guess.origin for guess in guesses} == {MODEL}
