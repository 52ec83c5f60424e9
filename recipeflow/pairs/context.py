"""What the flow graph says about an action beyond its verb, its object and one picture.

Three things help to predict how an object will look: how the action is done ("thinly", "for 3 minutes", into which
bowl), what was done to the object before, and, where its pre-action image is missing, the last picture in which it
was seen. All of them are found by walking the flows backwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows_vrf import MOST_WORDS, Context, FlowHistory, Words, describe_row
from recipeflow.release.scheme import PAPER, Scheme

__all__ = ["MOST_WORDS", "Context", "Picture", "RecipeHistory", "Words", "describe_row", "last_seen"]


class RecipeHistory(FlowHistory):
    """The flow graph of one recipe of a dataset, to be walked backwards.

    Args:
        nodes: Rows of the column ``nodes`` of ``flow_graphs``.
        edges: Rows of the column ``edges``.
        scheme: The names of their numbers.
    """

    def __init__(
        self, nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]], scheme: Scheme = PAPER
    ) -> None:
        tags, labels = tuple(scheme.tags), tuple(scheme.labels)
        super().__init__(
            {node["id"]: tags[node["tag"]] for node in nodes},
            ((edge["start"], edge["end"], labels[edge["label"]]) for edge in edges),
        )


@dataclass(frozen=True)
class Picture:
    """A post-action image: the object it belongs to, the number of its frame in the film, and that of the image."""

    entity: str | None
    frame: int
    image: int


def last_seen(
    history: RecipeHistory,
    action: str,
    entity: str | None,
    pictures: Mapping[str, Sequence[Picture]],
    result: Picture | None,
) -> int:
    """The image in which the object was last seen before the action, or -1.

    Args:
        history: Of its recipe.
        action: The id of the action.
        entity: The id of the object.
        pictures: The post-action images of every action.
        result: The row's own post-action image, which is the answer: neither it nor anything later is returned.
    """
    for level in history.levels(action, entity):
        seen = [
            picture
            for earlier in level
            for picture in pictures.get(earlier, ())
            if result is None or (picture.frame < result.frame and picture.image != result.image)
        ]
        if seen:
            return max(seen, key=lambda picture: (picture.entity == entity, picture.frame)).image
    return -1
