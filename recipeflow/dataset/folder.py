"""A built dataset on disk: three tables as Parquet files, and a manifest of the build. The only reader of both.

::

    <dataset>/README.md   vrf_build.json   <table>/train-00000-of-0000N.parquet
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recipeflow.errors import DatasetFolderError
from recipeflow.hub_client import is_hub_name
from recipeflow.release import ReleaseInfo
from recipeflow.release.info import info_from_dict

PAIRS, RECIPES, FLOW_GRAPHS = "image_pairs", "recipes", "flow_graphs"
TABLES = (PAIRS, RECIPES, FLOW_GRAPHS)

MANIFEST = "vrf_build.json"
"""The manifest of a build; only ``vrf build`` writes it, so a folder that has it may be replaced."""

OFFICIAL_SITE = "kurashiru.com"
"""Where the official release's videos are from."""


class DatasetFolder:
    """The tables and the manifest of a dataset; read lazily.

    Args:
        path: The folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def has(self, table: str) -> bool:
        """Whether there is such a table: a dataset from memory needs only ``image_pairs``, a text corpus has none.

        Raises:
            DatasetFolderError: If it is missing in a folder of ``vrf build``, although that wrote it.
        """
        found = bool(self._files(table))
        if not found and table in self.built:
            raise DatasetFolderError(
                f"expected a folder {table} in {self.path}, found none; write the dataset again with `vrf build`"
            )
        return found

    def files(self, table: str = PAIRS) -> list[Path]:
        """The Parquet files of a table, in the order of their rows.

        Raises:
            DatasetFolderError: If there are none.
        """
        if files := self._files(table):
            return files
        if self.built and table not in self.built:
            raise DatasetFolderError(
                f"expected the table {table} in {self.path}, found a dataset of a release without state changes; "
                "annotate before and after frames with `vrf annotate`, or use another dataset"
            )
        raise no_dataset(self.path, f"{table}/*.parquet")

    def _files(self, table: str) -> list[Path]:
        return sorted((self.path / table).glob("*.parquet"))

    def schema(self, table: str = PAIRS) -> pa.Schema:
        """The columns of a table and their types."""
        path = self.files(table)[0]
        try:
            return pq.read_schema(path)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error

    def columns(self, table: str, names: Sequence[str]) -> dict[str, list[Any]]:
        """Whole columns of a table; ``pre_image.path`` reads only the name of an image.

        Raises:
            DatasetFolderError: If there is no such table or column.
        """
        found: dict[str, list[Any]] = {name: [] for name in names}
        for _, _, rows in self.row_groups(table, names):
            for name in names:
                top, *inner = name.split(".")
                values = rows[top].to_pylist()
                found[name].extend(values if not inner else (value and value[inner[0]] for value in values))
        return found

    def table(self, table: str, names: Sequence[str]) -> pa.Table:
        """Columns of a table as Arrow keeps them, for tables of millions of rows; ``nodes.id`` reads one field only.

        Raises:
            DatasetFolderError: If there is no such table or column.
        """
        return pa.concat_tables([rows for _, _, rows in self.row_groups(table, names)]).combine_chunks()

    def row_groups(
        self, table: str, names: Sequence[str], wanted: Sequence[tuple[Path, int]] | None = None
    ) -> Iterator[tuple[Path, int, pa.Table]]:
        """Columns of a table one row group at a time, each with its file and number.

        Args:
            table: The table.
            names: Its columns, or fields of them, such as ``nodes.id``.
            wanted: Only these row groups; all of them by default.

        Raises:
            DatasetFolderError: If a file cannot be read, or lacks a column.
        """
        for path in self.files(table) if wanted is None else dict.fromkeys(path for path, _ in wanted):
            groups = None if wanted is None else [group for file, group in wanted if file == path]
            try:
                with pq.ParquetFile(path) as file:
                    _check_names(file, names, path)
                    for group in range(file.num_row_groups) if groups is None else groups:
                        yield path, group, file.read_row_group(group, columns=_leaves(file, names))
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(path, error) from error

    def groups(self, table: str = PAIRS) -> Iterator[tuple[Path, int, int]]:
        """The row groups of a table: file, number and number of rows; no row is read."""
        for path in self.files(table):
            about = pq.read_metadata(path)
            for group in range(about.num_row_groups):
                yield path, group, about.row_group(group).num_rows

    @property
    def manifest(self) -> Path:
        """The manifest's path; a dataset from elsewhere has none."""
        return self.path / MANIFEST

    def recorded_digest(self) -> str | None:
        """The digest of the content as the build recorded it; ``None`` if there is none, or files changed since.

        A file counts as changed if it has another size than at the build, or is newer than the manifest.
        """
        try:
            built = self.manifest.stat().st_mtime_ns
            manifest = json.loads(self.manifest.read_text(encoding="utf-8"))
            content = manifest["content"]
            found = {str(path.relative_to(self.path)): path.stat() for table in TABLES for path in self._files(table)}
            same = {name: about.st_size for name, about in found.items()} == content["files"]
            if same and all(about.st_mtime_ns <= built for about in found.values()):
                return str(content["digest"])
        except (OSError, ValueError, LookupError, TypeError):
            return None  # an older build, or no build at all
        return None

    @cached_property
    def info(self) -> ReleaseInfo:
        """The manifest's information on the release; empty without a manifest.

        Raises:
            DatasetFolderError: If the manifest is invalid.
        """
        if not self.manifest.exists():
            return ReleaseInfo()
        info, problems = info_from_dict(self._read_manifest("release"))
        if problems or info.details:
            raise self._bad_manifest(problems[0] if problems else f"unknown keys {', '.join(info.details)}")
        return info

    @cached_property
    def built(self) -> Sequence[str]:
        """The tables that ``vrf build`` wrote, by its manifest; none without one."""
        return list(self._read_manifest("configs")) if self.manifest.exists() else []

    def _read_manifest(self, key: str) -> dict[str, Any]:
        try:
            found = json.loads(self.manifest.read_text(encoding="utf-8"))[key]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise self._bad_manifest(error) from error
        if not isinstance(found, dict):
            raise self._bad_manifest(f"{key} is no object")
        return found

    def _bad_manifest(self, found: object) -> DatasetFolderError:
        return DatasetFolderError(
            f"expected {self.manifest} as written by `vrf build`, found something else ({found}); build the dataset "
            "again"
        )

    @cached_property
    def source(self) -> str | None:
        """The release's source; if it is not stated, the official one is recognised by its recipes' URLs."""
        if self.info.source is None and self._files(RECIPES):
            urls = self.columns(RECIPES, ["url"])["url"]
            return "official" if any(OFFICIAL_SITE in (url or "") for url in urls) else None
        return self.info.source

    def has_images(self) -> bool:
        """Whether the dataset has at least one image."""
        names = ["pre_image.path", "post_image.path"]
        return self.has(PAIRS) and any(
            path is not None for column in self.columns(PAIRS, names).values() for path in column
        )


def _check_names(file: pq.ParquetFile, names: Sequence[str], path: Path) -> None:
    known = file.schema_arrow.names
    if missing := [name for name in names if name.split(".")[0] not in known]:
        raise DatasetFolderError(
            f"expected the columns {', '.join(missing)} in {path}, found {', '.join(known)}; build the dataset again"
        )


def _leaves(file: pq.ParquetFile, names: Sequence[str]) -> list[str]:
    """The full names of columns inside the file: between a list and its items Parquet has steps of its own."""
    paths = [file.schema.column(number).path for number in range(len(file.schema))]
    wanted = [name.split(".") for name in names]
    return [path for path in paths if any(_leads_to(path.split("."), name) for name in wanted)]


def _leads_to(path: list[str], name: list[str]) -> bool:
    return path[0] == name[0] and set(name) <= set(path)


def _unreadable(path: Path, error: Exception) -> DatasetFolderError:
    return DatasetFolderError(
        f"expected a Parquet file, found {path}, which cannot be read: {error}; build the dataset again"
    )


def check_dataset(dataset: str | Path) -> None:
    """Refuse a folder that is not a dataset; a name on the Hub is looked up when it is opened."""
    if Path(dataset).exists() or not is_hub_name(dataset):
        DatasetFolder(dataset).files()


def no_dataset(folder: Path, missing: str) -> DatasetFolderError:
    """The error for a folder that is not a built dataset; its advice never overwrites an existing folder."""
    expected = "expected a folder written by `vrf build`"
    if (folder / "annotations.json").is_file():
        advice = f"`vrf build {folder} --out vrf` makes a dataset of it in the folder vrf"
        return DatasetFolderError(f"{expected}, found the release folder {folder}; {advice}")
    if folder.exists():
        advice = "pass another one, or build one with `vrf build RELEASE --out vrf`"
    else:
        advice = f"build one with `vrf build RELEASE --out {folder}`"
    return DatasetFolderError(f"{expected}, found no readable {missing} in {folder}; {advice}")
