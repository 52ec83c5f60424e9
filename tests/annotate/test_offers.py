"""The offered before-frame, measured against what the paper's annotators chose."""

from recipeflow.annotate.document import annotated_document
from recipeflow.annotate.offers import offer_frames
from recipeflow.release import read_release
from tests.making import SALAD


def test_most_official_before_frames_are_offered(official):
    """Each object's before-frame, with everything before it annotated as in the release."""
    right = total = 0
    for recipe in read_release(official):
        document = annotated_document(recipe)
        offers = offer_frames(document)
        for pair in document.pairs:
            if isinstance(pair.before, int):
                total += 1
                right += offers.get(pair.key) == pair.before
    print(f"offered rightly: {right} of {total} before-frames ({right / total:.1%})")
    assert total == 2610
    # 66.0 %. The last after-frame alone is right for 1,595 (61.1 %), the object's own last one for 468 (17.9 %).
    assert right == 1722


def test_only_what_comes_before_counts():
    """The first object has no offer; a new instruction with a fresh food begins one frame later."""
    document = annotated_document(SALAD)
    offers = offer_frames(document)
    first, halve, put, *_ = [pair.key for listed in document.objects.values() for pair in listed]
    assert first not in offers
    assert offers[halve] == 4  # sliced until frame 3, then another instruction with the tomato
    assert offers[put] == 5  # きゅうり was sliced until 3, but the film is at 5
