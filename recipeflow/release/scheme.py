"""The annotation scheme of a release: its language, its r-NE tags and its r-FG labels.

The paper's scheme is the default: Japanese, eight tags, thirteen labels. A corpus with more declares all of its own in
``release.json``, with their meanings, in the order of its ``ClassLabel``s::

    {"language": "en", "tags": {"F": "Food", …, "At": "Action by tool"}, "labels": {"Agent": "Action agent", …}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from recipeflow.language.languages import DEFAULT
from recipeflow.release.recipe import LABELS, TAGS
from segmentation_rfg import is_spaced

TAG_NAME = re.compile(r"\w{1,40}")
"""Without a hyphen, which separates a tag from ``B`` and ``I``."""

LABEL_NAME = re.compile(r"\w[\w-]{0,39}")


@dataclass(frozen=True, eq=False)
class Scheme:
    """What the words of a release are tagged with.

    Attributes:
        language: The code of its language.
        tags: The r-NE tags with their meanings, in the order of the datasets' ``ClassLabel``.
        labels: The r-FG labels, likewise.
    """

    language: str = DEFAULT
    tags: Mapping[str, str] = field(default_factory=lambda: TAGS)
    labels: Mapping[str, str] = field(default_factory=lambda: LABELS)

    def __eq__(self, other: object) -> bool:
        # Not as dictionaries compare: names in another order are other numbers in a dataset.
        return isinstance(other, Scheme) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.language, tuple(self.tags.items()), tuple(self.labels.items())

    @property
    def spaced(self) -> bool:
        """Whether there are spaces between words; without them, words tile their line."""
        return is_spaced(self.language)

    @property
    def iob2_tags(self) -> tuple[str, ...]:
        """The word tags in the Hugging Face convention: ``O, B-F, I-F, …``."""
        return iob2_tags(self.tags)

    @cached_property
    def word_nes(self) -> frozenset[str]:
        """The word tags in the release's order: ``O, F-B, F-I, …``."""
        return frozenset({"O", *(f"{tag}-{position}" for tag in self.tags for position in "BI")})


def iob2_tags(tags: Mapping[str, str]) -> tuple[str, ...]:
    """Tags as IOB2 names."""
    return ("O", *(f"{position}-{tag}" for tag in tags for position in "BI"))


PAPER = Scheme()
"""The paper's scheme."""
