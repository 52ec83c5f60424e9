"""Where a dataset comes from: a folder, the Hub, or tables in memory. Everything else reads a folder.

::

    open_dataset("vrf")                                               a folder written by ``vrf build``
    open_dataset("OWNER/NAME")                                        fetched from the Hub once, and cached
    open_dataset(pairs)                                               a ``datasets.Dataset``, as image_pairs
    open_dataset({"image_pairs": pairs, "flow_graphs": graphs})       with the tables that a context is read from
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, Union

import pyarrow as pa

from recipeflow.dataset.folder import FLOW_GRAPHS, MANIFEST, PAIRS, RECIPES, TABLES, DatasetFolder
from recipeflow.errors import DatasetFolderError, HubError, OutputExistsError, UsageError
from recipeflow.files import StagedFolder, cache_folder, write_json
from recipeflow.hub_client import connect, explain_hub_errors, is_hub_name

if TYPE_CHECKING:
    import datasets

DatasetSource: TypeAlias = Union[str, Path, "datasets.Dataset", Mapping[str, "datasets.Dataset"]]

KEPT = "vrf_tables.json"
"""The file that marks a folder of cached tables."""


def open_dataset(dataset: DatasetSource) -> Path:
    """The folder of a dataset, whatever its source.

    Args:
        dataset: A folder; ``OWNER/NAME`` on the Hub; a ``Dataset`` with the columns of ``image_pairs``; or several of
            them by the names of their tables.

    Raises:
        DatasetFolderError: If there is no such dataset, or its columns are not those of ``image_pairs``.
        HubError: If the Hub has none with that name, or cannot be reached.
    """
    if isinstance(dataset, str | Path):
        folder = Path(dataset).expanduser()
        if folder.exists() or not is_hub_name(dataset):
            return folder
        return _fetch(str(dataset))
    return _keep(dataset if isinstance(dataset, Mapping) else {PAIRS: dataset})


# From the Hub.


def _fetch(name: str) -> Path:
    """A snapshot in the Hub's own cache; an interrupted download resumes."""
    api = connect(None, needed=False)
    patterns = ["README.md", MANIFEST, *(f"{table}/*.parquet" for table in TABLES)]
    try:
        with explain_hub_errors(api, name):
            folder = Path(api.snapshot_download(name, repo_type="dataset", allow_patterns=patterns))
    except HubError as error:
        raise type(error)(f"expected a dataset, found no folder {name} here; looked on the Hub: {error}") from error
    tables = DatasetFolder(folder)
    if not tables.has(PAIRS):
        raise DatasetFolderError(
            f"expected {PAIRS}/*.parquet in the dataset {name} on the Hub, found none; pass one sent by `vrf push "
            "dataset`, or load it with `datasets` and pass that to `recipeflow.training.runs.start_training`"
        )
    check_columns(tables.schema(), f"the dataset {name} on the Hub")
    return folder


# From memory.


def _keep(tables: Mapping[str, datasets.Dataset]) -> Path:
    """Write tables as a dataset folder into the cache, once per content."""
    _check_tables(tables)
    prints = {name: table._fingerprint for name, table in sorted(tables.items())}
    key = hashlib.sha256(repr(prints).encode()).hexdigest()[:24]
    folder = cache_folder("datasets") / key
    if (folder / KEPT).is_file():
        return folder
    try:
        with StagedFolder(folder, KEPT) as staged:
            for name, table in tables.items():
                (staged / name).mkdir()
                _embed_files(table).to_parquet(staged / name / "train-00000-of-00001.parquet")
            write_json(staged / KEPT, {"fingerprints": prints})
    except OutputExistsError:
        if not (folder / KEPT).is_file():
            raise
        # Another process was faster with the same tables.
    return folder


def _check_tables(tables: Mapping[str, datasets.Dataset]) -> None:
    import datasets

    if PAIRS not in tables or set(tables) - set(TABLES):
        raise UsageError(
            f"expected tables {', '.join(TABLES)}, of which {PAIRS} is needed, found {', '.join(map(str, tables))}; "
            "pass one split of each, such as dataset['train']"
        )
    for name, table in tables.items():
        if not isinstance(table, datasets.Dataset):
            raise UsageError(
                f"expected a datasets.Dataset as {name}, found {type(table).__name__}; load it with "
                "load_dataset(…, split='train') and without streaming"
            )
        check_columns(table.features.arrow_schema, f"the Dataset passed as {name}", name)


def _embed_files(table: datasets.Dataset) -> datasets.Dataset:
    """The same rows with the bytes of every image, including those that are only file names."""
    from datasets.table import embed_table_storage

    if not any(hasattr(feature, "embed_storage") for feature in table.features.values()):
        return table
    embedded = table.with_format("arrow").map(embed_table_storage, batched=True, batch_size=100)
    return embedded.with_format(None)


def check_context(folder: Path, context: str) -> None:
    """Refuse a context where there is no flow graph to read it from.

    Raises:
        UsageError: If there is none.
    """
    if context != "none" and not DatasetFolder(folder).has(FLOW_GRAPHS):
        raise UsageError(
            f"expected the table {FLOW_GRAPHS}, for the context {context!r}, found a dataset without "
            f"it; in Python, pass {{'{PAIRS}': pairs, '{FLOW_GRAPHS}': graphs}}; or train with --context none"
        )


# Columns.


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_image(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) and {"bytes", "path"} <= {field.name for field in kind}


_Check = tuple[str, Callable[[pa.DataType], bool]]
_TEXT: _Check = ("text", _is_text)
_NUMBER: _Check = ("whole numbers", pa.types.is_integer)
_IMAGE: _Check = ("images", _is_image)
_LIST: _Check = ("lists", lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind))

NEEDED: dict[str, dict[str, _Check]] = {
    PAIRS: {
        **dict.fromkeys(("recipe_id", "action_id", "action", "object_id", "object"), _TEXT),
        **dict.fromkeys(("fold", "pre_frame", "post_frame"), _NUMBER),
        **dict.fromkeys(("pre_image", "post_image"), _IMAGE),
    },
    FLOW_GRAPHS: {"recipe_id": _TEXT, "nodes": _LIST, "edges": _LIST},
    RECIPES: {"recipe_id": _TEXT, "ingredients": _LIST, "instructions": _LIST},
}
"""Everything that training reads from each table."""


def check_columns(schema: pa.Schema, where: str, table: str = PAIRS) -> None:
    """Refuse a table without the columns that training reads, or with other types.

    Raises:
        DatasetFolderError: With every such column.
    """
    wrong = []
    for name, (meaning, fits) in NEEDED[table].items():
        if name not in schema.names:
            wrong.append(f"no column {name} ({meaning})")
        # A column that is null in every row has no type.
        elif not fits(kind := schema.field(name).type) and not pa.types.is_null(kind):
            wrong.append(f"{kind} in the column {name} ({meaning})")
    if wrong:
        raise DatasetFolderError(
            f"expected the columns of {table} in {where}, found {'; '.join(wrong)}; README.md lists them"
        )
