"""Frames ranked by the retrieval model: which look like this object after this action. Needs PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from recipeflow.annotate.document import AnnotatedPair, Document
from recipeflow.annotate.suggest.dictionary import lowered
from recipeflow.release.recipe import frame_name
from recipeflow.training.runs import load_trained
from recipeflow.web.pictures import Film
from retrieval_vrf import arrange_queries

SHARPNESS = 0.5
"""How much a difference in similarity counts, as a share of what it counts in training."""

KEPT_FILMS = 20


class FrameRanker:
    """Compares frames with an action, its object and, if it is known, the frame before.

    Args:
        name: The folder of a trained model, or its name on the Hub.
    """

    def __init__(self, name: str) -> None:
        self.model, self.processor = load_trained(name)
        self.model.eval()
        self.films: dict[str, np.ndarray] = {}

    def rank(self, document: Document, film: Film, pair: AnnotatedPair, frames: Sequence[int]) -> np.ndarray:
        """How well each frame fits, as a share of one: what the object looks like after the action."""
        before = film.path(pair.before) if isinstance(pair.before, int) else None
        query = {
            "action": self._words(document, pair.action),
            "object": self._words(document, pair.entity),
            "image": str(before) if before else None,
        }
        parts = self.model.config.query_parts
        query = {name: value for name, value in query.items() if name in parts}
        if not any(query.values()) or (pair.entity is None and "object" in parts):
            return np.full(len(frames), 1 / len(frames))
        inputs: dict[str, Any] = arrange_queries([query], self.model.config)
        images = inputs.pop("pre_images", None)
        with warnings.catch_warnings():  # unknown words only make a suggestion worse
            warnings.simplefilter("ignore", UserWarning)
            (embedded,) = self.model.encode_queries(**inputs, images=images, processor=self.processor).numpy()
        rows = [film.numbers.index(number) for number in frames]
        powers = np.exp(SHARPNESS / self.model.config.expected_temperature * (self._embed(film)[rows] @ embedded))
        return powers / powers.sum()

    def _words(self, document: Document, entity_id: str | None) -> list[str] | None:
        if entity_id is None:
            return None
        entity = document.entities_by_id[entity_id]
        return lowered(document.words, entity.section, entity.line)[entity.start : entity.end]

    def _embed(self, film: Film) -> np.ndarray:
        """One vector per frame, computed once per film."""
        if film.stamp not in self.films:
            if len(self.films) >= KEPT_FILMS:
                self.films.pop(next(iter(self.films)))
            paths = [str(film.folder / frame_name(number)) for number in film.numbers]
            self.films[film.stamp] = self.model.encode_images(paths, self.processor).numpy()
        return self.films[film.stamp]
