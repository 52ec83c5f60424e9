"""Build the index for `recipeflow.search.retriever`, from a dataset and a model.

Its candidates are those of the evaluation: the distinct post-action images.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import datasets
import faiss
import numpy as np
import torch
from transformers.dynamic_module_utils import custom_object_save

from configuration_vrf import HUB_WEIGHTS, OFFLINE_WEIGHTS, VRFConfig, weights_digest
from modeling_vrf import VRFModel
from package_vrf import INDEX, INDEX_ABOUT
from processing_vrf import VRFProcessor
from recipeflow.dataset.folder import RECIPES, DatasetFolder
from recipeflow.dataset.frames import index_frames
from recipeflow.dataset.opening import open_dataset
from recipeflow.errors import SearchIndexError
from recipeflow.features.compute import compute_features
from recipeflow.files import StagedFolder, saving, write_json
from retrieval_vrf import (
    CUSTOM_PIPELINES,
    EMBEDDING,
    INDEX_FORMAT,
    ROWS,
    VECTORS,
    PostActionRetrievalPipeline,
    VRFIndex,
)

EXACT_UP_TO: int = 200_000
"""Up to this number of candidates the search is exact; above, FAISS searches only the most promising cells."""

PROBED = 1 / 32
"""The share of cells that an approximate search visits."""

POINTS_A_CELL = 64
"""Candidates that FAISS trains each cell with; more take longer and hardly change it."""

CHUNK = 512
PAIR_COLUMNS = ["recipe_id", "fold", "action", "object", "object_tag", "instruction", "post_frame", "post_image"]
COLUMNS = ["recipe_id", "title", "fold", "action", "object", "object_tag", "objects", "instruction", "frame", "image"]


def build_index(
    model: VRFModel,
    processor: VRFProcessor,
    dataset: str | Path,
    *,
    weights: str | Path | None = None,
    cache: str | Path | None = None,
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
        announce: Called with lines on the progress.
    """
    name, dataset = Path(dataset).resolve().name, open_dataset(dataset)
    if model.config.freeze_backbone:
        source = weights or _weights_source(model.config)
        table = compute_features(
            dataset, backbone=model.config.backbone, weights=source, cache=cache, announce=announce
        )
        table.check_model(model.config)
        candidates, first = first_rows(table.post)
        rows = read_candidates(dataset, table.post, first)
        embeds = _embed_features(model, table.features[candidates])
    else:
        post = torch.from_numpy(index_frames(dataset).post)
        rows = read_candidates(dataset, post, first_rows(post)[1])
        embeds = model.encode_images(rows.cast_column("image", datasets.Image())["image"], processor)
    kind = attach_vectors(rows, embeds.numpy())
    return VRFIndex(rows, _describe(model, dataset, name, kind, len(rows)))


def _weights_source(config: VRFConfig) -> str:
    """The ``weights`` argument for the origin recorded in a model's config."""
    for source, start in ((OFFLINE_WEIGHTS, f"{OFFLINE_WEIGHTS} "), (HUB_WEIGHTS, f"{HUB_WEIGHTS}, ")):
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
    """The table of candidates, memory-mapped; images stay encoded.

    An image that is the result for several objects has the first in ``object`` and all of them in ``objects``.
    """
    tables = DatasetFolder(dataset)
    pairs = _read_parquet(tables.files(), PAIR_COLUMNS)
    recipes = tables.columns(RECIPES, ["recipe_id", "title"])
    titles = dict(zip(recipes["recipe_id"], recipes["title"], strict=True))
    objects: dict[int, dict[str, None]] = {}
    for image, name in zip(post.tolist(), pairs["object"], strict=True):
        objects.setdefault(image, {}).update({} if name is None else {name: None})
    text = datasets.Value("string")
    pairs = pairs.add_column("title", [titles[recipe] for recipe in pairs["recipe_id"]], feature=text)
    pairs = pairs.add_column("objects", [list(objects[image]) for image in post.tolist()], feature=datasets.List(text))
    pairs = pairs.rename_columns({"post_frame": "frame", "post_image": "image"})
    return pairs.select_columns(COLUMNS).cast_column("image", datasets.Image(decode=False)).select(rows)


def _read_parquet(files: list[Path], columns: list[str]) -> datasets.Dataset:
    return datasets.Dataset.from_parquet([str(path) for path in files], columns=columns)


@torch.no_grad()
def _embed_features(model: VRFModel, features: torch.Tensor) -> torch.Tensor:
    parts = [model.get_image_embeds(post_features=part.to(model.device)) for part in features.split(CHUNK)]
    return torch.cat(parts).float().cpu()


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
        index.rows.to_parquet(aside / ROWS)
        index.rows.save_faiss_index(EMBEDDING, aside / VECTORS)
        with (aside / ROWS).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        write_json(aside / INDEX_ABOUT, index.about | {"rows_sha256": digest})
    with saving(model_folder):
        for described in (VRFModel, PostActionRetrievalPipeline):  # both: a folder holds the code of one version
            custom_object_save(described, model_folder)
    settings = json.loads(config.read_text(encoding="utf-8"))
    write_json(config, settings | {"custom_pipelines": CUSTOM_PIPELINES})
    return model_folder / INDEX
