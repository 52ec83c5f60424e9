"""Which state continues which, and what becomes of a graph with a cycle."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from flows_vrf import break_cycles, make_script, sort_flows
from recipeflow.graph import pair_objects
from recipeflow.release import read_release
from recipeflow.storyboard.scripts import script_of
from tests.making import EGG, SALAD, TEA, make_recipe


def chain(recipe) -> list[tuple[str, str, int | None, int]]:
    script = script_of(recipe)
    names = {node: script.nodes[node]["text"] for node in script.nodes}
    return [(names[state.action], names[state.object], state.before, state.depth) for state in script.states]


def test_what_is_put_into_an_empty_bowl_continues_itself_and_the_rest_continues_the_bowl():
    assert chain(SALAD) == [
        ("切り", "きゅうり", None, 1),
        ("切り", "ミニトマト", None, 1),
        ("入れ", "きゅうり", 0, 2),
        ("入れ", "ミニトマト", 2, 3),
        ("入れ", "塩", 3, 4),
        ("混ぜ", "入れ", 4, 5),
    ]


def test_what_is_added_continues_the_destination():
    # The egg is boiled in water that was boiled before; the shell is peeled off the egg, not off the water.
    assert chain(EGG) == [("沸かし", "水", None, 1), ("茹で", "卵", 0, 2), ("むき", "殻", None, 1)]
    assert chain(TEA) == [("冷やし", "麦茶", None, 1), ("注ぎ", "麦茶", None, 1)]


def test_of_two_things_cut_at_once_each_continues_its_namesake():
    both = make_recipe(
        "both",
        "both",
        "レタス/F:a\nトマト/F:b",
        "レタス/F:a1 と トマト/F:b1 を 切/Ac:cut る\nレタス/F:a2 を 洗/Ac:wash う",
        "a F-eq a1\nb F-eq b1\na1 Targ cut\nb1 Targ cut\ncut F-eq a2\na2 Targ wash",
    )
    assert chain(both) == [("切", "レタス", None, 1), ("切", "トマト", None, 1), ("洗", "レタス", 0, 2)]


def test_the_context_says_how_and_what_was_done_before():
    script = script_of(SALAD)
    assert script.contexts[0] == {"modifier": ("薄く",), "from": ("きゅうり",)}
    assert script.contexts[2]["together"] == ("ミニ", "トマト", "塩") and "切り" in script.contexts[2]["done"]


def same_frames(recipes) -> dict[str, list[bool]]:
    """By rule, whether the annotated frame before each action is the frame after the state that it continues."""
    found: dict[str, list[bool]] = {"destination": [], "next object": [], "own": []}
    for recipe in recipes:
        script = script_of(recipe)
        rows = {(pair.action.id, pair.object.id): pair.change for pair in pair_objects(recipe) if pair.object}
        filled = {end for _, end, label in script.flows if label == "Dest"}
        for state in script.states:
            change, earlier = rows.get((state.action, state.object)), state.before
            before = None if earlier is None else script.states[earlier]
            last = before and rows.get((before.action, before.object))
            if change and last and change.before and last.after:
                rule = "own" if state.action not in filled else "destination"
                found["next object" if before.action == state.action else rule].append(change.before == last.after)
    return found


def test_the_official_annotation_follows_these_rules(official):
    found = same_frames(read_release(official))
    assert {rule: len(same) > 300 for rule, same in found.items()} == dict.fromkeys(found, True)
    assert sum(found["next object"]) / len(found["next object"]) > 0.8
    assert sum(found["own"]) / len(found["own"]) > 0.8


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 8))
    nodes = [{"id": f"n{i}", "tag": draw(st.sampled_from(["Ac", "F"])), "text": f"w{i}"} for i in range(size)]
    ends = st.integers(0, size - 1)
    label = st.sampled_from(["Targ", "Dest", "F-eq", "F-set", "other-mod"])
    edges = draw(st.lists(st.tuples(ends, ends, label, st.floats(0, 1)), max_size=16))
    return nodes, [{"start": f"n{s}", "end": f"n{e}", "label": kind, "score": p} for s, e, kind, p in edges]


@given(graphs())
def test_any_graph_becomes_states_that_come_after_what_they_continue(graph):
    nodes, edges = graph
    script = make_script(nodes, edges)
    assert nx.is_directed_acyclic_graph(nx.DiGraph([flow[:2] for flow in script.flows]))
    assert len(script.flows) + len(script.removed) == len(edges)
    for number, state in enumerate(script.states):
        assert state.before is None or state.before < number
        assert state.depth == (1 if state.before is None else script.states[state.before].depth + 1)


@given(graphs())
def test_the_order_is_that_of_reading_wherever_flows_allow_it(graph):
    nodes, edges = graph
    ids = [node["id"] for node in nodes]
    flows, _ = break_cycles(ids, edges)
    twin = nx.DiGraph([flow[:2] for flow in flows])
    twin.add_nodes_from(ids)
    assert sort_flows(ids, flows) == list(nx.lexicographical_topological_sort(twin, ids.index))


def test_the_least_certain_flow_of_a_cycle_goes():
    edges = [("a", "b", 0.9), ("b", "c", 0.2), ("c", "a", 0.8)]
    kept, removed = break_cycles("abc", [{"start": s, "end": e, "label": "Targ", "score": p} for s, e, p in edges])
    assert kept == [("a", "b", "Targ"), ("c", "a", "Targ")] and removed == [("b", "c", "Targ")]
