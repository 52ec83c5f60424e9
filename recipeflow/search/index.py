"""Build the index for `recipeflow.search.retriever`, from a dataset and a model.

Its candidates are those of the evaluation: the distinct post-action images.
"""

from __future__ import annotations

import json
import math
import uuid
import weakref
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import datasets
import faiss
import numpy as np
import pyarrow as pa
import torch
from transformers.dynamic_module_utils import custom_object_save

from configuration_vrf import HUB_WEIGHTS, OFFLINE_PACKAGES, VRFConfig, weights_digest
from modeling_vrf import VRFModel
from package_vrf import INDEX, INDEX_ABOUT
from processing_vrf import VRFProcessor
from recipeflow.dataset.folder import PAIRS, RECIPES, DatasetFolder
from recipeflow.dataset.frames import index_frames
from recipeflow.dataset.opening import open_dataset
from recipeflow.errors import SearchIndexError
from recipeflow.evaluation.ranking import evaluating
from recipeflow.features.compute import compute_features
from recipeflow.files import StagedFolder, cache_folder, remove_quietly, saving, write_json
from recipeflow.training.settings import check_views
from retrieval_vrf import (
    CUSTOM_PIPELINES,
    EMBEDDING,
    FEATURES,
    INDEX_FORMAT,
    ROWS,
    VECTORS,
    PostActionRetrievalPipeline,
    VRFIndex,
    image_features,
)

EXACT_UP_TO: int = 200_000
"""Up to this number of candidates the search is exact; above, FAISS searches only the most promising cells."""

PROBED = 1 / 32
"""The share of cells that an approximate search visits."""

POINTS_A_CELL = 64
"""Candidates that FAISS trains each cell with; more take longer and hardly change it."""

STORED = np.float16
"""How features are saved: half the space, and no answer changes visibly."""

IMAGES = 32
"""Images that a fine-tuned backbone reads at a time."""

CHUNK = 512
PAIR_COLUMNS = ["recipe_id", "fold", "action", "object", "object_tag", "instruction", "post_frame", "post_image"]
RENAMED = [*PAIR_COLUMNS[:-2], "frame", "image"]
COLUMNS = ["recipe_id", "title", "fold", "action", "object", "object_tag", "objects", "instruction", "frame", "image"]


def build_index(
    model: VRFModel,
    processor: VRFProcessor,
    dataset: str | Path,
    *,
    weights: str | Path | None = None,
    cache: str | Path | None = None,
    device: torch.device | None = None,
    views: int = 1,
    announce: Callable[[str], None] = lambda line: None,
) -> VRFIndex:
    """Embed every distinct post-action image of a dataset with a model.

    Features of a frozen backbone come from the cache where possible; a fine-tuned backbone is run itself.

    Args:
        model: The model.
        processor: Its processor.
        dataset: A folder written by ``vrf build``, or ``OWNER/NAME`` on the Hub.
        weights: Where the weights of the backbone come from, if they came from a file.
        cache: The folder of all feature caches.
        device: Where missing features are computed; on the accelerator by default, if there is one.
        views: How many views of each image to read and to use the mean of, 1, 2 or 4; a search does the same with the
            pictures of its queries.
        announce: Called with lines on the progress.
    """
    check_views(views)
    name, dataset = Path(dataset).resolve().name, open_dataset(dataset)
    processor.views = views
    if model.config.freeze_backbone:
        source = weights or _weights_source(model.config)
        table = compute_features(
            dataset,
            backbone=model.config.backbone,
            weights=source,
            cache=cache,
            views=views,
            image_features=model.config.image_features,
            device=device,
            announce=announce,
        )
        table.check_model(model.config)
        table = replace(table, mean=True)
        candidates, first = first_rows(table.post)
        rows = read_candidates(dataset, table.post, first)
        parts = (table.rows.look(part) for part in candidates.split(CHUNK))
    else:
        post = torch.from_numpy(index_frames(dataset).post)
        rows = read_candidates(dataset, post, first_rows(post)[1])
        images = rows.cast_column("image", datasets.Image()).select_columns(["image"]).iter(IMAGES)
        parts = (image_features(model, processor, batch["image"]) for batch in images)
    embeds, features = _embed_features(model, parts, len(rows))
    kind = attach_vectors(rows, embeds)
    about = _describe(model, dataset, name, kind, len(rows)) | {"views": views}
    return VRFIndex(rows, about, features=features)


def _weights_source(config: VRFConfig) -> str:
    """The ``weights`` argument for the origin recorded in a model's config."""
    starts = {package: f"{package} " for package in OFFLINE_PACKAGES} | {HUB_WEIGHTS: f"{HUB_WEIGHTS}, "}
    for source, start in starts.items():
        if config.backbone_weights.startswith(start):
            return source
    raise SearchIndexError(
        f"expected to know where the weights of {config.backbone} come from, found {config.backbone_weights!r}; pass "
        "--weights with the file that training started from"
    )


def first_rows(post: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """The distinct images in the order of the dataset, and the first row of each."""
    first: dict[int, int] = {}
    for row, image in enumerate(post.tolist()):
        if image >= 0:
            first.setdefault(image, row)
    return torch.tensor(list(first)), list(first.values())


def read_candidates(dataset: Path, post: torch.Tensor, rows: list[int]) -> datasets.Dataset:
    """The table of candidates as a mapped file, with their images still encoded.

    An image that is the result for several objects has the first in ``object`` and all of them in ``objects``. The
    file is the only copy of the images: `save_index` gives it a second name. Without one it is gone with the table.
    """
    folder = cache_folder("candidates")
    path = folder / f"{uuid.uuid4().hex}.arrow"
    with saving(path):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _write_candidates(DatasetFolder(dataset), post, np.array(rows), path)
            table = datasets.Dataset.from_file(str(path))
        except BaseException:
            remove_quietly(path)
            raise
    weakref.finalize(table, remove_quietly, path)
    return table


def _write_candidates(tables: DatasetFolder, post: torch.Tensor, rows: np.ndarray, path: Path) -> None:
    """Write the candidates a row group at a time."""
    recipes = tables.columns(RECIPES, ["recipe_id", "title"])
    titles = dict(zip(recipes["recipe_id"], recipes["title"], strict=True))
    objects: dict[int, dict[str, None]] = {}
    for image, name in zip(post.tolist(), tables.columns(PAIRS, ["object"])["object"], strict=True):
        objects.setdefault(image, {}).update({} if name is None else {name: None})
    features = _candidate_features(tables)
    start = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, features.arrow_schema) as writer:
        for _, _, group in tables.row_groups(PAIRS, PAIR_COLUMNS):
            wanted = rows[(rows >= start) & (rows < start + len(group))]
            part = group.take(wanted - start).rename_columns(RENAMED)
            named = [titles[recipe_id] for recipe_id in part["recipe_id"].to_pylist()]
            part = part.append_column("title", pa.array(named, pa.string()))
            shown = [list(objects[image]) for image in post[wanted].tolist()]
            part = part.append_column("objects", pa.array(shown, pa.list_(pa.string())))
            writer.write_table(part.select(COLUMNS).cast(features.arrow_schema))
            start += len(group)


def _candidate_features(tables: DatasetFolder) -> datasets.Features:
    known = datasets.Features.from_arrow_schema(tables.schema(PAIRS))
    text = datasets.Value("string")
    known |= {"title": text, "objects": datasets.List(text), "frame": known["post_frame"]}
    known["image"] = datasets.Image(decode=False)
    return datasets.Features({name: known[name] for name in COLUMNS})


@torch.no_grad()
def _embed_features(model: VRFModel, parts: Iterable[torch.Tensor], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The embeddings of all candidates from their features, some at a time, and the features as a mapped file."""
    embeds, start = [], 0
    features = _map_features(count, model.image_encoder.hidden.in_features)
    with evaluating(model):
        for part in parts:
            embeds.append(model.get_image_embeds(post_features=part.to(model.device)).float().cpu())
            features[start : start + len(part)] = part.cpu().numpy().astype(STORED)
            start += len(part)
    return torch.cat(embeds).numpy(), features


def _map_features(count: int, width: int) -> np.memmap:
    """A file for features: they may not fit into memory. It is gone with the array, like that of the candidates."""
    path = cache_folder("candidates") / f"{uuid.uuid4().hex}.npy"
    with saving(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        features = np.lib.format.open_memmap(path, "w+", STORED, (count, width))
    weakref.finalize(features, remove_quietly, path)
    return features


def attach_vectors(rows: datasets.Dataset, embeds: np.ndarray) -> str:
    """Add a FAISS index of unit vectors to a table, by inner product, and return its kind."""
    count, width = embeds.shape
    kind = "Flat" if count <= EXACT_UP_TO else f"IVF{_cells(count)},Flat"
    index = faiss.index_factory(width, kind, faiss.METRIC_INNER_PRODUCT)
    if isinstance(index, faiss.IndexIVF):
        index.nprobe = max(1, round(index.nlist * PROBED))  # saved with the index
        index.cp.max_points_per_centroid = POINTS_A_CELL
    rows.add_faiss_index_from_external_arrays(
        embeds, EMBEDDING, custom_index=index, train_size=None if kind == "Flat" else count, batch_size=100_000
    )
    return kind


def _cells(count: int) -> int:
    """A power of two near four times the square root, which balances choosing cells and searching them."""
    return 2 ** round(math.log2(4 * math.sqrt(count)))


def _describe(model: VRFModel, dataset: Path, name: str, kind: str, rows: int) -> dict[str, Any]:
    folder = DatasetFolder(dataset)
    release = asdict(folder.info) if folder.manifest.exists() else None
    return {
        "format": INDEX_FORMAT,
        "weights": weights_digest(model),
        "inputs": model.config.inputs,
        "backbone": model.config.backbone,
        "dataset": {"name": name, "release": release},
        "rows": rows,
        "kind": kind,
    }


def save_index(index: VRFIndex, model_folder: str | Path) -> Path:
    """Write an index into the folder of a saved model, with the pipeline that reads it; an older one is replaced.

    Raises:
        SearchIndexError: If there is no saved model.
    """
    model_folder = Path(model_folder)
    config = model_folder / "config.json"
    if not config.is_file():
        raise SearchIndexError(
            f"expected a saved model in {model_folder}, found no config.json; pass its folder, such as run/model"
        )
    with StagedFolder(model_folder / INDEX, marker=INDEX_ABOUT, overwrite=True) as aside:
        _save_rows(index.rows, aside / ROWS)
        index.rows.save_faiss_index(EMBEDDING, aside / VECTORS)
        if index.features is not None:
            np.save(aside / FEATURES, index.features)
        write_json(aside / INDEX_ABOUT, index.about | {"format": INDEX_FORMAT})
    with saving(model_folder):
        for described in (VRFModel, PostActionRetrievalPipeline):  # both: a folder holds the code of one version
            custom_object_save(described, model_folder)
    settings = json.loads(config.read_text(encoding="utf-8"))
    write_json(config, settings | {"custom_pipelines": CUSTOM_PIPELINES})
    return model_folder / INDEX


def _save_rows(rows: datasets.Dataset, path: Path) -> None:
    """Give the file of a table another name, so that its images are on disk once; or write them, where it has none."""
    if (own := _own_file(rows)) is not None:
        try:
            path.hardlink_to(own)
            return
        except OSError:  # on another file system, or one without second names
            pass
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.features.arrow_schema) as writer:
        for part in rows.with_format("arrow").iter(CHUNK):
            writer.write_table(part.cast(rows.features.arrow_schema))


def _own_file(rows: datasets.Dataset) -> Path | None:
    """The file that has exactly the rows of a table; ``None`` for a choice of rows, or a table in memory."""
    if len(rows.cache_files) != 1 or rows._indices is not None:
        return None
    file = Path(rows.cache_files[0]["filename"]).resolve()
    whole = datasets.Dataset.from_file(str(file))
    return file if whole.num_rows == rows.num_rows and whole.features == rows.features else None
