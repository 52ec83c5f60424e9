"""Each operation for itself: what it does, what it takes along, and what is refused, with the reason."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipeflow.annotate.document import HandList, annotated_document, blank_document
from recipeflow.annotate.items import list_items
from recipeflow.annotate.operations import OPERATIONS, apply, read_operation
from recipeflow.annotate.patches import apply_patch
from recipeflow.errors import RefusedError, RequestError
from recipeflow.graph import pair_objects
from tests.annotate.generating import draw_operation
from tests.making import SALAD, TEA

# Ids in SALAD: cucumber 0-0-0, tomato 0-1-3 (two words), salt 0-2-0; slice 1-0-5, halve 1-1-7, put 1-2-8, mix 1-2-10.
DOCUMENT = annotated_document(SALAD)


def do(document, op, **fields):
    """The document after an operation that undo takes back exactly, and what went along."""
    after, inverse, effects = apply(document, read_operation({"op": op, **fields}))
    assert apply_patch(after, inverse) == document
    return after, effects.as_dict()


def refused(document, op, **fields):
    with pytest.raises(RefusedError) as caught:
        apply(document, read_operation({"op": op, **fields}))
    assert caught.value.reason.startswith("expected")
    return caught.value.code, caught.value.detail


def tags(document):
    return {entity.id: (entity.tag, entity.end) for entity in document.entities}


def flows(document):
    return {(flow.start, flow.label, flow.end) for flow in document.flows}


def frames(document, action):
    return [(pair.object, pair.before, pair.after) for pair in document.objects[action]]


def test_tag_marks_words():
    after, effects = do(blank_document(SALAD), "tag", section=1, line=0, start=2, end=3, tag="F")
    assert tags(after) == {"1-0-2": ("F", 3)}
    assert effects == {}
    assert after.entities[0].origin is None


def test_tag_over_entities_merges_them_and_their_flows_follow():
    # 薄く (Sf) and 切り (Ac) become one action: the flow between them would lead from it to itself.
    after, effects = do(DOCUMENT, "tag", section=1, line=0, start=4, end=6, tag="Ac")
    assert tags(after)["1-0-4"] == ("Ac", 6) and "1-0-5" not in tags(after)
    assert ("1-0-2", "Targ", "1-0-4") in flows(after) and ("1-0-4", "F-set", "1-2-4") in flows(after)
    assert frames(after, "1-0-4") == [("1-0-2", 1, 3)]
    assert effects["renamed"] == {"1-0-5": "1-0-4"}
    assert [(flow["start"], flow["end"]) for flow in effects["removed_flows"]] == [("1-0-4", "1-0-5")]


def test_tag_over_a_part_of_an_entity_is_refused():
    assert refused(DOCUMENT, "tag", section=0, line=1, start=4, end=6, tag="F") == ("overlap", {"entity": "0-1-3"})


def test_merging_that_would_close_a_circle_is_refused():
    # Flows lead from the first of three words to the third, and from there to the second.
    document, _ = do(blank_document(TEA), "tag", section=1, line=0, start=2, end=3, tag="F")
    for start in (3, 4):
        document, _ = do(document, "tag", section=1, line=0, start=start, end=start + 1, tag="F")
    document, _ = do(document, "flow", start="1-0-2", end="1-0-4", label="F-eq")
    document, _ = do(document, "flow", start="1-0-4", end="1-0-3", label="F-eq")
    code, detail = refused(document, "tag", section=1, line=0, start=2, end=4, tag="F")
    assert code == "cycle" and detail["path"][0] == detail["path"][-1]


def test_retag_keeps_flows_and_frames():
    after, effects = do(DOCUMENT, "retag", entity="1-0-2", tag="T")
    assert flows(after) == flows(DOCUMENT)
    assert [frames(after, action) for action in after.objects] == [
        frames(DOCUMENT, action) for action in after.objects
    ]
    assert after.entities_by_id["1-0-2"].origin is None and effects == {}


def test_frames_of_an_action_that_is_none_any_more_are_kept_aside():
    after, effects = do(DOCUMENT, "retag", entity="1-0-5", tag="Af")
    assert "1-0-5" not in after.objects and all(change.action != "1-0-5" for change in after.recipe.state_changes)
    assert [(pair["key"], pair["before"]) for pair in effects["aside"]] == [("1-0-5/1-0-2", 1)]
    again, _ = do(after, "retag", entity="1-0-5", tag="Ac")
    assert frames(again, "1-0-5") == [("1-0-2", 1, 3)]
    assert flows(again) == flows(DOCUMENT)


def test_reshape_takes_everything_along():
    # The tomato of the list loses its first word, and with it its id.
    after, effects = do(DOCUMENT, "reshape", entity="1-1-2", start=3, end=4)
    assert effects["renamed"] == {"1-1-2": "1-1-3"}
    assert ("1-1-3", "Targ", "1-1-7") in flows(after) and ("0-1-3", "F-eq", "1-1-3") in flows(after)
    assert frames(after, "1-1-7") == [("1-1-3", 3, 5)]
    assert refused(DOCUMENT, "reshape", entity="1-1-2", start=2, end=6) == ("overlap", {"entity": "1-1-5"})
    assert refused(DOCUMENT, "reshape", entity="1-1-2", start=2, end=99)[0] == "span"


def test_split_leaves_everything_with_the_first_part():
    after, _ = do(DOCUMENT, "split", entity="1-1-2", at=3, tag="Sf")
    assert tags(after)["1-1-2"] == ("F", 3) and tags(after)["1-1-3"] == ("Sf", 4)
    assert flows(after) == flows(DOCUMENT)
    assert refused(DOCUMENT, "split", entity="1-0-2", at=3, tag=None) == ("split", {"at": 3})


def test_remove_takes_flows_and_frames_along_and_undo_brings_all_back():
    after, effects = do(DOCUMENT, "remove", entity="1-0-5")
    assert len(effects["removed_flows"]) == 3
    assert {pair["key"] for pair in effects["removed_objects"]} == {"1-0-5/1-0-2"}
    assert all("1-0-5" not in flow for flow in flows(after))
    assert "1-0-5" not in after.objects
    # 具材 stood for the product of slicing; now only the tomato is left of it.
    assert [name for name, _, _ in frames(after, "1-2-8")][:1] == ["1-1-2"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"start": "0-0-0", "end": "0-0-0", "label": "F-eq"}, ("self_loop", {"entity": "0-0-0"})),
        (
            {"start": "0-0-0", "end": "1-0-2", "label": "F-eq"},
            ("duplicate", {"start": "0-0-0", "end": "1-0-2", "label": "F-eq"}),
        ),
        ({"start": "0-0-0", "end": "1-0-0", "label": "F-eq"}, ("no_entity", {"entity": "1-0-0"})),
        ({"start": "0-0-0", "end": "1-0-2", "label": "Eats"}, ("label", {"label": "Eats"})),
        (
            {"start": "1-2-4", "end": "0-0-0", "label": "F-eq"},
            ("cycle", {"path": ["0-0-0", "1-0-2", "1-0-5", "1-2-4", "0-0-0"]}),
        ),
    ],
)
def test_flows_that_must_not_be(fields, expected):
    assert refused(DOCUMENT, "flow", **fields) == expected


def test_flows_stand_in_reading_order_so_that_objects_do():
    document, _ = do(DOCUMENT, "unflow", start="1-2-4", end="1-2-8", label="Targ")
    again, _ = do(document, "flow", start="1-2-4", end="1-2-8", label="Targ")
    assert [(flow.start, flow.end) for flow in again.flows] == [(flow.start, flow.end) for flow in DOCUMENT.flows]
    assert refused(document, "unflow", start="1-2-4", end="1-2-8", label="Targ")[0] == "no_flow"


def test_relabel():
    after, _ = do(DOCUMENT, "relabel", start="1-2-4", end="1-2-8", label="Targ", to="Dest")
    assert ("1-2-4", "Dest", "1-2-8") in flows(after)
    document, _ = do(DOCUMENT, "flow", start="1-2-4", end="1-2-8", label="Dest")
    assert refused(document, "relabel", start="1-2-4", end="1-2-8", label="Targ", to="Dest")[0] == "duplicate"


def test_objects_follow_the_flows_and_frames_stay_with_them():
    # 入れる: a set of the sliced cucumber's object and the tomato, then the salt.
    assert frames(DOCUMENT, "1-2-8") == [("1-0-2", 3, 7), ("1-1-2", 5, 7), ("1-2-6", "none", 7)]
    after, _ = do(DOCUMENT, "unflow", start="1-1-2", end="1-2-4", label="F-set")
    # No flow leads to the tomato any more, but its frames keep it, at the end.
    assert frames(after, "1-2-8") == [("1-0-2", 3, 7), ("1-2-6", "none", 7), ("1-1-2", 5, 7)]
    assert after.lists == DOCUMENT.lists
    gone, effects = do(after, "remove_object", key="1-2-8/1-1-2")
    assert frames(gone, "1-2-8") == [("1-0-2", 3, 7), ("1-2-6", "none", 7)]
    assert [(pair["before"], pair["after"]) for pair in effects["removed_objects"]] == [(5, 7)]
    assert gone.lists == DOCUMENT.lists  # it still follows the flows


def test_a_hand_edited_list_stays_until_it_is_reset():
    added, _ = do(DOCUMENT, "add_object", action="1-0-5", object="0-2-0", position=0)
    assert HandList("1-0-5", ("0-2-0", "1-0-2")) in added.lists
    moved, _ = do(added, "move_object", key="1-0-5/1-0-2", position=0)
    assert [name for name, _, _ in frames(moved, "1-0-5")] == ["1-0-2", "0-2-0"]
    changed, _ = do(moved, "flow", start="1-1-2", end="1-0-5", label="Targ")
    assert [name for name, _, _ in frames(changed, "1-0-5")] == ["1-0-2", "0-2-0"]
    assert changed.traced["1-0-5"] == ("1-0-2", "1-1-2")
    reset, effects = do(changed, "reset_objects", action="1-0-5")
    assert [pair["object"] for pair in effects["removed_objects"]] == ["0-2-0"]
    assert frames(reset, "1-0-5") == [("1-0-2", 1, 3), ("1-1-2", None, None)]


def test_objects_that_must_not_be():
    assert refused(DOCUMENT, "add_object", action="1-0-5", object="1-0-2")[0] == "duplicate_object"
    assert refused(DOCUMENT, "add_object", action="1-0-5", object="1-0-5")[0] == "self_loop"
    assert refused(DOCUMENT, "add_object", action="1-0-2", object="0-0-0") == ("not_action", {"entity": "1-0-2"})
    assert refused(DOCUMENT, "add_object", action="1-0-5", object="1-0-0") == ("no_entity", {"entity": "1-0-0"})
    assert refused(DOCUMENT, "add_object", action="1-0-5", object=None, position=5) == ("position", {"position": 5})
    assert refused(DOCUMENT, "remove_object", key="1-0-5/9-9-9") == ("no_object", {"key": "1-0-5/9-9-9"})


def test_an_object_without_a_name():
    after, _ = do(DOCUMENT, "add_object", action="1-0-5", object=None)
    after, _ = do(after, "add_object", action="1-0-5", object=None)
    after, _ = do(after, "frame", key="1-0-5/?1", side="after", value=9)
    assert frames(after, "1-0-5") == [("1-0-2", 1, 3), ("?0", None, None), ("?1", None, 9)]
    assert [pair.object and pair.object.id for pair in pair_objects(after.recipe) if pair.action.id == "1-0-5"] == [
        "1-0-2",
        None,
        None,
    ]


def test_frames():
    after, _ = do(DOCUMENT, "frame", key="1-0-5/1-0-2", side="before", value="none")
    assert frames(after, "1-0-5") == [("1-0-2", "none", 3)]
    after, _ = do(after, "frame", key="1-0-5/1-0-2", side="after", value=None)
    assert frames(after, "1-0-5") == [("1-0-2", "none", None)]
    order = refused(DOCUMENT, "frame", key="1-0-5/1-0-2", side="before", value=4)
    assert order == ("after_before", {"before": 4, "after": 3})
    # Both at once: the order counts only when both are set.
    both, _ = do(
        DOCUMENT,
        "frames",
        changes=[
            {"key": "1-0-5/1-0-2", "side": "before", "value": 4},
            {"key": "1-0-5/1-0-2", "side": "after", "value": 6},
        ],
    )
    assert frames(both, "1-0-5") == [("1-0-2", 4, 6)]
    for value in (0, -1, "12", 2**40):
        assert refused(DOCUMENT, "frame", key="1-0-5/1-0-2", side="after", value=value) == (
            "no_frame",
            {"value": value},
        )
    assert refused(DOCUMENT, "frame", key="1-0-5/1-0-2", side="beside", value=1)[0] == "side"


def test_nothing_new_is_no_operation():
    assert refused(DOCUMENT, "retag", entity="0-0-0", tag="F") == ("unchanged", {})
    assert refused(DOCUMENT, "tag", section=0, line=0, start=0, end=1, tag="F") == ("unchanged", {})
    assert refused(DOCUMENT, "frame", key="1-0-5/1-0-2", side="after", value=3) == ("unchanged", {})
    assert refused(DOCUMENT, "done", step="words", done=False) == ("unchanged", {})


def test_steps_are_declared_done():
    after, _ = do(DOCUMENT, "done", step="frames", done=True)
    after, _ = do(after, "done", step="words", done=True)
    assert after.done == ("words", "frames")
    assert refused(after, "done", step="dessert", done=True) == ("step", {"step": "dessert"})


def listed(document, *prefixes):
    return [item.as_dict(document) for key, item in list_items(document).items() if key.startswith(prefixes)]


def test_everything_can_be_accepted_from_bare_words():
    after, effects = do(blank_document(SALAD), "accept", origin="model", items=listed(DOCUMENT, "")[::-1])
    assert effects == {}
    assert set(after.recipe.flows) == set(SALAD.flows) and after.recipe.entities == SALAD.entities
    assert after.recipe.state_changes == SALAD.state_changes
    assert {entity.origin for entity in after.entities} == {flow.origin for flow in after.flows} == {"model"}


def test_accepting_keeps_what_exists_unless_asked_to_replace_it():
    document, _ = do(blank_document(SALAD), "tag", section=0, line=0, start=0, end=1, tag="T")
    items = listed(DOCUMENT, "ne:0-0-0:", "ne:0-2-0:", "fg:0-0-0>")
    after, effects = do(document, "accept", origin="model", items=items)
    assert tags(after) == {"0-0-0": ("T", 1), "0-2-0": ("F", 1)}
    assert {(skip["key"], skip["code"]) for skip in effects["skipped"]} == {
        ("ne:0-0-0:1:F", "overlap"),
        ("fg:0-0-0>1-0-2:F-eq", "no_entity"),
    }
    after, _ = do(document, "accept", origin="model", items=items[:1], replace=True)
    assert tags(after) == {"0-0-0": ("F", 1)}
    code, detail = refused(after, "accept", origin="model", items=items[:1])
    assert code == "nothing_accepted" and detail["skipped"][0]["code"] == "overlap"


def test_accepting_an_image_fills_what_is_unset():
    document, _ = do(DOCUMENT, "frame", key="1-0-5/1-0-2", side="before", value=2)
    document, _ = do(document, "frame", key="1-0-5/1-0-2", side="after", value=None)
    items = listed(DOCUMENT, "im:1-0-5/1-0-2")
    assert items[0]["key"] == "im:1-0-5/1-0-2:1:3"
    after, _ = do(document, "accept", origin="model", items=items)
    assert frames(after, "1-0-5") == [("1-0-2", 2, 3)]
    after, _ = do(document, "accept", origin="model", items=items, replace=True)
    assert frames(after, "1-0-5") == [("1-0-2", 1, 3)]


def test_rejections_are_remembered_by_origin():
    after, _ = do(DOCUMENT, "reject", origin="model", keys=["ne:1-0-0:1:F"])
    assert [(rejection.origin, rejection.key) for rejection in after.rejected] == [("model", "ne:1-0-0:1:F")]
    assert refused(after, "reject", origin="model", keys=["ne:1-0-0:1:F"]) == ("unchanged", {})
    again, _ = do(after, "reconsider", origin="model", keys=["ne:1-0-0:1:F"])
    assert again == DOCUMENT


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        {"op": "dance"},
        {"op": ["tag"]},
        {"op": "retag", "entity": "0-0-0"},
        {"op": "retag", "entity": 3, "tag": "F"},
        {"op": "retag", "entity": "0-0-0", "tag": "F", "more": 1},
        {"op": "done", "step": "words", "done": 1},
        {"op": "tag", "section": True, "line": 0, "start": 0, "end": 1, "tag": "F"},
        {"op": "frames", "changes": {"key": "a"}},
        {"op": "frames", "changes": [3]},
        {"op": "accept", "origin": "m", "items": [{"key": "x", "kind": "soup", "item": {}}]},
        {"op": "accept", "origin": "m", "items": [{"key": "x", "kind": "flow", "item": {"start": "a"}}]},
        {
            "op": "accept",
            "origin": "m",
            "items": [{"key": "x", "kind": "flow", "item": {"start": "a", "end": "b", "label": "Targ"}}],
        },
    ],
)
def test_what_is_no_operation(raw):
    with pytest.raises(RequestError, match="expected"):
        apply(DOCUMENT, read_operation(raw))


ODD = st.one_of(
    st.sampled_from(
        ["", "-", "1-0", "1-0-5/", "/", "?0", "1-0-5/?x", "½-1-1", "-1--1-0", "ne:", "\ud800", "9" * 5000]
    ),
    st.integers(),
    st.none(),
    st.booleans(),
    st.floats(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.data())
def test_whatever_is_sent_is_done_or_refused(seed, data):
    """An operation with one or two odd values in it, however deep, never ends in another error."""
    raw = draw_operation(Random(seed), DOCUMENT, listed(DOCUMENT, ""))
    for _ in range(data.draw(st.integers(1, 2))):
        place = raw
        while True:
            key = data.draw(st.sampled_from(sorted(place))) if isinstance(place, dict) else 0
            if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
                break
            place = place[key]
        place[key] = data.draw(ODD)
        if not isinstance(raw, dict) or not raw:
            break
    try:
        do(DOCUMENT, raw.pop("op", None), **{str(name): value for name, value in raw.items()})
    except (RequestError, RefusedError) as refusal:
        assert "expected" in str(refusal)


def test_every_operation_has_a_name_and_a_meaning():
    assert len(OPERATIONS) == len(set(OPERATIONS.values())) == 23
    assert all(kind.__doc__ for kind in OPERATIONS.values())
