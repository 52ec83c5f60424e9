"""Tags and flows from a trained parser. Needs PyTorch: imported only where a parser is given."""

from __future__ import annotations

from dataclasses import replace

from parsing_rfg import parse_recipes
from recipeflow.annotate.document import AnnotatedEntity, AnnotatedFlow, Document
from recipeflow.annotate.suggest.guess import PARSER, Guess
from recipeflow.errors import UsageError
from recipeflow.parser.evaluation import parse_with_entities
from recipeflow.parser.examples import check_language, make_example, read_words
from recipeflow.parser.parse import annotate_recipe
from recipeflow.parser.runs import load_parser
from recipeflow.release.scheme import Scheme


class ParserGuesser:
    """Reads recipes with a parser.

    Args:
        name: Its folder, or its name on the Hub.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.model, self.processor = load_parser(name)

    def check(self, scheme: Scheme) -> None:
        """Refuse recipes that it cannot read.

        Raises:
            UsageError: If they have another language, or tags that it does not know.
        """
        config = self.model.config
        check_language(config.language, scheme.language, "recipes to annotate")
        if unknown := [tag for tag in scheme.tags if tag not in config.tags]:
            raise UsageError(
                f"expected a parser with the tags {', '.join(scheme.tags)}, found {self.name} without "
                f"{', '.join(unknown)}; use one that was trained on such recipes"
            )

    def guess_tags(self, document: Document) -> list[Guess]:
        """Entities for all words of a recipe."""
        words = read_words(document.words)
        (graph,) = parse_recipes(self.model, self.processor, [words])
        recipe, scores = annotate_recipe(document.words, words, graph)
        return [
            Guess(
                AnnotatedEntity(entity.section, entity.line, entity.start_word, entity.end_word, entity.tag),
                scores.entities[entity.id],
                PARSER,
            )
            for entity in recipe.entities.values()
            if entity.tag in document.scheme.tags
        ]

    def guess_flows(self, document: Document) -> list[Guess]:
        """Flows between the entities that a recipe has."""
        ids = list(document.tagged.entities)
        example = replace(make_example(document.tagged), edges=())
        (graph,) = parse_with_entities(self.model, self.processor, [example], batch_size=1)
        return [
            Guess(AnnotatedFlow(ids[start], ids[end], label), float(score), PARSER)
            for start, end, label, score in graph.edges
            if label in document.scheme.labels
        ]
