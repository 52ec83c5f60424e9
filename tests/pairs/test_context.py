"""What the flow graph says about a row, on small graphs."""

from recipeflow.pairs.context import MOST_WORDS, Picture, RecipeHistory, describe_row, last_seen
from recipeflow.release.recipe import LABELS, TAGS

TAG, LABEL = {tag: i for i, tag in enumerate(TAGS)}, {label: i for i, label in enumerate(LABELS)}


def history(nodes: str, edges: str) -> RecipeHistory:
    """Nodes as ``id/TAG``, edges as ``start label end``."""
    return RecipeHistory(
        [{"id": name, "tag": TAG[tag]} for name, tag in (node.split("/") for node in nodes.split())],
        [
            {"start": start, "label": LABEL[label], "end": end}
            for start, label, end in (line.split() for line in edges.strip().splitlines())
        ],
    )


# Cabbage is cut thinly and put with carrot into a large bowl, which is then mixed for a minute.
SALAD = history(
    "cabbage/F carrot/F thin/Sf cut/Ac bowl/T large/St put/Ac minute/D mix/Ac",
    """
    cabbage Targ cut
    thin other-mod cut
    cut Targ put
    carrot Targ put
    bowl Dest put
    large other-mod bowl
    put Targ mix
    minute other-mod mix
    """,
)
WORDS = {name: (name,) for name in SALAD.tags}


def test_manner_and_destination():
    assert describe_row(SALAD, "cut", "cabbage", ["cabbage"], WORDS) == (("modifier", "thin"),)
    assert describe_row(SALAD, "put", "carrot", ["cut", "carrot"], WORDS) == (
        ("destination", "bowl"),
        ("together", "cut"),
    )


def test_history_goes_back_to_the_ingredients_with_what_was_said_on_the_way():
    found = describe_row(SALAD, "mix", "put", ["put"], WORDS)
    assert found[0] == ("modifier", "minute")
    assert set(found[1:]) == {
        ("done", "cut"),
        ("from", "carrot"),
        ("from", "cabbage"),
        ("state", "thin"),
    }


def test_the_manner_in_which_an_object_was_made_is_in_its_context():
    assert set(describe_row(SALAD, "put", "cut", ["cut", "carrot"], WORDS)) == {
        ("destination", "bowl"),
        ("together", "carrot"),
        ("state", "thin"),
        ("from", "cabbage"),
    }


def test_what_comes_after_the_action_is_never_in_its_context():
    """The answer would be in the question."""
    found = describe_row(SALAD, "cut", "cabbage", ["cabbage"], WORDS)
    assert not {word for _, word in found} & {"cut", "put", "mix", "bowl"}


# Avocado and tomato are cut, each for itself; all of it is added, so that avocado and tomato are the objects again.
ALL_OF_IT = history(
    "avocado/F cut/Ac cubes/Sf tomato/F slice/Ac all/F add/Ac",
    """
    avocado Targ cut
    cubes other-mod cut
    tomato Targ slice
    cut F-set all
    slice F-set all
    all Targ add
    """,
)


def test_what_was_done_to_a_member_of_a_set_is_in_its_context():
    words = {name: (name,) for name in ALL_OF_IT.tags}
    assert set(describe_row(ALL_OF_IT, "add", "avocado", ["avocado", "tomato"], words)) == {
        ("together", "tomato"),
        ("from", "all"),
        ("done", "cut"),
        ("state", "cubes"),
    }


def test_without_text_or_object_there_is_little_context():
    assert describe_row(SALAD, "put", "carrot", ["cut", "carrot"], {}) == ()
    assert describe_row(SALAD, "put", None, [None], WORDS) == (("destination", "bowl"),)


def test_a_context_has_an_end():
    many = history(
        "cut/Ac " + " ".join(f"m{i}/Sf" for i in range(40)), "\n".join(f"m{i} other-mod cut" for i in range(40))
    )
    assert len(describe_row(many, "cut", None, [], {f"m{i}": (f"m{i}",) for i in range(40)})) == MOST_WORDS


def pictures(*found: str) -> dict[str, list[Picture]]:
    """Pictures as ``action/object/frame/image``."""
    by_action: dict[str, list[Picture]] = {}
    for action, entity, frame, image in (text.split("/") for text in found):
        by_action.setdefault(action, []).append(Picture(entity, int(frame), int(image)))
    return by_action


def test_the_last_picture_is_the_nearest_one_back():
    assert last_seen(SALAD, "mix", "put", pictures("put/carrot/30/5", "cut/cabbage/10/2"), None) == 5
    assert last_seen(SALAD, "mix", "put", pictures("cut/cabbage/10/2"), None) == 2
    assert last_seen(SALAD, "put", "carrot", pictures("cut/cabbage/10/2", "put/carrot/30/5"), None) == -1
    assert last_seen(SALAD, "mix", None, pictures("cut/cabbage/10/2"), None) == -1


def test_of_several_pictures_of_an_action_the_objects_own_comes_first_then_the_latest():
    assert last_seen(ALL_OF_IT, "add", "tomato", pictures("cut/avocado/10/1", "slice/tomato/20/2"), None) == 2
    both = pictures("cut/avocado/10/1", "cut/tomato/20/2")
    assert last_seen(ALL_OF_IT, "add", "avocado", both, None) == 1
    assert last_seen(SALAD, "mix", "put", pictures("put/carrot/30/5", "put/cut/40/6"), None) == 6


def test_the_answer_and_what_comes_after_it_are_never_the_last_picture():
    seen = pictures("put/carrot/30/5", "cut/cabbage/10/2")
    assert last_seen(SALAD, "mix", "put", seen, Picture("put", 31, 6)) == 5
    assert last_seen(SALAD, "mix", "put", seen, Picture("put", 31, 5)) == 2, "the same image shows both results"
    assert last_seen(SALAD, "mix", "put", seen, Picture("put", 30, 6)) == 2
    assert last_seen(SALAD, "mix", "put", seen, Picture("put", 9, 6)) == -1
