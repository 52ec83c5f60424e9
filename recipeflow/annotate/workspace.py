"""A database of annotations with its release: recipes, layers, frames and suggestions.

The release folder is never changed.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from recipeflow.annotate.division import follow_division
from recipeflow.annotate.document import STEPS, Document, LineWords
from recipeflow.annotate.films import Films
from recipeflow.annotate.history import History
from recipeflow.annotate.importing import Imported, add_recipes, import_folder
from recipeflow.annotate.items import Item, list_items
from recipeflow.annotate.recipe_films import RecipeFilms
from recipeflow.annotate.store import ANNOTATOR, FROM_RELEASE, FROM_WORDS, GOLD, Layer, Saved, Store
from recipeflow.annotate.suggest.background import Suggester
from recipeflow.annotate.suggest.retraining import ParserTraining
from recipeflow.annotate.suggested_release import read_suggestions
from recipeflow.annotate.uploads import LARGEST
from recipeflow.annotate.views import (
    changing_view,
    fixed_view,
    progress,
    suggestions_view,
    words_view,
)
from recipeflow.errors import RefusedError, UsageError
from recipeflow.own.text import recipe_from_text
from recipeflow.release import Scheme, read_scheme
from recipeflow.release.parsing import id_problem
from recipeflow.release.recipe import Recipe
from recipeflow.web.pictures import Film, Pictures

_LAYER_NAME = re.compile(r"[\w-][\w.-]{0,39}")


class Workspace:
    """Everything that the pages show and change.

    Args:
        store: The database.
        release: The folder that frames are read from; without it there are none.
        pictures: Makes small pictures.
        blank: New layers start with bare words instead of the release's annotation.
        curating: Layers may be compared, and there is a gold layer.
        annotators: Show only their layers, unless curating; all by default.
        largest_film: That may be uploaded, in bytes.
        suggester: Computes suggestions in the background; without it, there are only imported ones.
        training: Trains parsers for it on request.
    """

    def __init__(
        self,
        store: Store,
        release: Path | None = None,
        pictures: Pictures | None = None,
        blank: bool = False,
        curating: bool = False,
        annotators: Collection[str] = (),
        largest_film: int = LARGEST,
        suggester: Suggester | None = None,
        training: ParserTraining | None = None,
    ) -> None:
        self.store = store
        self.release = release
        self.pictures = pictures or Pictures()
        self.start = FROM_WORDS if blank else FROM_RELEASE
        self.curating = curating
        self.annotators = frozenset(annotators)
        self.suggester, self.training = suggester, training
        self.lock = threading.Lock()
        self.items: dict[tuple[str, tuple[LineWords, ...]], dict[str, dict[str, Item]]] = {}
        self.progress: dict[tuple[str, str], tuple[Document, dict[str, Any]]] = {}
        self.about: dict[str, dict[str, Any]] = {}
        self.films = Films(store.path, self.about.clear, largest_film)
        self.recipe_films = RecipeFilms(store, release, self.films)
        self.fixed = self.blind = False

    @property
    def scheme(self) -> Scheme:
        """What recipes here are tagged with: as the first ones, or as the release says while there are none."""
        if self.release is None or self.store.recipe_ids():
            return self.store.scheme
        return read_scheme(self.release)

    def scheme_for(self, language: str | None) -> Scheme:
        """The scheme for a text of this language, if it is known; only the first recipe can choose it."""
        return self.scheme if language is None or self.store.recipe_ids() else replace(self.scheme, language=language)

    def seen_by(self, person: str, curating: bool) -> Workspace:
        """The same workspace as one person may see it: an annotator only their own layer, and fixed recipes."""
        seen = copy(self)
        seen.curating, seen.fixed, seen.blind = curating, not curating, True
        seen.annotators = frozenset() if curating else frozenset({person})
        return seen

    def import_folder(self, folder: Path) -> Imported:
        """Import a release, or plain texts, see ``importing.import_folder``."""
        return import_folder(self.store, folder)

    def add_recipes(self, recipes: Iterable[Recipe], scheme: Scheme | None = None) -> None:
        """Add recipes, all of them or none; by default with the scheme of those that are there.

        Raises:
            RefusedError: If one exists, or its id is not a folder name.
        """
        add_recipes(self.store, recipes, scheme or self.scheme)

    def rename_recipe(self, recipe_id: str, name: str, title: str) -> int:
        """Give a recipe another id and title; return the number that undoes it.

        Raises:
            RefusedError: If the id is taken or not a folder name, or there is no title.
        """
        if (problem := id_problem(name)) is not None:
            raise RefusedError("recipe_id", f"{problem.message} ({problem.hint})", id=name)
        if not title.strip():
            raise RefusedError("text", "expected a title, found none")
        return self._edited(self.store.name_recipe(recipe_id, name, title.strip()))

    def delete_recipe(self, recipe_id: str) -> int:
        """Take a recipe out of the list, with its annotations; return the number that undoes it."""
        return self._edited(self.store.name_recipe(recipe_id, None))

    def replace_recipe(self, recipe_id: str, title: str, ingredients: str, instructions: str) -> int:
        """Put another text in the place of a recipe's, without annotations; return the number that undoes it."""
        recipe = recipe_from_text(recipe_id, title, ingredients, instructions, self.scheme.language)
        return self._edited(self.store.replace_recipe(recipe_id, recipe))

    def undo_edit(self, edit: int) -> None:
        """Undo a renaming, deletion or replacement, with all annotations."""
        self.store.undo_naming(edit)
        self._edited(edit)

    def _edited(self, edit: int) -> int:
        with self.lock:
            self.items.clear()
            self.progress.clear()
            self.about.clear()
        if self.suggester is not None:
            self.suggester.forget()
        return edit

    def suggest(self, source: str) -> Imported:
        """Offer a release folder, or the current state of a layer, as suggestions.

        Raises:
            UsageError: If it is neither.
        """
        if Path(source).is_dir():
            return self.suggest_release(_origin_name(Path(source)), Path(source))
        layer = next((layer for layer in self.store.layers() if layer.name == source), None)
        if layer is None:
            names = ", ".join(layer.name for layer in self.store.layers()) or "none yet"
            raise UsageError(f"expected a release folder or a layer ({names}), found {source!r}; check --suggest")
        begun = [recipe for recipe, name in self.store.revisions() if name == source]
        documents = [self.store.history(recipe, layer).document for recipe in begun]
        self._suggest(source, documents)
        return Imported(begun, [])

    def suggest_release(self, origin: str, folder: Path) -> Imported:
        """Offer a release folder as suggestions under this name."""
        if origin == FROM_RELEASE or not _LAYER_NAME.fullmatch(origin):
            raise RefusedError("layer_name", f"expected a plain name for the origin, found {origin!r}", name=origin)
        documents, skipped = read_suggestions(self.store, folder, self.scheme)
        self._suggest(origin, documents)
        return Imported([document.base.id for document in documents], skipped)

    def _suggest(self, origin: str, documents: Iterable[Document]) -> None:
        self.store.add_suggestions(origin, documents)
        with self.lock:
            self.items.clear()
            self.progress.clear()

    def add_layer(self, name: str) -> tuple[Layer, bool]:
        """Create or find the layer of an annotator; also return whether it is new."""
        if self.is_hidden(name):
            reason = f"expected an annotator of this server, found {name!r}"
            raise RefusedError("layer_name", reason, name=name)
        if name == GOLD:
            layer = Layer(GOLD, GOLD, FROM_WORDS)
        elif _LAYER_NAME.fullmatch(name):
            layer = Layer(name, ANNOTATOR, self.start)
        else:
            reason = "expected a name of at most 40 letters, digits, - _ and ., not beginning with a dot"
            raise RefusedError("layer_name", f"{reason}, found {name!r}", name=name)
        new = self.store.add_layer(layer)
        return self.find_layer(name) or layer, new

    def layers(self) -> list[Layer]:
        """The visible layers."""
        return [layer for layer in self.store.layers() if not self.is_hidden(layer.name)]

    def is_hidden(self, name: str) -> bool:
        """Whether a layer must not be shown: annotators do not see each other's layers, and gold is for curators."""
        others = bool(self.annotators) and name not in self.annotators
        return not self.curating and (name == GOLD or others)

    def find_layer(self, name: str) -> Layer | None:
        """The layer of this name, if it may be seen."""
        return next((layer for layer in self.layers() if layer.name == name), None)

    def film(self, recipe_id: str) -> Film | None:
        """The frames of a recipe."""
        return None if id_problem(recipe_id) is not None else self.recipe_films.film(recipe_id)

    def suggestions(self, document: Document, layer: Layer) -> dict[str, dict[str, Item]]:
        """The suggestions for a document by origin and key: the imported ones, and those computed so far."""
        suggester = self.suggester_for(layer)
        computed = suggester.items(document, layer) if suggester else {}
        return self.imported_suggestions(document, layer) | computed

    def suggester_for(self, layer: Layer) -> Suggester | None:
        """What computes suggestions for a layer. Gold comes from annotators alone."""
        return None if layer.kind == GOLD else self.suggester

    def imported_suggestions(self, document: Document, layer: Layer) -> dict[str, dict[str, Item]]:
        """The stored suggestions, for the words of a document, without the annotator's own work."""
        key = document.base.id, document.cuts
        with self.lock:
            if key not in self.items:
                found = self.store.suggestions(document.base.id)
                self.items[key] = {
                    origin: list_items(follow_division(suggested, document)) for origin, suggested in found.items()
                }
            hidden = self._hidden_origins() | {layer.name}
            return {origin: items for origin, items in self.items[key].items() if origin not in hidden}

    def origins(self) -> list[str]:
        """Where suggestions come from."""
        return [origin for origin in self.store.origins() if origin not in self._hidden_origins()]

    def _hidden_origins(self) -> set[str]:
        """The layers of people who must not see each other's work, which an earlier start may have suggested."""
        return {layer.name for layer in self.store.layers()} if self.blind else set()

    def list_recipes(self, layer: Layer) -> dict[str, Any]:
        """Every recipe with how far it is in a layer."""
        rows = [self._summary(recipe_id, layer) for recipe_id in self.store.recipe_ids()]
        done = {step: sum(row["done"][step] for row in rows) for step in STEPS}
        totals = {name: sum(row[name] for row in rows) for name in ("human", "accepted", "unsure")}
        return {"recipes": rows, "totals": {"recipes": len(rows), "done": done, **totals}}

    def _summary(self, recipe_id: str, layer: Layer) -> dict[str, Any]:
        history = self.store.history(recipe_id, layer)
        document = history.document
        if recipe_id not in self.about:
            film, base = self.film(recipe_id), document.base
            frames = len(film.numbers) if film else 0
            self.about[recipe_id] = {"title": base.title, "frames": frames, "has_text": base.has_text}
        seen, counts = self.progress.get((recipe_id, layer.name), (None, {}))
        if seen is not document:
            counts = progress(document, self.imported_suggestions(document, layer))
            self.progress[recipe_id, layer.name] = document, counts
        film = self.films.state(self.store.folder_of(recipe_id)).as_dict()
        row = {"id": recipe_id, "revision": history.revision, "film": film, **self.about[recipe_id], **counts}
        suggester = self.suggester_for(layer)
        computed = {} if suggester is None else suggester.summary(document, layer, counts["pending"])
        return row | {"certainty": None} | computed

    def view(self, recipe_id: str, layer: Layer) -> dict[str, Any]:
        """The whole document, as a page opens it."""
        history = self.store.history(recipe_id, layer)
        fixed = fixed_view(history.document, self.film(recipe_id))
        return {**fixed, "layer": layer.name, **self.changing(recipe_id, layer, history)}

    def changing(self, recipe_id: str, layer: Layer, history: History, words: bool = False) -> dict[str, Any]:
        """The part of a document that operations change; with its words, if they may have changed."""
        stacks = {"undo": history.undoable, "redo": history.redoable}
        named = {name: self._operation(recipe_id, layer, stack) for name, stack in stacks.items()}
        can = {f"can_{name}": bool(stack) for name, stack in stacks.items()}
        view = changing_view(history.document, self.suggestions(history.document, layer))
        divided = words_view(history.document) if words else {}
        suggesting = {"suggesting": self.suggesting(history.document, layer)}
        return {"revision": history.revision, **can, **named, **view, **divided, **suggesting}

    def suggesting(self, document: Document, layer: Layer) -> dict[str, Any] | None:
        """Ask for suggestions for a document, and return their state; ``None`` if none are computed."""
        if (suggester := self.suggester_for(layer)) is None:
            return None
        suggester.ask(document, layer)
        return suggester.status(document, layer)

    def suggested(self, recipe_id: str, layer: Layer) -> dict[str, Any]:
        """Only the suggestions for a recipe, for a page that waits for them."""
        history = self.store.history(recipe_id, layer)
        suggesting = self.suggesting(history.document, layer)
        view = suggestions_view(history.document, self.suggestions(history.document, layer))
        return {"revision": history.revision, "suggesting": suggesting, **view}

    def _operation(self, recipe_id: str, layer: Layer, revisions: tuple[int, ...]) -> dict[str, Any] | None:
        if not revisions:
            return None
        return self.store.entries(recipe_id, layer, only=revisions[-1])[0].operation

    def save(self, recipe_id: str, layer: Layer, base: int, uuid: str, operation: dict[str, Any]) -> Saved:
        """Carry out an operation, see ``Store.save``; frames that are not there are refused."""
        self._check_frames(recipe_id, operation)
        return self.store.save(recipe_id, layer, base, uuid, operation)

    def _check_frames(self, recipe_id: str, operation: dict[str, Any]) -> None:
        values = {value for value in _values(operation) if type(value) is int}
        if not values or (film := self.film(recipe_id)) is None:
            return
        if missing := sorted(values - set(film.numbers)):
            reason = f"expected a frame of {recipe_id}, found number {missing[0]}, which is not there"
            raise RefusedError("no_frame", reason, value=missing[0])


def _origin_name(folder: Path) -> str:
    """What suggestions of a folder are called: its name, as plain as names of layers are."""
    name = re.sub(r"[^\w-]+", "-", folder.resolve().name)[:30] or "folder"
    return f"suggested-{name}" if name == FROM_RELEASE else name


def _values(operation: dict[str, Any]) -> Iterable[object]:
    """What an operation chooses as frames, as far as it can be read; its form is checked where it is carried out."""
    if operation.get("op") == "frame":
        return [operation.get("value")]
    changes = operation.get("changes")
    if operation.get("op") == "frames" and isinstance(changes, list):
        return [change.get("value") for change in changes if isinstance(change, dict)]
    return []
