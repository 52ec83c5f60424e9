from collections import Counter

import networkx as nx

from recipeflow.graph import build_graph, pair_objects, trace_objects
from recipeflow.release import read_release
from tests.making import EGG, SALAD, make_recipe


def texts(recipe):
    """The traced objects of each action, all by their text."""
    found = trace_objects(recipe)
    return [(recipe.entities[action].text, [recipe.entities[o].text for o in found[action]]) for action in found]


def cook(words: str, flows: str, changes: str = ""):
    return make_recipe("test", "test", "塩/F", words, flows, changes)


def test_the_graph_has_every_entity_and_every_labelled_flow():
    graph = build_graph(SALAD)
    assert graph.graph == {"recipe_id": SALAD.id}
    assert list(graph.nodes) == list(SALAD.entities)
    assert graph.nodes["1-0-2"]["entity"].text == "きゅうり"
    assert list(graph.edges(keys=True)) == sorted(
        ((flow.start, flow.end, flow.label) for flow in SALAD.flows), key=lambda edge: list(graph.nodes).index(edge[0])
    )
    assert graph.edges["1-0-2", "1-0-5", "Targ"] == {"label": "Targ"}
    assert nx.is_directed_acyclic_graph(graph)


def test_two_entities_can_be_linked_twice():
    recipe = cook("水/F:water を 沸かし/Ac:boil", "water Targ boil\nwater Dest boil")
    assert build_graph(recipe).number_of_edges("1-0-0", "1-0-2") == 2


def test_targets_in_their_order():
    recipe = cook("油/F:oil 酢/F:vinegar 混ぜ/Ac:mix", "vinegar Targ mix\noil Targ mix")
    assert texts(recipe) == [("混ぜ", ["酢", "油"])]


def test_other_labels_are_no_objects():
    recipe = cook("油/F:oil 鍋/T:pan 熱し/Ac:heat", "pan Dest heat\noil Agent heat")
    assert texts(recipe) == [("熱し", [])]


def test_a_set_stands_for_its_members_and_an_action_in_it_for_its_objects():
    assert texts(SALAD) == [
        ("切り", ["きゅうり"]),
        ("切り", ["ミニトマト"]),
        ("入れ", ["きゅうり", "ミニトマト", "塩"]),
        ("混ぜ", ["入れ"]),
    ]


def test_sets_within_sets():
    recipe = cook(
        "肉/F:meat 卵/F:egg 葱/F:leek 切り/Ac:cut Ａ/F:a Ｂ/F:b 和え/Ac:dress",
        "leek Targ cut\nmeat F-set a\ncut F-set a\na F-set b\negg F-set b\nb Targ dress",
    )
    assert texts(recipe) == [("切り", ["葱"]), ("和え", ["肉", "葱", "卵"])]


def test_an_action_without_objects_stands_for_itself_in_a_set():
    recipe = cook("洗い/Ac:wash 具/F:all 盛る/Ac:serve", "wash F-set all\nall Targ serve")
    assert texts(recipe) == [("洗い", []), ("盛る", ["洗い"])]


def test_an_object_on_two_ways_counts_once():
    recipe = cook("卵/F:egg 具/F:all 盛る/Ac:serve", "egg F-set all\nall Targ serve\negg Targ serve")
    assert texts(recipe) == [("盛る", ["卵"])]


def test_long_chains_and_nested_sets_end():
    layers = 400
    words = " ".join(f"左/F:l{i} 右/F:r{i}" for i in range(layers)) + " 盛る/Ac:serve"
    flows = [f"{a}{i} F-set {b}{i + 1}" for i in range(layers - 1) for a in "lr" for b in "lr"]
    recipe = cook(words, "\n".join([*flows, f"l{layers - 1} Targ serve"]))
    assert texts(recipe) == [("盛る", ["左", "右"])]


def test_state_changes_take_the_objects_in_order_and_a_surplus_has_none():
    pairs = [
        (pair.action.text, pair.object and pair.object.text, pair.change.before, pair.change.after)
        for pair in pair_objects(SALAD)
    ]
    assert pairs == [
        ("切り", "きゅうり", 1, 3),
        ("切り", "ミニトマト", 3, 5),
        ("入れ", "きゅうり", 3, 7),
        ("入れ", "ミニトマト", 5, 7),
        ("入れ", "塩", None, 7),
        ("混ぜ", "入れ", 7, None),
        ("混ぜ", None, None, None),
    ]


def test_a_surplus_of_one_action_does_not_shift_the_next():
    recipe = cook(
        "卵/F:egg 割り/Ac:crack 油/F:oil 熱し/Ac:heat",
        "egg Targ crack\noil Targ heat",
        "crack 1 2\nheat 5 6\ncrack 3 4",
    )
    assert [pair.object and pair.object.text for pair in pair_objects(recipe)] == ["卵", "油", None]


def test_fewer_state_changes_than_objects():
    recipe = cook("卵/F:egg 油/F:oil 混ぜ/Ac:mix", "egg Targ mix\noil Targ mix", "mix 1 2")
    assert [pair.object.text for pair in pair_objects(recipe)] == ["卵"]
    assert [pair.change for pair in pair_objects(EGG)] == list(EGG.state_changes)


def test_tracing_the_official_release(official):
    actions = equal = changes = surplus = 0
    for recipe in read_release(official):
        assert nx.is_directed_acyclic_graph(build_graph(recipe))
        annotated = Counter(change.action for change in recipe.state_changes)
        traced = trace_objects(recipe)
        actions += len(traced)
        equal += sum(len(objects) == annotated[action] for action, objects in traced.items())
        pairs = pair_objects(recipe)
        assert [pair.change for pair in pairs] == list(recipe.state_changes)
        changes += len(pairs)
        missing = sum(max(0, count - len(traced[action])) for action, count in annotated.items())
        assert sum(pair.object is None for pair in pairs) == missing
        surplus += missing
    assert actions == 2532
    assert equal >= 2506
    assert changes == 3705
    assert surplus < 40
