"""Build a dataset repository for the Hub from a release folder: Parquet shards per config and a dataset card.

::

    vrf/README.md   vrf_build.json   <config>/train-00000-of-0000N.parquet

Everything is written to a temporary folder and renamed at the end, so that a killed build leaves nothing incomplete.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import DatasetInfo
from datasets.exceptions import DatasetGenerationError
from datasets.utils.py_utils import convert_file_size_to_int

import recipeflow
from recipeflow.dataset.card import Contents, count_rows, make_card
from recipeflow.dataset.digest import describe_content
from recipeflow.dataset.folder import MANIFEST, PAIRS, RECIPES, DatasetFolder
from recipeflow.dataset.parsed import ParsedRelease
from recipeflow.errors import EmptyReleaseError, InvalidReleaseError, ReleaseProblem, UsageError
from recipeflow.files import StagedFolder
from recipeflow.machines.processes import forks_ignoring_interrupts
from recipeflow.release import ReleaseInfo, check_release, read_info
from recipeflow.tables import Table
from vrf_dataset import FEATURES, VRFDataset

WORK = ".work"
"""Scratch space inside the staged folder; removed with it even if the build is killed."""


@dataclass(frozen=True)
class Build:
    """A finished build: its folder, its manifest, and the problems of the recipes left out."""

    folder: Path
    manifest: dict[str, Any]
    problems: tuple[ReleaseProblem, ...]

    @property
    def left_out(self) -> list[str]:
        return self.manifest["left_out"]

    def table(self) -> Table:
        configs = self.manifest["configs"].items()
        rows = [(name, row["rows"], len(row["files"]), row["bytes"]) for name, row in configs]
        return Table(str(self.folder), ("config", "rows", "files", "bytes"), rows)


def build_dataset(
    release: str | Path | None,
    out: str | Path = "vrf",
    *,
    skip_bad: bool = False,
    overwrite: bool = False,
    num_proc: int | None = None,
    max_shard_size: str = "500MB",
    announce: Callable[[str], None] = lambda step: None,
) -> Build:
    """Write the three tables of a release, and their card, into the folder ``out``.

    Args:
        release: The release folder; by default, the default kitchen is cooked.
        out: The folder to write; it appears only when everything is written.
        skip_bad: Leave out recipes with problems instead of refusing the release. Folds are assigned to the others.
        overwrite: Replace an earlier build.
        num_proc: Number of processes.
        max_shard_size: Split Parquet files at about this size.
        announce: Called with the name of every step before it starts.

    Raises:
        InvalidReleaseError: With every problem of the release, as ``check_release`` finds them.
        OutputExistsError: If ``out`` exists and may not be replaced.
    """
    out = Path(out)
    _check_options(release, out, num_proc, max_shard_size)
    with StagedFolder(out, MANIFEST, overwrite) as folder:
        if release is None:
            announce("kitchen")
            release = _cook(folder / WORK / "kitchen")
        writer = _TableWriter(Path(release), folder, num_proc, max_shard_size, announce)
        infos, problems = _write_valid(writer, skip_bad)
        info = read_info(release)
        manifest = _manifest(info, folder, infos, problems)
        (folder / MANIFEST).write_text(_to_json(manifest), encoding="utf-8")
        card = make_card(out.resolve().name, infos, info, _contents(folder), len(manifest["left_out"]))
        card.save(folder / "README.md")
        shutil.rmtree(folder / WORK)
    return Build(out, manifest, problems)


def _check_options(release: str | Path | None, out: Path, num_proc: int | None, max_shard_size: str) -> None:
    if num_proc is not None and num_proc < 1:
        raise UsageError(f"expected at least one process, found {num_proc}; pass a number from 1")
    try:
        convert_file_size_to_int(max_shard_size)
    except ValueError:
        message = f"expected a size such as 500MB for the shards, found {max_shard_size!r}; write a number and a unit"
        raise UsageError(message) from None
    if release is not None and Path(release).resolve().is_relative_to(out.resolve()):
        raise UsageError(
            f"expected an output outside the release, found the release {release} inside {out}, which the build would "
            "replace; choose another --out"
        )


def _cook(folder: Path) -> Path:
    from recipeflow.kitchen import cook_release

    cook_release(folder, used_only=True)  # frames in between are in none of the tables
    return folder


def _write_valid(writer: _TableWriter, skip_bad: bool) -> tuple[dict[str, DatasetInfo], tuple[ReleaseProblem, ...]]:
    """Write the tables; with ``skip_bad`` once more, without the recipes that turned out to be bad.

    A valid release is checked by writing it, which reads every frame once. Only if that fails, the whole release is
    checked, for the full list.
    """
    try:
        return writer.write(exclude=()), ()
    except (ReleaseProblem, InvalidReleaseError, DatasetGenerationError):
        writer.announce("check")
        problems = check_release(writer.release)
        if not problems:
            raise
    if not skip_bad:
        raise InvalidReleaseError(problems, "Fix them, or leave those recipes out with --skip-bad.")
    try:
        return writer.write(exclude=tuple(_recipe_ids(problems))), tuple(problems)
    except EmptyReleaseError:
        raise InvalidReleaseError(problems, "Every recipe has problems, so none would be left.") from None
    except (ReleaseProblem, InvalidReleaseError):
        advice = "Some concern the release as a whole, and leaving recipes out does not help: fix those."
        raise InvalidReleaseError(problems, advice) from None


def _recipe_ids(problems: Iterable[ReleaseProblem]) -> list[str]:
    return list(dict.fromkeys(problem.recipe for problem in problems if problem.recipe is not None))


@dataclass(frozen=True)
class _TableWriter:
    """Writes the tables of a release as Parquet, below ``folder``."""

    release: Path
    folder: Path
    num_proc: int | None
    max_shard_size: str
    announce: Callable[[str], None]

    def write(self, exclude: tuple[str, ...]) -> dict[str, DatasetInfo]:
        """Write all tables without the recipes to exclude; features and sizes by config."""
        self.announce("parse")
        parsed = self.folder / WORK / "parsed"
        shutil.rmtree(parsed, ignore_errors=True)  # left by a failed first attempt
        has_pairs = any(ParsedRelease.write(self.release, parsed, exclude).state_changes.values())
        # A corpus of text has no image pairs, and datasets cannot read a table without rows.
        return {config: self._write_config(config, parsed) for config in FEATURES if config != PAIRS or has_pairs}

    def _write_config(self, config: str, parsed: Path) -> DatasetInfo:
        self.announce(config)
        work = self.folder / WORK / "datasets"
        shutil.rmtree(work, ignore_errors=True)  # datasets would reuse what a failed first attempt left
        builder = VRFDataset(
            config_name=config, data_dir=self.release, cache_dir=str(work / "cache"), parsed=str(parsed)
        )
        with forks_ignoring_interrupts():
            builder.download_and_prepare(
                str(work / config), file_format="parquet", num_proc=self.num_proc, max_shard_size=self.max_shard_size
            )
        target = self.folder / config
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        shards = sorted((work / config).glob("*.parquet"))
        for number, shard in enumerate(shards):
            shard.rename(target / f"train-{number:05d}-of-{len(shards):05d}.parquet")
        builder.info.download_size = sum(shard.stat().st_size for shard in target.iterdir())
        return builder.info


def _contents(folder: Path) -> Contents:
    """Count in the written rows what the card shows. Of the images only the names are read, not the bytes."""
    sides = ("pre_image", "post_image")
    images: Counter[tuple[bool, ...]] = Counter()
    written = DatasetFolder(folder)
    groups = written.row_groups(PAIRS, [f"{side}.path" for side in sides]) if written.has(PAIRS) else ()
    for _, _, rows in groups:
        images.update(zip(*(rows[side].is_valid().to_pylist() for side in sides), strict=True))
    return Contents(
        both=images[True, True],
        post_only=images[False, True],
        pre_only=images[True, False],
        none=images[False, False],
        has_text=any(title is not None for title in written.columns(RECIPES, ["title"])["title"]),
    )


def _manifest(
    release: ReleaseInfo, folder: Path, infos: Mapping[str, DatasetInfo], problems: Iterable[ReleaseProblem]
) -> dict[str, Any]:
    """What was built from what; building the same release again gives the same."""
    return {
        "builder": f"recipeflow {recipeflow.__version__}",
        "release": release.as_dict(),
        "configs": {
            config: {
                "rows": count_rows(info),
                "bytes": info.download_size,
                "files": sorted(path.name for path in (folder / config).iterdir()),
            }
            for config, info in infos.items()
        },
        "content": describe_content(DatasetFolder(folder)),
        "left_out": _recipe_ids(problems),
        "problems": [problem.as_dict() for problem in problems],
    }


def _to_json(manifest: dict[str, Any]) -> str:
    text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    # A bad recipe's id may contain half of a surrogate pair, which is not UTF-8; escaped, it is still JSON.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
