"""What a recipe's flow graph says about each action: its objects, its context, and which picture shows them before it.

Nothing here needs more than ids, tags and flows, so it works on annotated recipes and on what a parser read alike.

This file is saved with every model that has an index and imports nothing from the project.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Flow = tuple[str, str, str]
"""Start, end and label."""

Words = tuple[str, ...]
Context = tuple[tuple[str, str], ...]
"""Words with their roles, from `configuration_vrf.CONTEXT_ROLES`."""

ACTION, OBJECT, MEMBER, DESTINATION = "Ac", "Targ", "F-set", "Dest"
MANNER = ("other-mod", "T-comp", "F-comp", "V-tm")
"""Flows into an action that say how, with what or when it is done."""

MATERIAL = (OBJECT, DESTINATION, "F-eq", MEMBER, "F-part-of", "F-comp")
"""Flows along which food goes from the ingredient list to the dish."""

HISTORY_ROLES = {"Ac": "done", "F": "from", "Sf": "state"}
DEEPEST = 6
"""How many flows back history goes; what was done earlier is hardly visible any more."""

MOST_WORDS = 24
"""The largest number of words in a context, the nearest first."""


def sort_flows(nodes: Iterable[str], flows: Collection[Flow]) -> list[str]:
    """The nodes in an order in which everything exists before it is used, otherwise in the given order.

    What is part of a cycle, or comes after one, is missing.
    """
    position = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
    following: dict[str, set[str]] = {node: set() for node in position}
    for start, end, _ in flows:
        following[start].add(end)
    missing = dict.fromkeys(position, 0)
    for ends in following.values():
        for end in ends:
            missing[end] += 1
    ready = [(number, node) for node, number in position.items() if not missing[node]]
    heapq.heapify(ready)
    found = []
    while ready:
        _, node = heapq.heappop(ready)
        found.append(node)
        for end in following[node]:
            missing[end] -= 1
            if not missing[end]:
                heapq.heappush(ready, (position[end], end))
    return found


def trace_objects(actions: Iterable[str], order: Iterable[str], flows: Iterable[Flow]) -> dict[str, tuple[str, ...]]:
    """The objects of every action, in the order of the annotation.

    The sources of the `Targ` flows into the action, in order; a source with incoming `F-set` flows stands for its
    members, and a member that is an action stands for that action's own objects. An object that is reached in two ways
    counts once.

    Args:
        actions: Their ids.
        order: All ids, as `sort_flows` sorts them. So long chains need no recursion, and nested sets cannot explode.
        flows: All flows.
    """
    sources: dict[str, defaultdict[str, list[str]]] = {OBJECT: defaultdict(list), MEMBER: defaultdict(list)}
    for start, end, label in flows:
        if label in sources:
            sources[label][end].append(start)
    objects: dict[str, list[str]] = {action: [] for action in actions}
    stands_for: dict[str, list[str]] = {}
    for node in order:
        if node in objects:
            objects[node] = _unique(found for source in sources[OBJECT][node] for found in stands_for[source])
        members = [objects.get(member) or stands_for[member] for member in sources[MEMBER][node]]
        stands_for[node] = _unique(found for member in members for found in member) or [node]
    return {action: tuple(found) for action, found in objects.items()}


def _unique(nodes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(nodes))


class FlowHistory:
    """A flow graph, to be walked backwards.

    Args:
        tags: The tag of every r-NE, by its id.
        flows: The flows between them.
    """

    def __init__(self, tags: Mapping[str, str], flows: Iterable[Flow]) -> None:
        self.tags = tags
        self.incoming: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.made_from: dict[str, list[str]] = defaultdict(list)
        self.described_by: dict[str, list[str]] = defaultdict(list)
        self.outgoing: dict[str, list[str]] = defaultdict(list)
        for start, end, label in flows:
            self.incoming[end].append((start, label))
            if label in MANNER:
                self.described_by[end].append(start)
            if label in MATERIAL:
                self.made_from[end].append(start)
                self.outgoing[start].append(end)
        self._made: dict[str, list[list[str]]] = {}  # several rows of a recipe ask for the same object
        self._results: dict[str, set[str]] = {}

    def manner(self, action: str) -> Iterator[tuple[str, str]]:
        """How the action is done and its destination, as roles and entities."""
        for start, label in self.incoming.get(action, ()):
            if label == DESTINATION:
                yield "destination", start
            elif label in MANNER:
                yield "modifier", start
                yield from (("modifier", other) for other in self.described_by.get(start, ()))

    def levels(self, action: str, entity: str | None) -> Iterator[list[str]]:
        """The object's history, the nearest to the action first.

        An object that was put into a set ("all of it") is named by its ingredient, so first come the steps between
        the two, then what the object itself was made from, one flow back at a time.
        """
        if entity is None:
            return
        yield from self._walk_back(action, self._results_of(entity))
        yield [entity]
        yield from self.sources(entity)

    def sources(self, entity: str) -> list[list[str]]:
        """What an entity was made from, one flow back at a time."""
        if entity not in self._made:
            self._made[entity] = list(self._walk_back(entity))
        return self._made[entity]

    def _walk_back(self, end: str, among: Container[str] | None = None) -> Iterator[list[str]]:
        """What this was made from, one flow back at a time; only among `among`, if given."""
        seen, level = {end}, [end]
        for _ in range(DEEPEST):
            found = [start for end in level for start in self.made_from.get(end, ())]
            level = [
                start for start in dict.fromkeys(found) if start not in seen and (among is None or start in among)
            ]
            if not level:
                return
            seen.update(level)
            yield level

    def _results_of(self, entity: str) -> set[str]:
        """Everything that the entity flows into."""
        if entity in self._results:
            return self._results[entity]
        found: set[str] = set()
        waiting = [entity]
        while waiting:
            following = self.outgoing.get(waiting.pop(), ())
            waiting.extend([end for end in following if end not in found])
            found.update(following)
        self._results[entity] = found
        return found

    def history(self, action: str, entity: str | None) -> Iterator[tuple[str, str]]:
        """What was done to the object before, to what, and the states mentioned on the way."""
        for level in self.levels(action, entity):
            for earlier in level:
                for entity_id in (earlier, *self.described_by.get(earlier, ())):
                    if entity_id != entity and (role := HISTORY_ROLES.get(self.tags[entity_id])):
                        yield role, entity_id


def describe_row(
    history: FlowHistory,
    action: str,
    entity: str | None,
    companions: Sequence[str | None],
    words: Mapping[str, Words],
) -> Context:
    """The context of an action on one object.

    Args:
        history: Of its recipe.
        action: The id of the action.
        entity: The id of the object, if it has one.
        companions: The objects of the same action, this one among them.
        words: The words of every entity of the recipe; none where the release has no text.
    """
    mentioned = [
        *history.manner(action),
        *(("together", other) for other in companions if other is not None and other != entity),
        *history.history(action, entity),
    ]
    pairs = [(role, word) for role, entity_id in mentioned for word in words.get(entity_id, ())]
    return tuple(dict.fromkeys(pairs))[:MOST_WORDS]


@dataclass(frozen=True)
class State:
    """What an action makes of one object.

    Args:
        action: The id of the action.
        object: The id of the object.
        before: The number of the state whose picture shows it before the action; None if no earlier state does.
        depth: How many states were carried along to this one, itself included.
    """

    action: str
    object: str
    before: int | None
    depth: int


def plan_states(
    order: Iterable[str], objects: Mapping[str, Sequence[str]], history: FlowHistory, words: Mapping[str, Words]
) -> list[State]:
    """All states of a recipe in the order in which they come about, each with the one that it continues.

    What is added to a bowl is seen in the bowl: an action with a destination continues the state of its destination,
    and the next object continues the state after the one before it. Any other action, and one whose destination is
    still empty, continues the object's own last state. If several things were cut at once, that is the state of the
    one with the same name.

    Args:
        order: All ids, as `sort_flows` sorts them.
        objects: As `trace_objects` returns them.
        history: The flow graph.
        words: The words of every entity.
    """
    planner = _Planner(history, words)
    for action in order:
        for number, thing in enumerate(objects.get(action, ())):
            planner.add(action, thing, number)
    return planner.states


class _Planner:
    """States so far, and which of them each action made."""

    def __init__(self, history: FlowHistory, words: Mapping[str, Words]) -> None:
        self.history, self.words = history, words
        self.states: list[State] = []
        self.made: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, action: str, thing: str, number: int) -> None:
        """Add what an action makes of its object with this number."""
        before = self._before(action, thing, number)
        depth = 1 if before is None else self.states[before].depth + 1
        self.made[action].append(len(self.states))
        self.states.append(State(action, thing, before, depth))

    def _before(self, action: str, thing: str, number: int) -> int | None:
        destinations = [start for start, label in self.history.incoming.get(action, ()) if label == DESTINATION]
        if destinations and number:
            return self.made[action][-1]
        found = [self._last([[start], *self.history.sources(start)], start) for start in destinations]
        if filled := [state for state in found if state is not None]:
            return max(filled)
        return self._last(self.history.levels(action, thing), thing)

    def _last(self, levels: Iterable[Sequence[str]], thing: str) -> int | None:
        """The nearest state that an action left behind: preferably of this thing or its namesake, and the latest."""
        for level in levels:
            if found := [state for earlier in level for state in self.made.get(earlier, ())]:
                return max(found, key=lambda state: (*self._is_about(state, thing), state))
        return None

    def _is_about(self, state: int, thing: str) -> tuple[bool, bool]:
        own = self.states[state].object
        return own == thing, bool(self.words.get(thing)) and self.words.get(own) == self.words.get(thing)


@dataclass(frozen=True)
class Script:
    """A recipe as queries: what is done to what, in order, and which state continues which.

    Args:
        nodes: The r-NEs by id: `text`, `tag`, `words`.
        flows: The flows, without any cycle.
        states: What the recipe's actions make of their objects.
        contexts: For each state, words by their role.
        removed: Flows that were removed, because they closed a cycle.
    """

    nodes: Mapping[str, Mapping[str, Any]]
    flows: Sequence[Flow]
    states: Sequence[State]
    contexts: Sequence[Mapping[str, Words]]
    removed: Sequence[Flow] = ()

    def words(self, node: str) -> Words:
        """The words of an r-NE."""
        return tuple(self.nodes[node]["words"])

    def origins(self, state: State) -> set[str]:
        """The foods that an object was before anything was done to it: what it is equal to, or a part of."""
        found, waiting = set(), [state.object]
        while waiting:
            node = waiting.pop()
            found.add(node)
            equal = [start for start, end, label in self.flows if end == node and label in ("F-eq", "F-part-of")]
            waiting += [start for start in equal if start not in found]
        return found


def make_script(nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]) -> Script:
    """Trace the objects of a recipe's actions.

    Args:
        nodes: The r-NEs in reading order, each with `id`, `tag`, `text` and `words`.
        edges: The flows, each with `start`, `end`, `label` and, if a parser found it, `score`.
    """
    by_id = {node["id"]: {"words": [node["text"]], **node} for node in nodes}  # an older parser does not divide them
    flows, removed = break_cycles(by_id, edges)
    order = sort_flows(by_id, flows)
    actions = [node["id"] for node in nodes if node["tag"] == ACTION]
    objects = trace_objects(actions, order, flows)
    history = FlowHistory({node["id"]: node["tag"] for node in nodes}, flows)
    words = {name: tuple(filter(None, node["words"])) for name, node in by_id.items()}
    states = plan_states(order, objects, history, words)
    contexts = []
    for state in states:
        context: defaultdict[str, list[str]] = defaultdict(list)
        for role, word in describe_row(history, state.action, state.object, objects[state.action], words):
            context[role].append(word)
        contexts.append({role: tuple(found) for role, found in context.items()})
    return Script(by_id, flows, states, contexts, removed)


def break_cycles(nodes: Iterable[str], edges: Sequence[Mapping[str, Any]]) -> tuple[list[Flow], list[Flow]]:
    """The flows without a cycle, and those that were removed for it.

    Flows are taken one after the other, the most certain first, and one that would close a cycle is left out. So the
    least certain flow of every cycle goes.
    """
    ranked = sorted(range(len(edges)), key=lambda number: -edges[number].get("score", 1.0))
    following: dict[str, set[str]] = {node: set() for node in nodes}
    kept, removed = [], []
    for number in ranked:
        start, end = edges[number]["start"], edges[number]["end"]
        if _leads_to(following, end, start):
            removed.append(number)
        else:
            following[start].add(end)
            kept.append(number)
    as_flows = [(edge["start"], edge["end"], edge["label"]) for edge in edges]
    return [as_flows[number] for number in sorted(kept)], [as_flows[number] for number in sorted(removed)]


def _leads_to(following: Mapping[str, set[str]], start: str, end: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        node = waiting.pop()
        if node == end:
            return True
        new = following[node] - seen
        seen |= new
        waiting.extend(new)
    return False


__all__ = [
    "FlowHistory",
    "Script",
    "State",
    "break_cycles",
    "describe_row",
    "make_script",
    "plan_states",
    "sort_flows",
    "trace_objects",
]
