"""The side effects of an operation, so that a page can report them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from recipeflow.annotate.document import AnnotatedEntity, AnnotatedFlow, AnnotatedPair


@dataclass
class Effects:
    """Collected while an operation runs; one undo reverts all of them.

    Args:
        renamed: New ids of entities by their old ones.
        removed_entities: Removed entities.
        removed_flows: Flows that were removed with them.
        removed_objects: Objects that were removed, with their frames.
        aside: Objects that are kept but not shown, because their action is not an action any more.
        skipped: Suggestions that could not be accepted, each with its key, code and reason.
    """

    renamed: dict[str, str] = field(default_factory=dict)
    removed_entities: list[AnnotatedEntity] = field(default_factory=list)
    removed_flows: list[AnnotatedFlow] = field(default_factory=list)
    removed_objects: list[AnnotatedPair] = field(default_factory=list)
    aside: list[AnnotatedPair] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: Effects) -> None:
        """Add other side effects."""
        for name in ("removed_entities", "removed_flows", "removed_objects", "aside", "skipped"):
            getattr(self, name).extend(getattr(other, name))
        self.renamed.update(other.renamed)

    def as_dict(self) -> dict[str, Any]:
        """Only the non-empty ones."""
        rows = {name: value for name, value in asdict(self).items() if value}
        if self.removed_entities:
            rows["removed_entities"] = [{"id": entity.id, **asdict(entity)} for entity in self.removed_entities]
        for name, pairs in (("removed_objects", self.removed_objects), ("aside", self.aside)):
            if pairs:
                rows[name] = [{"key": pair.key, **asdict(pair), "object": pair.entity} for pair in pairs]
        return rows
