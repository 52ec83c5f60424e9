"""Operations on suggestions: accept them, reject them, and undo a rejection."""

from __future__ import annotations

from dataclasses import dataclass

from recipeflow.annotate import division
from recipeflow.annotate.document import AnnotatedPair, Document, LineWords, Rejection
from recipeflow.annotate.effects import Effects
from recipeflow.annotate.items import KINDS, Item, accept_item, make_item
from recipeflow.annotate.typed_json import read_object
from recipeflow.errors import RefusedError, RequestError, short


@dataclass(frozen=True)
class Accepted:
    """A suggestion as it was listed."""

    key: str
    kind: str
    item: dict


@dataclass(frozen=True)
class Accept:
    """Accept suggestions, as many as possible.

    Args:
        origin: Where they come from.
        items: The suggestions.
        replace: Replace what conflicts with them.
        needed: What they need and the document may lack: the entities at the ends of flows. Nothing is replaced by
            these, and one that does not fit is left out silently.
        words: How the origin divides lines into words, where that differs from the document.
    """

    origin: str
    items: tuple[Accepted, ...]
    replace: bool = False
    needed: tuple[Accepted, ...] = ()
    words: tuple[LineWords, ...] = ()

    def run(self, document: Document, effects: Effects) -> Document:
        """What cannot be accepted is listed in the effects."""
        document, _ = self._accept(document, self.needed, False, Effects())
        document, accepted = self._accept(document, self.items, self.replace, effects)
        if not accepted:
            reason = "expected a suggestion that can be accepted, found none"
            raise RefusedError("nothing_accepted", reason, skipped=effects.skipped)
        kept = (each for each in document.rejected if each.origin != self.origin or each.key not in accepted)
        return document.change(rejected=tuple(kept))

    def _accept(
        self, document: Document, items: tuple[Accepted, ...], replaces: bool, effects: Effects
    ) -> tuple[Document, list[str]]:
        """Accept items in the order of their kinds; return the keys of those that were."""
        ranks = list(KINDS.values())
        divisions = {(line.section, line.line): line.ends for line in self.words}
        accepted = []
        for item in sorted((_read_item(each) for each in items), key=lambda item: ranks.index(item.kind)):
            along = Effects()
            try:
                cut, here = division.take_over(document, item, divisions, along)
                document = accept_item(cut, here, self.origin, replaces, along)
            except RefusedError as refusal:
                why = {"code": refusal.code, "reason": refusal.reason, "detail": refusal.detail}
                effects.skipped.append({"key": item.key, **why})
                continue
            effects.add(along)
            accepted.append(item.key)
        return document, accepted


@dataclass(frozen=True)
class Reject:
    """Reject suggestions."""

    origin: str
    keys: tuple[str, ...]

    def run(self, document: Document, effects: Effects) -> Document:
        rejected = {*document.rejected, *(Rejection(self.origin, key) for key in self.keys)}
        return document.change(rejected=tuple(sorted(rejected)))


@dataclass(frozen=True)
class Reconsider:
    """Undo rejections."""

    origin: str
    keys: tuple[str, ...]

    def run(self, document: Document, effects: Effects) -> Document:
        rejected = {*document.rejected} - {Rejection(self.origin, key) for key in self.keys}
        return document.change(rejected=tuple(sorted(rejected)))


def _read_item(accepted: Accepted) -> Item:
    """The decision of a suggestion; its key has to match."""
    kinds = {name: kind for kind, name in KINDS.items()}
    if accepted.kind not in kinds:
        raise RequestError(f"items: expected a kind of {', '.join(kinds)}, found {short(accepted.kind)}")
    kind = kinds[accepted.kind]
    row = {name: value for name, value in accepted.item.items() if name not in ("origin", "id", "text")}
    if kind is AnnotatedPair and row.get("object") is None:
        row["object"] = accepted.key.rpartition("/")[2].partition(":")[0]
    item = make_item(read_object(kind, row, f"items, {accepted.key}"))
    if item.key != accepted.key:
        raise RequestError(f"items: expected the key {item.key}, found {short(accepted.key)}")
    return item
