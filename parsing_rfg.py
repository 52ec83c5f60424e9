"""Read recipes with a trained model: a pipeline from text to flow graph.

    read = pipeline("recipe-flow-graph", model=repo, trust_remote_code=True)
    read({"ingredients": "2 potatoes", "instructions": "Peel the potatoes.\\nBoil them in a pan."})

This file is saved with every model and imports nothing from the project.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from transformers import Pipeline

try:
    from .modeling_rfg import RFGGraph, RFGModel
    from .package_rfg import TASK
    from .processing_rfg import SECTIONS, RecipeLike, RFGProcessor, RFGRecipe
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from modeling_rfg import RFGGraph, RFGModel
    from package_rfg import TASK
    from processing_rfg import SECTIONS, RecipeLike, RFGProcessor, RFGRecipe

BATCH_SIZE = 32
MOST_WORDS = 8_000
"""Words in a batch, with padding: a batch of long recipes has fewer of them, so that memory stays bounded."""


def make_batches(lengths: Sequence[int], batch_size: int, most_words: int = MOST_WORDS) -> Iterator[list[int]]:
    """Positions of recipes of similar length, the longest first, so that little padding is read."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda position: -lengths[position]):
        if batch and (len(batch) == batch_size or (len(batch) + 1) * lengths[batch[0]] > most_words):
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def parse_recipes(
    model: RFGModel, processor: RFGProcessor, recipes: Sequence[RFGRecipe], batch_size: int = BATCH_SIZE
) -> list[RFGGraph]:
    """The graph of each recipe; no entity goes beyond its line."""
    graphs: dict[int, RFGGraph] = {}
    for batch in make_batches([len(recipe.words) for recipe in recipes], batch_size):
        chosen = [recipes[position] for position in batch]
        found = model.parse(**processor(chosen).to(model.device))
        graphs |= {
            position: _within_lines(graph, recipe)
            for position, recipe, graph in zip(batch, chosen, found, strict=True)
        }
    return [graphs[position] for position in range(len(recipes))]


def _within_lines(graph: RFGGraph, recipe: RFGRecipe) -> RFGGraph:
    """Cut an entity at the end of the line that it begins in."""
    spans = []
    for first, last in graph.spans:
        line, place = recipe.places[first]
        spans.append((first, min(last, first + len(recipe.lines[line].words) - place)))
    return RFGGraph(spans, graph.tags, graph.entity_scores, graph.edges)


def describe_graph(graph: RFGGraph, recipe: RFGRecipe) -> dict[str, Any]:
    """A graph as plain values, with the names of the dataset `flow_graphs`, and a score for each node and edge.

    `start_char` and `end_char` are places in the line's text, which is in `ingredients` or `instructions`.
    """
    nodes = []
    for (first, last), tag, score in zip(graph.spans, graph.tags, graph.entity_scores, strict=True):
        number, place = recipe.places[first]
        line = recipe.lines[number]
        start, end = line.spans[place][0], line.spans[place + last - first - 1][1]
        nodes.append(
            {
                "id": f"{line.section}-{line.number}-{place}",
                "text": line.text[start:end],
                "words": list(line.words[place : place + last - first]),
                "tag": tag,
                "section": SECTIONS[line.section],
                "line": line.number,
                "start_word": place,
                "end_word": place + last - first,
                "start_char": start,
                "end_char": end,
                "score": score,
            }
        )
    edges = [
        {"start": nodes[start]["id"], "end": nodes[end]["id"], "label": label, "score": score}
        for start, end, label, score in graph.edges
    ]
    lines = {
        name: [line.text for line in recipe.lines if line.section == number] for number, name in enumerate(SECTIONS)
    }
    return {**lines, "nodes": nodes, "edges": edges}


class RecipeFlowGraphPipeline(Pipeline):
    """Read recipes: find the entities in their words and the flows between them.

    A recipe is a text, or a mapping with `ingredients` and `instructions` (see `RFGProcessor`). A text without words
    has a graph without nodes.
    """

    model: RFGModel
    processor: RFGProcessor

    _load_processor = True
    _load_tokenizer = False
    _load_image_processor = False
    _load_feature_extractor = False

    def __init__(self, model: RFGModel, **kwargs: Any) -> None:
        super().__init__(model=model, **kwargs)
        if self.processor is None:
            raise ValueError("expected a processor, found none; pass processor=… along with a model in memory")

    def __call__(
        self, recipes: RecipeLike | Sequence[RecipeLike], batch_size: int | None = None
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """The graph of a recipe, or a list of graphs for several: `nodes` and `edges`, and the lines they refer to."""
        is_single = isinstance(recipes, str | Mapping) or not isinstance(recipes, Iterable)
        read = [self.preprocess(recipe) for recipe in ([recipes] if is_single else recipes)]
        graphs = self.forward(read, batch_size=batch_size or self._batch_size or BATCH_SIZE)
        found = [self.postprocess(graph, recipe) for graph, recipe in zip(graphs, read, strict=True)]
        return found[0] if is_single else found

    def _sanitize_parameters(self, **parameters: Any) -> tuple[dict, dict, dict]:
        return {}, {}, parameters

    def preprocess(  # ty: ignore[incompatible-method-override] own parameters, as in transformers' pipelines
        self, recipe: RecipeLike
    ) -> RFGRecipe:
        """Split a recipe into words."""
        return self.processor.read(recipe)

    def forward(  # ty: ignore[incompatible-method-override] own parameters, as in transformers' pipelines
        self, recipes: Sequence[RFGRecipe], batch_size: int = BATCH_SIZE
    ) -> list[RFGGraph]:
        """Read recipes in batches of similar length; the tensors are made here, batch by batch."""
        with self.device_placement():
            return self._forward(recipes, batch_size)

    def _forward(  # ty: ignore[incompatible-method-override] own parameters, as in transformers' pipelines
        self, recipes: Sequence[RFGRecipe], batch_size: int
    ) -> list[RFGGraph]:
        return parse_recipes(self.model, self.processor, recipes, batch_size)

    def postprocess(  # ty: ignore[incompatible-method-override] own parameters, as in transformers' pipelines
        self, graph: RFGGraph, recipe: RFGRecipe
    ) -> dict[str, Any]:
        """Name nodes by the places of their words."""
        return describe_graph(graph, recipe)


__all__ = ["TASK", "RecipeFlowGraphPipeline", "describe_graph", "make_batches", "parse_recipes"]
