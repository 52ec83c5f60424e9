"""What the flow graph tells of a row, on small graphs and on the kitchen."""

from recipeflow.context import MOST_WORDS, RecipeHistory, describe_row, last_seen
from recipeflow.recipe import LABELS, TAGS

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


def test_history_goes_back_to_the_ingredients_with_what_was_told_on_the_way():
    found = describe_row(SALAD, "mix", "put", ["put"], WORDS)
    assert found[0] == ("modifier", "minute")
    assert set(found[1:]) == {
        ("done", "cut"),
        ("from", "carrot"),
        ("from", "cabbage"),
        ("state", "thin"),
    }


def test_an_action_is_not_its_own_history_and_other_actions_results_do_not_leak():
    """What comes after the action is never told: the answer would be in the question."""
    found = describe_row(SALAD, "cut", "cabbage", ["cabbage"], WORDS)
    assert not {word for _, word in found} & {"cut", "put", "mix", "bowl"}


def test_without_text_or_object_there_is_little_to_tell():
    assert describe_row(SALAD, "put", "carrot", ["cut", "carrot"], {}) == ()
    assert describe_row(SALAD, "put", None, [None], WORDS) == (("destination", "bowl"),)


def test_a_context_has_an_end():
    many = history(
        "cut/Ac " + " ".join(f"m{i}/Sf" for i in range(40)), "\n".join(f"m{i} other-mod cut" for i in range(40))
    )
    assert len(describe_row(many, "cut", None, [], {f"m{i}": (f"m{i}",) for i in range(40)})) == MOST_WORDS


def test_the_last_picture_is_the_nearest_one_back():
    assert last_seen(SALAD, "put", {"put": (30, 5), "cut": (10, 2)}) == 5
    assert last_seen(SALAD, "put", {"cut": (10, 2)}) == 2
    assert last_seen(SALAD, "carrot", {"cut": (10, 2), "put": (30, 5)}) == -1
    assert last_seen(SALAD, None, {"cut": (10, 2)}) == -1
