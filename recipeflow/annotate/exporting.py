"""Export a layer: as a release folder, as the original tool's text files, or for brat."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recipeflow.annotate.document import STEPS, Document, Note
from recipeflow.annotate.films import sampled_frames
from recipeflow.annotate.note_files import brat_notes, write_notes
from recipeflow.annotate.notes import shown_notes
from recipeflow.annotate.store import FROM_RELEASE, Layer, Store
from recipeflow.corpora.exporting import export_folder
from recipeflow.corpora.formats import Format, find_format
from recipeflow.errors import InvalidReleaseError, RefusedError
from recipeflow.release import ReleaseInfo, ReleaseWriter, read_info
from recipeflow.release.recipe import Recipe
from recipeflow.release.recipe_files import read_frames, recipe_folder
from recipeflow.release.scheme import Scheme
from recipeflow.release.writing import ADVICE

FORMATS = ("release", "text", "brat")

Notes = Mapping[str, Sequence[Note]]
"""By the id of a recipe."""


@dataclass(frozen=True)
class Exported:
    """What was written: the ids of the recipes, and notes for the user."""

    recipes: list[str]
    notes: list[str]


def export_layer(
    store: Store,
    layer: Layer,
    out: Path,
    form: str = "release",
    *,
    release: Path | None = None,
    only: Collection[str] | None = None,
    done: bool = False,
    overwrite: bool = False,
) -> Exported:
    """Write a layer's annotations; all of them or nothing.

    A layer that started from the release's annotation has every recipe, one that started blank only those that were
    worked on.

    Args:
        store: The database.
        layer: The layer.
        out: The folder to write.
        form: One of ``FORMATS``.
        release: Where the frames and ``release.json`` are; without it only frames of uploaded films are written.
        only: The ids of the recipes to write.
        done: Only recipes whose three steps are marked as done.
        overwrite: Replace an earlier export.

    Raises:
        RefusedError: If there is nothing to write, or a recipe has no text but the format needs it.
        InvalidReleaseError: If frames are missing, with the list.
    """
    documents, remarks = _choose(store, layer, only, done)
    recipes = [document.recipe for document in documents]
    notes = {document.base.id: shown_notes(document) for document in documents}
    remarks += [remark for document in documents if (remark := _open_sides(document))]
    info = _info(store, layer, release)
    if form == "release":
        recipes, more = _complete(store, recipes, release)
        _write_release(out, recipes, notes, info, overwrite)
        return Exported([recipe.id for recipe in recipes], remarks + more)
    for recipe in recipes:
        if not recipe.has_text:
            reason = (
                f"expected recipes with text for {form} files, found {recipe.id} without; export a release instead"
            )
            raise RefusedError("text", reason, id=recipe.id)
    if form == "text" and (count := sum(map(len, notes.values()))):
        remarks.append(f"left out: {count} notes, for which the original tool's files have no place")
    written = _with_notes(find_format("brat"), notes) if form == "brat" else find_format("tool")
    export_folder(written, recipes, info, out, overwrite=overwrite, advice="Export a release instead.")
    return Exported([recipe.id for recipe in recipes], remarks)


def _write_release(out: Path, recipes: list[Recipe], notes: Notes, info: ReleaseInfo, overwrite: bool) -> None:
    with ReleaseWriter(out, info, overwrite) as writer:
        for recipe in recipes:
            frames, problems = read_frames(recipe)
            if problems:
                raise InvalidReleaseError(problems, ADVICE)
            writer.add(recipe, frames if recipe.frames_folder else None)
            write_notes(writer.folder, recipe.id, notes[recipe.id])


def _with_notes(form: Format, notes: Notes) -> Format:
    """brat's files with the annotator's notes, behind those that stand for frames."""

    def write(recipe: Recipe, scheme: Scheme) -> dict[str, str]:
        files, name = dict(form.write(recipe, scheme)), f"{recipe.id}.ann"
        first = len(recipe.state_changes) + 1
        files[name] += "".join(f"{row}\n" for row in brat_notes(recipe, notes[recipe.id], first))
        return files

    return replace(form, write=write)


def _choose(store: Store, layer: Layer, only: Collection[str] | None, done: bool) -> tuple[list[Document], list[str]]:
    begun = {recipe for recipe, name in store.revisions() if name == layer.name}
    wanted = [recipe for recipe in store.recipe_ids() if only is None or recipe in only]
    chosen = [recipe for recipe in wanted if layer.start == FROM_RELEASE or recipe in begun]
    documents = [store.history(recipe, layer).document for recipe in chosen]
    if done:
        documents = [document for document in documents if len(document.done) == len(STEPS)]
    if not documents:
        state, advice = ("finished", "omit --done") if done else ("started", "tag a word with vrf annotate first")
        reason = f"expected recipes that {layer.name} has {state}, found none to export; {advice}"
        raise RefusedError("release", reason, problems=[])
    left = len(wanted) - len(documents)
    return documents, [f"left out, not {'done' if done else 'started'} yet: {left} recipes"] if left else []


def _open_sides(document: Document) -> str | None:
    """A note on undecided sides: a release cannot distinguish them from *not visible*."""
    pairs = [pair for listed in document.objects.values() for pair in listed]
    unset = sum(frame is None for pair in pairs for frame in (pair.before, pair.after))
    if not unset or not document.recipe.state_changes:
        return None
    return f"{document.base.id}: {unset} sides of objects without a decision are written as having no image"


def _complete(store: Store, recipes: list[Recipe], release: Path | None) -> tuple[list[Recipe], list[str]]:
    """The recipes with their frames, and with URLs only if all have one, as the format requires."""
    notes = []
    without = [recipe.id for recipe in recipes if recipe.url is None]
    if without and len(without) < len(recipes):
        notes.append(f"URLs are left out, because {without[0]} has none")
        recipes = [replace(recipe, url=None) for recipe in recipes]
    recipes = [replace(recipe, frames_folder=_frames(store, release, recipe)) for recipe in recipes]
    if release is None and any(recipe.used_frames and recipe.frames_folder is None for recipe in recipes):
        notes.append("no frames were written: pass the release folder that has them")
    return recipes, notes


def _frames(store: Store, release: Path | None, recipe: Recipe) -> Path | None:
    """The folder of a recipe's frames: the release's, or next to the database, where those of uploaded films are."""
    name = store.folder_of(recipe.id)
    own = [] if release is None else [recipe_folder(release, name) / "frames"]
    return next((folder for folder in (*own, sampled_frames(store.path, name)) if folder.is_dir()), None)


def _info(store: Store, layer: Layer, release: Path | None) -> ReleaseInfo:
    info = ReleaseInfo() if release is None else read_info(release)
    return replace(info, scheme=store.scheme, predicted_by=None, details={**info.details, "annotator": layer.name})
