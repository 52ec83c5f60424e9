"""What the process that computes suggestions can be asked to do, and what it knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from recipeflow.annotate.document import Document
from recipeflow.annotate.suggest.film import FilmTraits, look_at
from recipeflow.annotate.suggest.frames import FrameModel
from recipeflow.annotate.suggest.guess import Guess
from recipeflow.annotate.suggest.guessing import guess_frames
from recipeflow.annotate.suggest.kept import Kept
from recipeflow.annotate.suggest.learning import Learned, Lesson
from recipeflow.annotate.suggest.reading import Reader
from recipeflow.release.scheme import Scheme
from recipeflow.web.pictures import Film

if TYPE_CHECKING:
    from recipeflow.annotate.suggest.parsing import ParserReader
    from recipeflow.annotate.suggest.ranking import FrameRanker

KEPT_FILMS = 1000


class Tasks:
    """All calls are made one after the other, by one server."""

    def __init__(self) -> None:
        self.readers: dict[str, Reader] = {}
        self.parsers: dict[str | None, ParserReader] = {}
        self.ranker: FrameRanker | None = None
        self.frames: dict[str, FrameModel] = {}
        self.films: Kept[FilmTraits | None] = Kept(KEPT_FILMS)

    def open_parser(self, name: str, scheme: Scheme, layer: str | None = None) -> None:
        """Use a parser from now on: for a layer, or for all that have none of their own."""
        from recipeflow.annotate.suggest.parsing import ParserReader

        parser = ParserReader(name, is_own=layer is not None)
        parser.check(scheme)
        self.parsers[layer] = parser

    def open_model(self, name: str) -> None:
        """Rank frames with a retrieval model from now on."""
        from recipeflow.annotate.suggest.ranking import FrameRanker

        self.ranker = FrameRanker(name)

    def learn(self, layer: str, lessons: Sequence[Lesson]) -> None:
        """Train on the finished recipes of a layer."""
        self.readers[layer] = Reader(Learned.learn(lessons))

    def learn_frames(self, layer: str, films: Sequence[tuple[Document, Film]]) -> None:
        """Train on the chosen frames of a layer, which takes longer: every film has to be looked at."""
        seen = ((document, self._look(film)) for document, film in films)
        found = FrameModel.learn((document, traits) for document, traits in seen if traits is not None)
        self.frames[layer] = found or FrameModel.untrained()

    def suggest(self, layer: str, document: Document, film: Film | None = None) -> list[Guess]:
        """Suggestions for a recipe; for frames only with its film."""
        reader = self.readers[layer]
        reader.parser = self.parsers.get(layer) or self.parsers.get(None)
        guesses = [*reader.tags(document), *reader.flows(document)]
        return guesses if film is None or not document.objects else [*guesses, *self._frames(layer, document, film)]

    def _frames(self, layer: str, document: Document, film: Film) -> list[Guess]:
        if (traits := self._look(film)) is None:
            return []
        ranker = self.ranker if document.base.has_text else None
        rank = None if ranker is None else partial(ranker.rank, document, film)
        return guess_frames(document, self.frames.get(layer) or FrameModel.untrained(), traits, rank)

    def _look(self, film: Film) -> FilmTraits | None:
        """What can be seen in a film, looked at once."""
        return self.films.get(film.stamp, lambda: look_at(film.folder, film.numbers))
