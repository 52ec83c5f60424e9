"""Queries a second through a retriever's index, over bare FAISS on the same index, and what an approximate one misses.

Candidates are unit vectors that fill few directions of their space, as embeddings do; queries are candidates with
noise. The index is the one that `attach_vectors` chooses for their number. In every round each side answers the same
batch, in turns, so that a busy machine slows all of them alike; ratios are medians over the rounds. Four sides:

    bare FAISS     index.search on the very same FAISS index
    the index      VRFIndex.search: through `datasets`, with checks
    with rows      VRFIndex.nearest: candidates as rows, with their images, as `Retriever.search` returns them
    exact          bare FAISS comparing every candidate; recall@10 is the share of its answers that are found

    python benchmarks/search.py [--candidates 1000000] [--queries 256] [--rounds 5] [--exact]

With --exact the index under test is the exact one whatever the size. The exit code is 1 below the target.
"""

from __future__ import annotations

import argparse
import io
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import faiss
import numpy as np
import pyarrow as pa
from PIL import Image

from recipeflow.search import index as search_index
from retrieval_vrf import EMBEDDING, VRFIndex

TARGET = 0.95
WIDTH, LATENT, K = 128, 16, 10
BARE, OURS, ROWS, EXACT = "bare FAISS", "the index", "with rows", "exact"


def make_vectors(count: int, queries: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors that fill 16 directions of the space, as embeddings do, with noise; and queries near some."""
    random = np.random.default_rng(seed)
    directions = random.standard_normal((LATENT, WIDTH), np.float32)
    vectors = random.standard_normal((count, LATENT), np.float32) @ directions
    vectors += 0.5 * random.standard_normal((count, WIDTH), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = vectors[random.integers(count, size=queries)]
    asked = asked + 0.5 / WIDTH**0.5 * random.standard_normal((queries, WIDTH), np.float32)
    return vectors, asked / np.linalg.norm(asked, axis=1, keepdims=True)


def make_rows(count: int) -> datasets.Dataset:
    """A table of so many candidates, all with the same small picture."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "green").save(buffer, "JPEG")
    picture = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([buffer.getvalue()]))
    names = pa.array([f"recipe {number}" for number in range(count)])
    image = pa.StructArray.from_arrays([picture.dictionary_decode(), pa.nulls(count, pa.string())], ["bytes", "path"])
    features = datasets.Features(
        {name: datasets.Value("string") for name in ("recipe_id", "title", "action", "object", "instruction")}
        | {"image": datasets.Image(decode=False)}
    )
    table = pa.table([*[names] * 5, image], names=list(features))
    return datasets.Dataset(table, info=datasets.DatasetInfo(features=features))


def build(vectors: np.ndarray, exact: bool) -> VRFIndex:
    """An index as `build_index` makes it, and what that took."""
    rows = make_rows(len(vectors))
    search_index.EXACT_UP_TO = len(vectors) if exact else search_index.EXACT_UP_TO
    before, started = memory(), time.perf_counter()
    kind = search_index.attach_vectors(rows, vectors)
    took = time.perf_counter() - started
    print(f"{kind}: built in {took:.1f} s, {memory() - before:,.0f} MB of memory")
    return VRFIndex(rows, {})


def memory() -> float:
    """What this process has in memory now, in MB (on Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def measure(sides: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every side in every round, beginning with another one each time, after a round to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(rounds + 1):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            started = time.perf_counter()
            sides[name]()
            if number:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def recall(found: np.ndarray, right: np.ndarray) -> float:
    """The share of the right answers that were found."""
    pairs = zip(found, right, strict=True)
    return sum(len(set(one.tolist()) & set(other.tolist())) for one, other in pairs) / right.size


def main() -> None:
    """Measure, print, and fail below the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--candidates", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=256, help="in a batch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--exact", action="store_true", help="test the exact index whatever the size")
    options = parser.parse_args()
    datasets.disable_progress_bars()
    vectors, queries = make_vectors(options.candidates, options.queries)
    index = build(vectors, options.exact)
    attached: Any = index.rows.get_index(EMBEDDING)  # of its classes, the one for FAISS
    bare = attached.faiss_index
    flat = faiss.IndexFlatIP(WIDTH)
    flat.add(vectors)
    sides: dict[str, Callable[[], object]] = {
        BARE: lambda: bare.search(queries, K),
        OURS: lambda: index.search(queries, K),
        ROWS: lambda: index.nearest(queries, K),
        EXACT: lambda: flat.search(queries, K),
    }
    seconds = measure(sides, options.rounds)
    print(
        f"{options.candidates:,} candidates of {WIDTH} numbers, batches of {options.queries} queries, "
        f"{options.rounds} rounds, {faiss.omp_get_max_threads()} threads; queries a second and share of bare FAISS:"
    )
    ratios = {}
    for name, times in seconds.items():
        ratios[name] = statistics.median(plain / own for plain, own in zip(seconds[BARE], times, strict=True))
        print(f"  {name:12}{options.queries / statistics.median(times):10,.0f}{ratios[name]:8.3f}")
    right = flat.search(queries, K)[1]
    found = {name: recall(side.search(queries, K)[1], right) for name, side in ((BARE, bare), (OURS, index))}
    print(f"recall@{K} of the exact answers: " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
    print(f"the index over bare FAISS: {ratios[OURS]:.3f} (target: at least {TARGET})")
    sys.exit(ratios[OURS] < TARGET or found[OURS] < found[BARE])


if __name__ == "__main__":
    main()
