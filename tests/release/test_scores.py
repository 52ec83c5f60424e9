import pytest

from recipeflow.errors import BrokenJSONError, WrongTypeError
from recipeflow.release import ReleaseWriter, Scores, check_release, read_release, read_scores, release_fingerprint
from tests.making import SALAD, TEA, frames_of

SCORES = Scores(dict.fromkeys(TEA.entities, 0.5), dict.fromkeys(TEA.flows, 1.0))


@pytest.fixture
def predicted(tmp_path):
    with ReleaseWriter(tmp_path / "out") as writer:
        writer.add(TEA, frames_of(TEA), SCORES)
        writer.add(SALAD)
    return tmp_path / "out"


def test_scores_are_beside_the_recipe_and_no_reader_minds_them(predicted):
    assert read_scores(predicted, TEA.id) == SCORES
    assert read_scores(predicted, SALAD.id) is None
    assert list(read_release(predicted)) == [TEA, SALAD]
    assert check_release(predicted) == []


def test_new_scores_are_a_new_release(predicted):
    before = release_fingerprint(predicted)
    (predicted / "recipes" / TEA.id / "scores.json").write_text(Scores().to_json(), encoding="utf-8")
    assert release_fingerprint(predicted) != before


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{", BrokenJSONError),
        ("[]", WrongTypeError),
        ('{"entities": {"1-0-0": 2}, "flows": []}', WrongTypeError),
        ('{"entities": {}, "flows": [{"start": "1-0-0"}]}', WrongTypeError),
        ('{"entities": {"1-0-0": true}, "flows": []}', WrongTypeError),
    ],
)
def test_a_bad_file_is_named(predicted, text, kind):
    (predicted / "recipes" / TEA.id / "scores.json").write_text(text, encoding="utf-8")
    with pytest.raises(kind, match=f"recipes/{TEA.id}/scores.json"):
        read_scores(predicted, TEA.id)
