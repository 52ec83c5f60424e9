"""How well a parser reads: the field's measures on annotated recipes.

- **Entities**, strict: first word, last word and tag are right.
- **Edges**: start, end and label are right (labelled), or start and end (unlabelled). As in the release and in
  ``vrf agreement``, an entity is known by its first word. Measured twice: with the annotated entities given to
  the model, and from text, with those that it found itself.

All are F-measures in per cent over all entities or edges of all recipes together (micro average).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from modeling_rfg import RFGGraph, RFGModel
from parsing_rfg import BATCH_SIZE, make_batches, parse_recipes
from processing_rfg import RFGProcessor
from recipeflow.graph.agreement import Score
from recipeflow.parser.examples import Example, Span, check_names, label_tensors
from recipeflow.tables import Table

DISTANCES = (1, 2, 4, 8, 16)
"""The upper ends of the groups of edges by distance: how many entities further on the other end is."""

FIGURES = {
    "entities": "entities",
    "edges_gold": "edges, gold entities",
    "edges_gold_unlabelled": "the same, unlabelled",
    "edges_text": "edges, from text",
    "edges_text_unlabelled": "the same, unlabelled",
}
"""The measures, and what they are called in tables."""

Item = tuple[str, Hashable]
"""The group that an entity or edge is counted in, and what identifies it."""


class Counts:
    """Counts what annotation and parser have in common, by group."""

    def __init__(self) -> None:
        self.both: Counter[str] = Counter()
        self.gold: Counter[str] = Counter()
        self.found: Counter[str] = Counter()

    def add(self, gold: Iterable[Item], found: Iterable[Item]) -> None:
        """Compare one recipe; an item that is right counts in the group that the annotation has it in."""
        gold, found = set(gold), set(found)
        for counter, items in ((self.both, gold & found), (self.gold, gold), (self.found, found)):
            counter.update(group for group, _ in items)

    def groups(self) -> dict[str, Score]:
        """The score of each group."""
        names = sorted(self.gold.keys() | self.found.keys(), key=lambda name: (-self.gold[name], name))
        return {name: Score(self.both[name], self.gold[name], self.found[name]) for name in names}

    def total(self) -> Score:
        """The score of all groups together."""
        return Score(self.both.total(), self.gold.total(), self.found.total())


@dataclass(frozen=True)
class ParserScores:
    """The scores of a parser on some recipes.

    Attributes:
        recipes: How many there were.
        totals: The score of each measure (``FIGURES``).
        by_tag: Of entities, by tag.
        by_label: Of edges by label, with the annotated entities given and from text.
        by_distance: Of edges by how many entities further on the other end is, likewise.
    """

    recipes: int
    totals: Mapping[str, Score]
    by_tag: Mapping[str, Score] = field(default_factory=dict)
    by_label: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)
    by_distance: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)

    def figures(self) -> dict[str, float]:
        """The F-measures; 0 where there is nothing to find and nothing was found wrongly."""
        return {name: score.f_measure or 0.0 for name, score in self.totals.items()}

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "recipes": self.recipes,
            "figures": self.figures(),
            "totals": _plain(self.totals),
            "by_tag": _plain(self.by_tag),
            "by_label": {where: _plain(scores) for where, scores in self.by_label.items()},
            "by_distance": {where: _plain(scores) for where, scores in self.by_distance.items()},
        }

    def tables(self) -> list[Table]:
        """The measures, and each by tag, label and distance."""
        heads = ("precision", "recall", "F", "both", "annotated", "found")
        tables = [
            Table(
                f"How well {self.recipes} recipes are read",
                ("measure", *heads),
                [(FIGURES[name], *score.row()) for name, score in self.totals.items()],
            ),
            Table("Entities by tag", ("tag", *heads), [(tag, *score.row()) for tag, score in self.by_tag.items()]),
        ]
        for title, groups in (("label", self.by_label), ("distance in entities", self.by_distance)):
            for where, scores in groups.items():
                rows = [(name, *score.row()) for name, score in scores.items()]
                tables.append(Table(f"Edges by {title}, {WHERE[where]}", (title, *heads), rows))
        return tables


WHERE = {"gold": "gold entities", "text": "from text"}


def _plain(scores: Mapping[str, Score]) -> dict[str, dict[str, float | int | None]]:
    return {name: score.as_dict() for name, score in scores.items()}


def evaluate_parser(
    model: RFGModel, processor: RFGProcessor, examples: Sequence[Example], batch_size: int = BATCH_SIZE
) -> ParserScores:
    """Compare what a parser reads in recipes with their annotation.

    Raises:
        UsageError: If they have tags or labels that the model does not have.
    """
    check_names(examples, model.config)
    graphs = {
        "gold": parse_with_entities(model, processor, examples, batch_size),
        "text": parse_recipes(model, processor, [example.recipe for example in examples], batch_size),
    }
    entities = Counts()
    for example, graph in zip(examples, graphs["text"], strict=True):
        entities.add(map(_entity, example.spans), map(_entity, _spans(graph)))
    totals, by_label, by_distance = {"entities": entities.total()}, {}, {}
    for where, found in graphs.items():
        counts = {name: _count_edges(examples, found, group, labelled) for name, group, labelled in GROUPINGS}
        totals[f"edges_{where}"] = counts["label"].total()
        totals[f"edges_{where}_unlabelled"] = counts["all"].total()
        by_label[where] = counts["label"].groups()
        by_distance[where] = _in_order(counts["distance"].groups())
    return ParserScores(len(examples), totals, entities.groups(), by_label, by_distance)


def parse_with_entities(
    model: RFGModel, processor: RFGProcessor, examples: Sequence[Example], batch_size: int
) -> list[RFGGraph]:
    """The flows between given entities."""
    graphs: dict[int, RFGGraph] = {}
    for batch in make_batches([len(example.recipe.words) for example in examples], batch_size):
        chosen = [examples[position] for position in batch]
        labels = label_tensors(chosen, model.config)
        given = {name: labels[name].to(model.device) for name in ("entity_spans", "entity_tags")}
        inputs = processor([example.recipe for example in chosen]).to(model.device)
        graphs |= dict(zip(batch, model.parse(**inputs, **given), strict=True))
    return [graphs[position] for position in range(len(examples))]


def _entity(span: Span) -> Item:
    return span[2], span


def _spans(graph: RFGGraph) -> list[Span]:
    return [(first, last, tag) for (first, last), tag in zip(graph.spans, graph.tags, strict=True)]


PlacedEdge = tuple[int, int, str, int]
"""The first words of the start and the end of an edge, its label, and its distance in entities."""


def _by_label(edge: PlacedEdge) -> str:
    return edge[2]


def _by_distance(edge: PlacedEdge) -> str:
    bounds = (0, *DISTANCES)
    number = bisect_left(DISTANCES, abs(edge[3]))
    if number == len(DISTANCES):
        return f"over {DISTANCES[-1]}"
    low, high = bounds[number] + 1, bounds[number + 1]
    return str(high) if low == high else f"{low} to {high}"


def _together(edge: PlacedEdge) -> str:
    return "all"


GROUPINGS: tuple[tuple[str, Callable[[PlacedEdge], str], bool], ...] = (
    ("label", _by_label, True),
    ("distance", _by_distance, True),
    ("all", _together, False),
)


def _in_order(groups: dict[str, Score]) -> dict[str, Score]:
    """Groups of distances from near to far."""
    names = [_by_distance((0, 0, "", distance)) for distance in (*DISTANCES, DISTANCES[-1] + 1)]
    return {name: groups[name] for name in names if name in groups}


def _count_edges(
    examples: Sequence[Example], graphs: Sequence[RFGGraph], group: Callable[[PlacedEdge], str], labelled: bool
) -> Counts:
    counts = Counts()
    for example, graph in zip(examples, graphs, strict=True):
        # Distances are counted in annotated entities on both sides, so that an edge is in the same group.
        firsts = [first for first, _, _ in example.spans]
        gold = _place(example.edges, firsts, firsts)
        found_firsts = [first for first, _ in graph.spans]
        found = _place([(start, end, label) for start, end, label, _ in graph.edges], found_firsts, firsts)
        counts.add(*([(group(edge), edge[:3] if labelled else edge[:2]) for edge in edges] for edges in (gold, found)))
    return counts


def _place(edges: Iterable[tuple[int, int, str]], firsts: Sequence[int], annotated: Sequence[int]) -> list[PlacedEdge]:
    return [
        (
            firsts[start],
            firsts[end],
            label,
            max(1, abs(bisect_left(annotated, firsts[end]) - bisect_left(annotated, firsts[start]))),
        )
        for start, end, label in edges
    ]
