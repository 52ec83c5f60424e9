"""The rows of a dataset as files that every process maps: prepared once, and once in the memory of a host.

::

    <cache>/rows/<name>/<column>.npy  a column of numbers, such as the word of every place in a context
                       /rows.json     the words, and the checksum of every column

Reading words and walking flow graphs takes half a minute per million rows, and the columns take hundreds of megabytes.
Their folder is named after the content of the dataset and the version of the code, so what is there never has to
be changed. It can be deleted at any time; the next run writes it again.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recipeflow.dataset.folder import DatasetFolder
from recipeflow.errors import FeatureCacheError, SaveError
from recipeflow.features.compute import FeatureTable
from recipeflow.features.pixels import FramePixels
from recipeflow.files import cache_folder, staged_in_cache, write_json
from recipeflow.machines.code_version import code_version
from recipeflow.machines.joining import wait_until_seen
from recipeflow.machines.processes import decide_in_main, release_memory
from recipeflow.pairs.columns import ContextColumn, PhraseColumn
from recipeflow.pairs.loading import Pairs, load_pairs

ROWS, ABOUT = "rows", "rows.json"
CHECKED_AT_A_TIME = 1 << 20


def open_pairs(
    dataset: str | Path,
    images: FeatureTable | FramePixels,
    cache: str | Path | None = None,
    digest: str | None = None,
    announce: Callable[[str], None] = lambda line: None,
) -> Pairs:
    """The rows of a dataset with its images, mapped from files that the main process prepares if they are missing.

    Args:
        dataset: The folder.
        images: Of this dataset.
        cache: The folder of all feature caches, which has them too; ``cache_folder("features")`` by default.
        digest: Of the dataset; by default the one that ``vrf build`` recorded. If that is out of date, every process
            reads the rows into its own memory.
        announce: Called with a line if the files cannot be written.

    Raises:
        UsageError: If the images are not of this dataset.
        FeatureCacheError: If another machine does not see the files.
    """
    digest = digest or DatasetFolder(dataset).recorded_digest()
    if digest is None:
        return load_pairs(dataset, images)
    rows = MappedRows.of(dataset, digest, Path(cache or cache_folder("features")))
    own: list[Pairs] = []

    def prepare() -> bool:
        if rows.is_current(images):
            return True
        pairs = load_pairs(dataset, images)
        try:
            rows.write(pairs)
        except SaveError as error:
            announce(f"no file of the rows to share between processes, each one has them in memory: {error}")
            own.append(pairs)
            return False
        del pairs
        release_memory()
        return True

    if not decide_in_main(prepare):
        return own[0] if own else load_pairs(dataset, images)
    if not wait_until_seen(rows.is_complete):
        raise FeatureCacheError(
            f"expected the rows of {dataset} in {rows.folder}, found no complete files; pass a cache folder that all "
            "machines share, and do not empty it meanwhile"
        )
    return rows.open(images)


@dataclass(frozen=True)
class MappedRows:
    """The place of the rows of a dataset.

    Args:
        folder: With their columns.
    """

    folder: Path

    @classmethod
    def of(cls, dataset: str | Path, digest: str, cache: Path) -> MappedRows:
        """The place in a cache; contexts also depend on what the dataset's numbers of tags and labels mean."""
        scheme = DatasetFolder(dataset).info.scheme
        content = [digest, code_version(), list(scheme.tags), list(scheme.labels)]
        return cls(cache / ROWS / hashlib.sha256(json.dumps(content).encode()).hexdigest()[:24])

    def _about(self) -> dict[str, Any]:
        return json.loads((self.folder / ABOUT).read_text(encoding="utf-8"))

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.npy"

    def is_complete(self) -> bool:
        """Whether all columns are there, in their full size."""
        try:
            files = self._about()["files"].items()
            return all(self._file(name).stat().st_size == size for name, (size, _) in files)
        except (OSError, ValueError, LookupError, AttributeError, TypeError):
            return False

    def is_current(self, images: FeatureTable | FramePixels) -> bool:
        """Whether they are complete and undamaged, and belong to these images."""
        try:
            files = self._about()["files"].items()
            if not self.is_complete() or any(_checksum(self._file(name)) != known for name, (_, known) in files):
                return False
            return all(torch.equal(self._tensor(name), getattr(images, name)) for name in ("pre", "post"))
        except (OSError, ValueError, LookupError, AttributeError, TypeError):
            return False

    def write(self, pairs: Pairs) -> None:
        """Write all columns.

        Raises:
            SaveError: If that is impossible; nothing is left behind.
        """
        columns = {
            "recipes": pairs.recipes.numpy(),
            "folds": pairs.folds.numpy(),
            "seen": pairs.seen.numpy(),
            "pre": pairs.images.pre.numpy(),
            "post": pairs.images.post.numpy(),
            "actions": pairs.actions.codes,
            "objects": pairs.objects.codes,
            **{f"context_{name}": getattr(pairs.contexts, name) for name in ("offsets", "words", "roles")},
        }
        words = {name: getattr(pairs, name).distinct for name in ("actions", "objects", "contexts")}
        with staged_in_cache(self.folder, ABOUT) as aside:
            files = {}
            for name, column in columns.items():
                np.save(path := aside / f"{name}.npy", column)
                files[name] = path.stat().st_size, _checksum(path)
            write_json(aside / ABOUT, {"files": files, "words": words})

    def open(self, images: FeatureTable | FramePixels) -> Pairs:
        """Map the columns. Nothing is read before it is used, except the words."""
        words = self._about()["words"]
        phrases = {
            name: PhraseColumn(self._map(name), tuple(map(tuple, words[name]))) for name in ("actions", "objects")
        }
        context = (self._map(f"context_{name}") for name in ("offsets", "words", "roles"))
        return Pairs(
            recipes=self._tensor("recipes"),
            folds=self._tensor("folds"),
            images=self._with_places(images),
            contexts=ContextColumn(*context, tuple(words["contexts"])),
            seen=self._tensor("seen"),
            **phrases,
        )

    def _with_places(self, images: FeatureTable | FramePixels) -> FeatureTable | FramePixels:
        """The same images, with the mapped columns that say which row shows which."""
        if isinstance(images, FeatureTable):
            return replace(images, pre=self._tensor("pre"), post=self._tensor("post"))
        return replace(images, index=replace(images.index, pre=self._map("pre"), post=self._map("post")))

    def _map(self, name: str) -> np.ndarray:
        return np.load(self._file(name), mmap_mode="r").view(np.ndarray)

    def _tensor(self, name: str) -> torch.Tensor:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # torch warns, but nobody writes
            return torch.from_numpy(self._map(name))


def _checksum(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while part := file.read(CHECKED_AT_A_TIME):
            found = zlib.crc32(part, found)
    return found
