"""Suggestions in the background: what is open comes first, then learning from finished recipes, then all others.

A request only ever reads what is ready. What it asked for and is out of date is computed next, in another process.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from recipeflow.annotate.document import STEPS, AnnotatedEntity, AnnotatedFlow, Document
from recipeflow.annotate.items import Item, make_item
from recipeflow.annotate.store import Layer, Store
from recipeflow.annotate.suggest.guess import Guess
from recipeflow.annotate.suggest.learning import Lesson, make_lesson
from recipeflow.annotate.suggest.worker import Worker
from recipeflow.annotate.views import open_suggestions
from recipeflow.errors import VRFError, WorkerDiedError
from recipeflow.web.pictures import Film

_log = logging.getLogger(__name__)
OPEN_AT_ONCE = 32
"""Recipes that count as open, over all layers: those asked for last."""

RESTART_PAUSE = 2.0
"""Seconds before a process that ended is started again."""

RANKED = 500
"""Recipes of a layer whose suggestions are computed before anyone opens them, which bounds time and memory."""

FILMS = 40
"""Films to learn from, those of the last finished recipes: each has to be looked at, frame by frame."""

Job = Callable[[], None]


@dataclass(frozen=True)
class Result:
    """The suggestions for a recipe.

    Args:
        document: What they are for.
        learned: The number of the training that they follow from.
        guesses: The suggestions.
        number: Grows with every new result, so that a page knows whether it has the newest.
        with_film: Whether the film was looked at, as is done for open recipes.
    """

    document: Document
    learned: int
    guesses: tuple[Guess, ...]
    number: int
    with_film: bool

    @property
    def certainty(self) -> float | None:
        """The mean confidence; ``None`` without a suggestion."""
        sure = [guess.confidence for guess in self.guesses]
        return sum(sure) / len(sure) if sure else None


@dataclass
class LayerState:
    """What is known of a layer.

    Args:
        learned: The number of the last training; 0 before the first.
        done: The finished steps by recipe, as far as they were asked for.
        stale: Whether a step was finished, or opened again, since the last training.
        films_stale: The same for what is learned from films.
        training: Whether it is being trained at the moment.
    """

    learned: int = 0
    done: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stale: bool = True
    films_stale: bool = True
    training: bool = False

    @property
    def is_ready(self) -> bool:
        """Whether there is nothing more to learn at the moment."""
        return not (self.stale or self.films_stale or self.training)


class Suggester:
    """Computes suggestions for the layers of a database, as a context manager.

    Args:
        store: The database.
        films: Finds the film of a recipe.
    """

    def __init__(self, store: Store, films: Callable[[str], Film | None] = lambda recipe_id: None) -> None:
        self.store, self.films = store, films
        self.lessons: Sequence[Lesson] = ()
        self.openings: list[tuple[Any, ...]] = []
        self.worker = Worker()
        self.changed = threading.Condition()
        self.layers: dict[str, LayerState] = {}
        self.open: dict[tuple[str, str], Layer] = {}
        self.results: dict[tuple[str, str], Result] = {}
        self.waiting: dict[str, list[str]] = {}
        self.asked = self.number = 0
        self.problem: str | None = None
        self.stopped = False
        self.thread = threading.Thread(target=self._run, name="suggestions", daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop, even in the middle of a computation."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        self.worker.close()
        self.thread.join()

    def use(self, *opening: Any) -> None:
        """Let the process use a model from now on: the name and arguments of a call that opens it.

        Raises:
            VRFError: If it cannot be used.
        """
        self.worker.call(*opening)
        with self.changed:  # another process, should this one end, has to open it too
            self.openings.append(opening)
            for state in self.layers.values():
                state.stale = True
            self._wake()

    def ask(self, document: Document, layer: Layer) -> None:
        """Someone looks at this recipe: its suggestions are needed next, if they are out of date."""
        key = document.base.id, layer.name
        with self.changed:
            state = self.layers.setdefault(layer.name, LayerState())
            known = state.done.get(document.base.id)
            if known != document.done:
                state.done[document.base.id] = document.done
                state.stale = state.films_stale = state.stale or known is not None
            self.open.pop(key, None)
            self.open[key] = layer
            while len(self.open) > OPEN_AT_ONCE:
                self.open.pop(next(iter(self.open)))
            self._wake()

    def items(self, document: Document, layer: Layer) -> dict[str, dict[str, Item]]:
        """The suggestions that are ready and still fit, by origin and key, as ``Workspace.suggestions`` has them."""
        result = self.results.get((document.base.id, layer.name))
        if result is None or result.document.cuts != document.cuts:
            return {}
        found: dict[str, dict[str, Item]] = {}
        for guess in _fitting(document, result):
            item = replace(make_item(guess.value), confidence=round(guess.confidence, 3))
            found.setdefault(guess.origin, {})[item.key] = item
        return found

    def status(self, document: Document, layer: Layer) -> dict[str, Any]:
        """Whether newer suggestions are being computed, and what went wrong last."""
        result = self.results.get((document.base.id, layer.name))
        with self.changed:
            state = self.layers.get(layer.name)
            working = state is None or not state.is_ready or self._is_stale(document, layer, True)
        return {"number": result.number if result else 0, "working": working, "problem": self.problem}

    def summary(self, document: Document, layer: Layer, pending: int) -> dict[str, Any]:
        """How many suggestions are open, besides ``pending`` others, and how sure the computed ones are on average."""
        result = self.results.get((document.base.id, layer.name))
        found = open_suggestions(document, self.items(document, layer))
        open_ones = sum(state == "pending" for _, _, state in found)
        return {"pending": pending + open_ones, "certainty": result.certainty if result else None}

    def forget(self) -> None:
        """Recipes have other names or words now."""
        with self.changed:
            self.results.clear()
            self.open.clear()
            for state in self.layers.values():
                state.stale = state.films_stale = True
            self._wake()

    def _wake(self) -> None:
        self.asked += 1
        self.changed.notify_all()

    def _run(self) -> None:
        while not self.stopped:
            asked = self.asked
            try:
                if (job := self._next_job()) is not None:
                    job()
                    continue
            except WorkerDiedError as error:
                self._report(error)
                self._start_again()
            except VRFError as error:
                self._report(error)
            with self.changed:
                if asked == self.asked and not self.stopped:
                    self.changed.wait()

    def _report(self, error: VRFError) -> None:
        if not self.stopped:
            self.problem = str(error)
            _log.warning("suggestions: %s", error)

    def _start_again(self) -> None:
        """Another process has to open the models and learn first."""
        with self.changed:
            self.changed.wait(RESTART_PAUSE)
            self.layers = {name: LayerState() for name in self.layers}
            if self.stopped:
                return
        for opening in self.openings:
            self.worker.call(*opening)

    def _next_job(self) -> Job | None:
        """The most urgent thing to do. The lock is held only for moments: a request may wait for it."""
        with self.changed:
            layers, opened = dict(self.layers), list(reversed(self.open.items()))
        for name, state in layers.items():
            if state.learned == 0:
                return lambda: self._learn(name)
        for (recipe_id, _), layer in opened:
            if (document := self._document(recipe_id, layer)) and self._is_stale(document, layer, True):
                return lambda: self._compute(document, layer, True)
        for name, state in layers.items():
            if state.stale:
                return lambda: self._learn(name)
            if state.films_stale:
                return lambda: self._learn_frames(name)
        return self._next_in_list(layers)

    def _next_in_list(self, layers: Iterable[str]) -> Job | None:
        """A recipe that nobody looks at, to know how certain its suggestions are when the next one is chosen."""
        for name in layers:
            layer = self._layer(name)
            while layer and self.waiting.get(name):
                document = self._document(self.waiting[name].pop(0), layer)
                if document and len(document.done) < len(STEPS) and self._is_stale(document, layer, False):
                    return lambda: self._compute(document, layer, False)
        return None

    def _layer(self, name: str) -> Layer | None:
        return next((layer for layer in self.store.layers() if layer.name == name), None)

    def _document(self, recipe_id: str, layer: Layer) -> Document | None:
        return self.store.history(recipe_id, layer).document if self.store.has_recipe(recipe_id) else None

    def _is_stale(self, document: Document, layer: Layer, with_film: bool) -> bool:
        result = self.results.get((document.base.id, layer.name))
        state = self.layers.get(layer.name)
        if result is None or state is None or result.document is not document:
            return True
        return result.learned != state.learned or (with_film and not result.with_film)

    def _learn(self, name: str) -> None:
        """Train on what is finished in a layer now."""
        with self._training(name) as state:
            state.stale = False
            own = (replace(lesson, document=replace(lesson.document)) for lesson in self._own(name))
            self.worker.call("learn", name, [*self.lessons, *own])

    def _learn_frames(self, name: str) -> None:
        """Train on the frames that are finished in a layer now."""
        with self._training(name) as state:
            state.films_stale = False
            documents = [lesson.document for lesson in self._own(name) if "frames" in lesson.steps][-FILMS:]
            films = [(replace(each), film) for each in documents if (film := self.films(each.base.id))]
            self.worker.call("learn_frames", name, films)

    @contextmanager
    def _training(self, name: str) -> Generator[LayerState]:
        """While a layer is trained, its suggestions are not the newest; after it, all of them are out of date."""
        state = self.layers[name]
        state.training = True
        try:
            yield state
            self.problem = None
        finally:
            with self.changed:
                self.number += 1
                state.learned, state.training = self.number, False
                self.waiting[name] = self.store.recipe_ids()[:RANKED]

    def _own(self, name: str) -> Iterator[Lesson]:
        """The finished recipes of a layer; copied by ``replace``, a document is sent without what follows from it."""
        if (layer := self._layer(name)) is None:
            return
        for recipe_id in self.store.recipe_ids():
            document = self._document(recipe_id, layer)
            if document and (lesson := make_lesson(document)):
                yield lesson

    def _compute(self, document: Document, layer: Layer, with_film: bool) -> None:
        learned = self.layers[layer.name].learned
        film = self.films(document.base.id) if with_film else None
        guesses: tuple[Guess, ...] = ()
        try:
            guesses = tuple(self.worker.call("suggest", layer.name, replace(document), film))
        finally:  # after an error too: the same work would fail again
            with self.changed:
                self.number += 1
                result = Result(document, learned, guesses, self.number, with_film)
                self.results[document.base.id, layer.name] = result


def _fitting(document: Document, result: Result) -> Iterator[Guess]:
    """The guesses that a document has room for: it may have changed since they were made."""
    taken = {(e.section, e.line, word) for e in document.entities for word in range(e.start, e.end)}
    before = {(flow.start, flow.end) for flow in result.document.flows}
    drawn = {flow.start for flow in document.flows if (flow.start, flow.end) not in before}
    complete = {pair.key for pair in document.pairs if pair.before is not None and pair.after is not None}
    for guess in result.guesses:
        value = guess.value
        if isinstance(value, AnnotatedEntity):
            fits = taken.isdisjoint((value.section, value.line, word) for word in range(value.start, value.end))
        elif isinstance(value, AnnotatedFlow):
            # A flow that was drawn may replace what was suggested from there: that is decided when it is computed.
            fits = {value.start, value.end} <= document.entities_by_id.keys() and value.start not in drawn
        else:
            known = value.action in document.traced and (
                value.entity is None or value.entity in document.entities_by_id
            )
            fits = known and value.key not in complete
        if fits:
            yield guess
