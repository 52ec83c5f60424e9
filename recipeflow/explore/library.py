"""The recipes of a source, read on demand.

The index is split into chunks, so that the first is ready at once however many recipes follow. Recipes are compressed
after reading: five thousand of them take about twenty megabytes, and each is unpacked for its page.
"""

from __future__ import annotations

import pickle
import threading
import zlib
from collections.abc import Iterator
from itertools import count
from typing import Any

from recipeflow.errors import EmptyReleaseError, VRFError
from recipeflow.explore.catalogue import Entry, HasPicture, catalogue_entry, recipe_page
from recipeflow.explore.sources import Source
from recipeflow.release.recipe import Recipe

CHUNK = 100
"""Recipes in a chunk of the index."""


class Library:
    """Recipes by their number. Safe to use from several threads.

    Args:
        source: Where they come from.
        chunk: Recipes in a chunk.

    Raises:
        VRFError: If the source cannot be read, or has no readable recipe.
    """

    def __init__(self, source: Source, chunk: int = CHUNK) -> None:
        self.source = source
        self.chunk_size = chunk
        self.problems: list[VRFError] = []
        self._checked = source.recipes()
        self._packed: list[bytes] = []
        self._entries: list[Entry] = []
        self._is_whole = False
        self._lock = threading.RLock()
        if self._find(0) is None:
            raise self._nothing_to_show()

    def _nothing_to_show(self) -> EmptyReleaseError:
        if self.problems:
            first = self.problems[0]
            hint = f"the first of {len(self.problems)} problems: {first}; run `vrf check` for all"
            return EmptyReleaseError("expected a recipe without problems, found none", hint=hint)
        return EmptyReleaseError(f"expected at least one recipe in {self.source.folder}, found none")

    def _read_on(self, count: int) -> None:
        """Read until there are ``count`` recipes, or all."""
        while len(self._entries) < count and not self._is_whole:
            try:
                checked = next(self._checked, None)
            except VRFError as problem:
                # Recipes read before it can still be shown.
                if not self._entries:
                    raise
                self.problems.append(problem)
                checked = None
            if checked is None:
                self._is_whole = True
            elif checked.recipe is None:
                self.problems.extend(checked.problems)
            else:
                recipe = checked.recipe
                self._packed.append(zlib.compress(pickle.dumps(recipe)))
                self._entries.append(self._entry(recipe))

    def _entry(self, recipe: Recipe) -> Entry:
        info = self.source.info
        return catalogue_entry(recipe, info.glossary, self._has_picture(recipe), info.scheme.labels)

    def _has_picture(self, recipe: Recipe) -> HasPicture:
        return lambda number: self.source.has_picture(recipe, number)

    def chunk(self, number: int) -> dict[str, Any] | None:
        """A part of the index: its recipes, their words with English, and whether more follow.

        The last chunk also lists the recipes that could not be read. ``None`` beyond the end.
        """
        first = number * self.chunk_size
        with self._lock:
            self._read_on(first + self.chunk_size + 1)
            entries = self._entries[first : first + self.chunk_size]
            if not entries:
                return None
            is_last = self._is_whole and first + len(entries) == len(self._entries)
            problems = [str(problem) for problem in self.problems]
        words = list(dict.fromkeys(word for entry in entries for word in entry.words))
        places = {word: place for place, word in enumerate(words)}
        return {
            "first": first,
            "words": words,
            "english": [self.source.info.glossary.get(word) for word in words],
            "recipes": [entry.packed(places) for entry in entries],
            "more": not is_last,
            "problems": problems if is_last else [],
        }

    def chunks(self) -> Iterator[dict[str, Any]]:
        """The whole index, chunk by chunk."""
        for number in count():
            if (chunk := self.chunk(number)) is None:
                return
            yield chunk

    def recipe(self, number: int) -> Recipe | None:
        """A recipe by its number in the index; ``None`` beyond the end."""
        packed = self._find(number)
        return None if packed is None else pickle.loads(zlib.decompress(packed))

    def _find(self, number: int) -> bytes | None:
        if number >= len(self._packed):  # recipes already read are available while others are being read
            with self._lock:
                self._read_on(number + 1)
        return self._packed[number] if number < len(self._packed) else None

    def page(self, number: int) -> dict[str, Any] | None:
        """Everything on the page of a recipe."""
        recipe = self.recipe(number)
        if recipe is None:
            return None
        info = self.source.info
        return recipe_page(recipe, info.glossary, self._has_picture(recipe), info.scheme.language)

    def picture(self, number: int, frame: int) -> bytes | None:
        """The encoded frame of a recipe, as its source has it."""
        recipe = self.recipe(number)
        return None if recipe is None else self.source.picture(recipe, frame)

    def about(self) -> dict[str, Any]:
        """What the pages say about the whole source, and the names of tags and labels."""
        info = self.source.info
        about = {"name": self.source.folder.resolve().name, "source": info.source, "licence": info.licence}
        scheme = info.scheme
        return {**about, "language": scheme.language, "tags": dict(scheme.tags), "labels": dict(scheme.labels)}
