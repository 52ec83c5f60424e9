"""Export a release folder to another format.

A format of one file gets ``corpus.release.json`` beside ``corpus.conllu``, a format of many files a ``release.json``
in its folder: what the release says about itself, so that an import gives an equal release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from recipeflow.corpora.formats import Format, find_format
from recipeflow.corpora.skeleton import LIST
from recipeflow.errors import InvalidReleaseError, OutputExistsError, ReleaseProblem, UsageError
from recipeflow.files import StagedFolder, staged_file, write_aside
from recipeflow.progress import progress_bar
from recipeflow.release import Recipe, ReleaseInfo, Scheme, read_info, scan_release
from recipeflow.release.info import INFO

ADVICE = "Fix them, or leave those recipes out with --skip-bad."


@dataclass
class Exported:
    """The outcome: the recipes' ids, the problems of those left out, and how many frames stayed behind."""

    ids: list[str] = field(default_factory=list)
    problems: list[ReleaseProblem] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    frames: int = 0

    @property
    def recipes(self) -> int:
        """How many recipes were written."""
        return len(self.ids)


def info_path(form: Format, place: Path) -> Path:
    """Where ``release.json`` is beside the data of a format."""
    return place.with_suffix(f".{INFO}") if form.one_file and not place.is_dir() else place / INFO


def export_release(
    form: str, release: str | Path, out: str | Path, *, skip_bad: bool = False, overwrite: bool = False
) -> Exported:
    """Write a release in another format, recipe by recipe; all of it or nothing.

    Args:
        form: The name of the format.
        release: The release folder.
        out: The file or folder to write.
        skip_bad: Leave out recipes with problems, or that the format cannot represent.
        overwrite: Replace an earlier export.

    Raises:
        InvalidReleaseError: With every problem of the release.
    """
    found, out, info = find_format(form), Path(out), read_info(release)
    exported = Exported()
    recipes = _recipes(Path(release), exported)
    if not found.one_file:
        return export_folder(found, recipes, info, out, exported, skip_bad=skip_bad, overwrite=overwrite)
    _check_free(out, overwrite)
    with staged_file(out) as file:
        for files in _written(found, recipes, info.scheme, exported):
            file.write("".join(files.values()).encode())
        _check(exported, skip_bad)
    write_aside(info_path(found, out), info.to_json())
    return exported


def export_folder(
    form: Format,
    recipes: Iterable[Recipe],
    info: ReleaseInfo,
    out: Path,
    exported: Exported | None = None,
    *,
    skip_bad: bool = False,
    overwrite: bool = False,
    advice: str = ADVICE,
) -> Exported:
    """Write recipes in a format of many files; all of them or nothing. ``exported`` may have problems already."""
    exported = Exported() if exported is None else exported
    with StagedFolder(out, marker=INFO, overwrite=overwrite) as folder:
        for files in _written(form, recipes, info.scheme, exported):
            _write_files(folder, files)
        listed = "".join(f"{recipe_id}\n" for recipe_id in exported.ids)
        _write_files(folder, {**form.common(info.scheme), LIST: listed, INFO: info.to_json()})
        _check(exported, skip_bad, advice)
    return exported


def _recipes(release: Path, exported: Exported) -> Iterator[Recipe]:
    for checked in progress_bar(scan_release(release), None, "exporting recipes"):
        if checked.recipe is not None:
            yield checked.recipe
        else:
            exported.problems.extend(checked.problems)
            exported.left_out.append(checked.id)


def _written(form: Format, recipes: Iterable[Recipe], scheme: Scheme, exported: Exported) -> Iterator[dict[str, str]]:
    for recipe in recipes:
        try:
            yield dict(form.write(recipe, scheme))
        except ReleaseProblem as problem:
            exported.problems.append(problem)
            exported.left_out.append(recipe.id)
        else:
            exported.ids.append(recipe.id)
            exported.frames += len(recipe.used_frames) if recipe.frames_folder else 0


def _check(exported: Exported, skip_bad: bool, advice: str = ADVICE) -> None:
    if exported.problems and (not skip_bad or not exported.recipes):
        raise InvalidReleaseError(exported.problems, advice)


def _write_files(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="\n")


def _check_free(out: Path, overwrite: bool) -> None:
    if out.is_dir():
        raise UsageError(f"expected the name of a file to write, found the folder {out}; choose another")
    if out.exists() and not overwrite:
        raise OutputExistsError(f"expected {out} to be free, found a file; pass --overwrite to replace it")
