"""Search with a Visual Recipe Flow model: its index of pictures, how sure it is of an answer, and a pipeline.

    pipe = pipeline("post-action-retrieval", model=repo, trust_remote_code=True)
    pipe({"action": "千切り", "object": "キャベツ", "image": "cabbage.jpg"}, top_k=5)

An index is the folder `index` of a saved model: the candidates (`rows.arrow`, images inside), their embeddings
(`vectors.faiss`, read by `datasets`' own FAISS integration), the features of their images (`features.npy`) and what
they were made with (`index.json`). The candidates are a mapped file, and not copied where they are loaded; an older
index has them in `rows.parquet`, and no features.

A confidence is the softmax over all candidates of their similarity divided by a temperature, fitted on queries that
the model had not seen. A query without its picture or its context has less information, so each kind of query has its
own temperature, and its own threshold below which the model is not sure. `calibration.json` next to the weights
contains both for every kind, and what they were measured on. It also has, for every kind, what tells that no candidate
shows what was asked for: the first answers are then less similar, and show other food or other actions.

This file is saved with every model that has an index and imports nothing from the project.
"""

import hashlib
import io
import json
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import datasets
import datasets.config
import datasets.exceptions
import faiss  # noqa: F401 - datasets reads the vectors with it; named here, so that transformers reports it if missing
import numpy as np
import torch
from datasets.search import FaissIndex
from PIL import Image
from transformers import BatchFeature, Pipeline

try:
    from .configuration_vrf import READ_ROLES, VRFConfig, weights_digest
    from .modeling_vrf import VRFModel
    from .package_vrf import CALIBRATION, INDEX, INDEX_ABOUT, RETRIEVAL
    from .processing_vrf import VRFProcessor
    from .requests_vrf import Names, read_request
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_vrf import READ_ROLES, VRFConfig, weights_digest
    from modeling_vrf import VRFModel
    from package_vrf import CALIBRATION, INDEX, INDEX_ABOUT, RETRIEVAL
    from processing_vrf import VRFProcessor
    from requests_vrf import Names, read_request

INDEX_FORMAT, CALIBRATION_FORMAT = 2, 3
OLD_CALIBRATION_FORMAT = 2
"""Without a measure of absence; still read."""

ROWS, VECTORS = "rows.arrow", "vectors.faiss"
FEATURES = "features.npy"
"""The backbone's features of the candidates, so that one that was found can be the next query's picture."""

PARQUET_FORMAT, PARQUET_ROWS = 1, "rows.parquet"
"""Of an older index, which is still read. `datasets` copies its images into its own cache."""

EMBEDDING = "embedding"
"""The name of the FAISS index on the table of candidates."""

PARTS = {"action": "actions", "object": "objects", "image": "pre_images", "context": "contexts"}
"""The parts of a query, and the processor's name for a list of each."""

CHUNK = 65_536
"""Candidates compared at a time if a confidence needs all of them."""

TASK = "post-action-retrieval"
KIND = "kind"
"""The name under which the number of a query's kind bypasses the model: the threshold depends on the kind."""

NAMES = "names"
"""The name under which the codes of a query's action and object bypass the model."""

LOOKED_AT = 10
"""The first answers that show whether what was asked for is among the candidates."""

Kind = tuple[str, ...]
"""A kind of query: the parts that it lacks; none of them for a complete one."""

COMPLETE: Kind = ()
ABSENCE_WEIGHTS = ("bias", "similarity", "same_action", "same_object", "same_state")


def optional_parts(parts: Sequence[str]) -> list[str]:
    """Which parts of a query may be missing: a picture if there are words, and always the context.

    Args:
        parts: The parts of a query that a model reads, `model.config.read_parts`.
    """
    has_words = "action" in parts or "object" in parts
    return [name for name in parts if name == "context" or (name == "image" and has_words)]


def query_kinds(parts: Sequence[str]) -> list[Kind]:
    """All kinds of queries that a model can take, the complete ones first."""
    optional = optional_parts(parts)
    return [kind for size in range(len(optional) + 1) for kind in combinations(optional, size)]


def kind_of(query: Mapping[str, Any], parts: Sequence[str]) -> Kind:
    """The kind of one query. A context without any words counts as missing."""
    context = query.get("context")
    given = {"image": query.get("image") is not None, "context": bool(context) and any(context.values())}
    return tuple(name for name in optional_parts(parts) if not given[name])


def name_kind(kind: Kind) -> str:
    """A kind for a person: `complete`, `no image`, `no image or context`."""
    return f"no {' or '.join(kind)}" if kind else "complete"


def name_code(phrase: str | Sequence[str] | None) -> int:
    """A number for the name of an action or object, whatever its width, case and spaces; 0 for none."""
    text = phrase if isinstance(phrase, str) else "".join(phrase or ())
    plain = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    return int.from_bytes(hashlib.sha256(plain.encode()).digest()[:8], signed=True) if plain else 0


def name_codes(queries: Sequence[Mapping[str, Any]], processor: VRFProcessor) -> np.ndarray:
    """The codes of each query's action and object, queries x 2, by the words of the vocabulary that they mean."""
    phrases = [[query.get(part) for part in ("action", "object")] for query in queries]
    return np.array([[name_code(part and processor.read_words(part)) for part in pair] for pair in phrases], np.int64)


@dataclass(frozen=True)
class VRFAbsence:
    """The weights of what shows that no candidate is right, in a logistic model.

    Args:
        bias: Without any evidence.
        similarity: Of the mean similarity of the first answers.
        same_action: Of the share of them that show the result of the action that was asked for.
        same_object: Of the share that show the object.
        same_state: Of whether one of them shows both.
    """

    bias: float
    similarity: float
    same_action: float
    same_object: float
    same_state: float

    def probability(self, evidence: np.ndarray) -> np.ndarray:
        """How likely absence is, if it was as likely as not before; the evidence is queries x the last four."""
        weights = [self.similarity, self.same_action, self.same_object, self.same_state]
        return 1 / (1 + np.exp(-(self.bias + evidence @ weights)))


def absence_evidence(scores: np.ndarray, answers: Sequence[Sequence[Mapping]], names: np.ndarray) -> np.ndarray:
    """What the first answers show, queries x 4: see `VRFAbsence`. Names that were not asked for are not compared.

    Args:
        scores: Similarities, queries x answers.
        answers: For each query, the first answers: each with the code of its `action`, and those of its `objects`.
        names: The codes of each query's action and object, 0 where it has none.
    """
    rows = []
    for found, (action, object) in zip(answers, names.tolist(), strict=True):
        same_action = np.array([action != 0 and answer["action"] == action for answer in found])
        same_object = np.array([object != 0 and object in answer["objects"] for answer in found])
        rows.append([same_action.mean(), same_object.mean(), (same_action & same_object).any()])
    return np.column_stack([scores.mean(axis=1), np.array(rows, float).reshape(-1, 3)])


@dataclass(frozen=True)
class VRFScale:
    """What turns the similarities of one kind of query into confidences.

    Args:
        temperature: What similarities are divided by.
        min_confidence: Below it, the model is not sure of its first answer.
        absence: What shows that no candidate is right; None where it was not measured.
    """

    temperature: float
    min_confidence: float
    absence: VRFAbsence | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0 and 0 < self.min_confidence <= 1):
            raise ValueError(f"temperature {self.temperature}, min_confidence {self.min_confidence}")


@dataclass(frozen=True)
class VRFCalibration:
    """The scales of a model.

    Args:
        scales: One for each kind of query that the model can take.
        weights: The digest of the model's weights; another model needs other scales.
        about: The content of the file: what the numbers were measured on.
    """

    scales: Mapping[Kind, VRFScale]
    weights: str
    about: dict[str, Any]

    @classmethod
    def load(cls, folder: str | Path) -> "VRFCalibration | None":
        """Read the calibration of a model's folder; None where it has none.

        Raises:
            ValueError: If there is one that cannot be read, or one of an older format.
        """
        path = Path(folder) / CALIBRATION
        if not path.is_file():
            return None
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            if about["format"] not in (OLD_CALIBRATION_FORMAT, CALIBRATION_FORMAT):
                raise ValueError(f"format {about['format']}, where this code reads {CALIBRATION_FORMAT}")
            rows = {COMPLETE: about} | {tuple(row["without"]): row for row in about["incomplete"]}
            scales = {kind: _read_scale(row) for kind, row in rows.items()}
            return cls(scales, str(about["weights"]), about)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"expected a calibration in {path}, found: {type(error).__name__}: {error}; make it again with "
                "`vrf calibrate`, or delete the file to do without"
            ) from error

    def check_weights(self, digest: str) -> None:
        """Make sure that it is the calibration of the model with these weights.

        Raises:
            ValueError: If it is another's.
        """
        if digest != self.weights:
            raise ValueError(
                f"expected the calibration of this model's weights ({digest[:12]}…), found that of others "
                f"({self.weights[:12]}…); run `vrf calibrate` again, or delete {CALIBRATION} to do without"
            )

    def check_views(self, views: int) -> None:
        """Make sure that it was measured with as many views of each picture as an index has.

        Raises:
            ValueError: If not: other features have other similarities.
        """
        found = self.about.get("views", 1)
        if found != views:
            raise ValueError(
                f"expected a calibration with {views} views of each picture, as in the index, found one with {found}; "
                f"run `vrf calibrate --views {views}`, or delete {CALIBRATION} to do without"
            )

    def scale(self, kind: Kind) -> VRFScale:
        """The scale of a kind of query.

        Raises:
            ValueError: If that kind was not calibrated.
        """
        if kind not in self.scales:
            raise ValueError(
                f"expected a calibration of queries with {name_kind(kind)}, found only those of: "
                f"{', '.join(map(name_kind, self.scales))}; run `vrf calibrate` again"
            )
        return self.scales[kind]


def _read_scale(row: Mapping[str, Any]) -> VRFScale:
    absence = row.get("absence")
    weights = absence and VRFAbsence(**{name: float(absence["weights"][name]) for name in ABSENCE_WEIGHTS})
    return VRFScale(float(row["temperature"]), float(row["min_confidence"]), weights)


def confidences(scores: np.ndarray, log_totals: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
    """The probability of each answer to be the right one, given that one of the candidates is.

    Args:
        scores: Similarities, queries x answers.
        log_totals: For each query, the logarithm of the sum over all candidates of exp(similarity / temperature).
        temperatures: For each query, that of its kind.
    """
    return np.exp(np.minimum(scores.astype(np.float64) / temperatures[:, None] - log_totals[:, None], 0.0))


class VRFIndex:
    """Candidates and their embeddings.

    Args:
        rows: One row per distinct post-action image, with a FAISS index of their unit vectors, by inner product.
        about: What they were made with: `weights` is the digest of the model's weights.
        calibration: Of the same model; without it answers have no confidence.
        features: The backbone's features of the images, one row per candidate; None in an older index.

    Raises:
        ValueError: If the calibration is of another model, or there are features of other candidates.
    """

    def __init__(
        self,
        rows: datasets.Dataset,
        about: dict[str, Any],
        calibration: VRFCalibration | None = None,
        features: np.ndarray | None = None,
    ) -> None:
        rows.get_index(EMBEDDING)
        if calibration is not None:
            calibration.check_weights(about["weights"])
            calibration.check_views(about.get("views", 1))
        if features is not None and (features.ndim != 2 or len(features) != len(rows)):
            raise ValueError(f"features of shape {features.shape}, where there are {len(rows)} candidates")
        self.rows, self.about, self.calibration, self.features = rows, about, calibration, features

    @classmethod
    def load(cls, folder: str | Path) -> "VRFIndex":
        """Read the index of a model's folder, with its calibration if it has one.

        Raises:
            ValueError: If there is no index, or one of the two is damaged.
        """
        calibration = VRFCalibration.load(folder)
        folder = Path(folder) / INDEX
        if not (folder / INDEX_ABOUT).is_file():
            raise ValueError(
                f"expected an index of candidates in {folder}, found none; make one with `vrf index VRF --model "
                "FOLDER`, where FOLDER is a model of yours: `vrf pull model` makes one of a model on the Hub"
            )
        try:
            about = json.loads((folder / INDEX_ABOUT).read_text(encoding="utf-8"))
            rows = _open_rows(folder, about)
            rows = rows.cast_column("image", datasets.Image(decode=False))  # so that only shown images are decoded
            rows.load_faiss_index(EMBEDDING, folder / VECTORS)
            has_features = (folder / FEATURES).is_file()
            features = np.load(folder / FEATURES, mmap_mode="r") if has_features else None
            return cls(rows, about, calibration, features)
        except (OSError, RuntimeError, ValueError, KeyError, TypeError, datasets.exceptions.DatasetsError) as error:
            raise ValueError(
                f"expected a complete index in {folder}, found: {type(error).__name__}: {error}; make it again with "
                "`vrf index`, or download it again"
            ) from error

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def views(self) -> int:
        """How many views of each candidate its feature is the mean of; a query's picture is read in the same way."""
        return self.about.get("views", 1)

    @property
    def glossary(self) -> dict[str, str]:
        """English for the words of the candidates' release, as far as it has them."""
        release = self.about["dataset"]["release"] or {}
        return release.get("glossary", {})

    @property
    def names(self) -> Names:
        """What the candidates show."""
        objects = {name for names in self.rows["objects"] for name in names}
        return Names(set(self.rows["action"]) - {None}, objects, self.glossary)

    def check_model(self, model: torch.nn.Module) -> None:
        """Make sure that the candidates were embedded with this model.

        Raises:
            ValueError: If they were not: another model's vectors have the same shape and mean something else.
        """
        found = weights_digest(model)
        if found != self.about["weights"]:
            raise ValueError(
                f"expected an index that was made with this model's weights ({found[:12]}…, {model.dtype}), found one "
                f"of others ({self.about['weights'][:12]}…); make it again with `vrf index`, or load the model in the "
                "precision that it was saved in"
            )

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest candidates of each query: similarities and rows, both queries x k, the best first.

        An approximate index may find fewer; then the last rows are -1.
        """
        if not 1 <= k <= len(self):
            raise ValueError(f"expected k from 1 to {len(self)}, the number of candidates, found {k}")
        scores, rows = self.rows.search_batch(EMBEDDING, queries, k)
        return np.asarray(scores), np.asarray(rows)

    def nearest(
        self,
        queries: np.ndarray,
        k: int,
        min_confidence: float | None = None,
        kinds: Sequence[Kind] | None = None,
        names: np.ndarray | None = None,
    ) -> list[list[dict[str, Any]]]:
        """The k nearest candidates of each query as rows, with `score`, their cosine similarity, and their image.

        If the model was calibrated, each also has `confidence`, how likely it is the right one of all candidates,
        and all rows of a query share `sure`: whether the first one's confidence is high enough. With names, they also
        share `absent`: how likely it is that no candidate shows what was asked for.

        Args:
            queries: Embeddings, one row per query.
            k: How many candidates.
            min_confidence: The threshold; by default the calibration's for the kind of each query.
            kinds: What each query lacks, as returned by `kind_of`; by default all are complete.
            names: The queries' actions and objects, as returned by `name_codes`.

        Raises:
            ValueError: If there are fewer than k candidates, or a confidence is requested without a calibration.
        """
        self._check_confidence(min_confidence)
        scores, rows = self.search(queries, k)
        found, places = np.unique(rows, return_inverse=True)
        records = [None] * int((found < 0).any()) + self.read(found[found >= 0])
        kinds = kinds or [COMPLETE] * len(queries)
        judged = self._judge(queries, scores, min_confidence, kinds)
        shared = self.absent(queries, kinds, names)
        return [
            [judgement | same | records[place] for judgement, place in zip(line, found, strict=True) if records[place]]
            for line, same, found in zip(judged, shared, places.reshape(rows.shape), strict=True)
        ]

    def read(self, rows: Sequence[int] | np.ndarray) -> list[dict[str, Any]]:
        """Some candidates, with their images."""
        columns = self.rows[rows]
        records = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        return [record | {"image": Image.open(io.BytesIO(record["image"]["bytes"]))} for record in records]

    def features_of(self, rows: torch.Tensor, model: VRFModel, processor: VRFProcessor) -> torch.Tensor:
        """The backbone's features of some candidates; an older index has none, and then they are computed."""
        if self.features is not None:
            return torch.from_numpy(self.features[rows.numpy()].astype(np.float32))
        return image_features(model, processor, [record["image"] for record in self.read(rows.tolist())])

    def absent(self, queries: np.ndarray, kinds: Sequence[Kind], names: np.ndarray | None) -> list[dict[str, float]]:
        """For each query, how likely it is that no candidate is right, where that was calibrated."""
        known = {} if self.calibration is None else {kind: self.calibration.scale(kind).absence for kind in set(kinds)}
        if names is None or not any(known.values()):
            return [{} for _ in kinds]
        scores, rows = self.search(queries, min(LOOKED_AT, len(self)))
        columns = self.rows.select_columns(["action", "objects"])[rows.flatten().clip(min=0)]
        codes = [
            {"action": name_code(action), "objects": {name_code(object) for object in objects}}
            for action, objects in zip(columns["action"], columns["objects"], strict=True)
        ]
        answers = [codes[start : start + rows.shape[1]] for start in range(0, len(codes), rows.shape[1])]
        evidence = absence_evidence(scores, answers, names)
        return [
            {} if absence is None else {"absent": float(absence.probability(row[None])[0])}
            for absence, row in zip((known[kind] for kind in kinds), evidence, strict=True)
        ]

    def _check_confidence(self, min_confidence: float | None) -> None:
        if min_confidence is None:
            return
        if self.calibration is None:
            raise ValueError(
                "expected a calibrated model to ask for a confidence, found none; calibrate it with "
                "`vrf calibrate DATASET --model FOLDER`, or omit min_confidence"
            )
        if not 0 <= min_confidence <= 1:
            raise ValueError(f"expected a confidence from 0 to 1, found {min_confidence}")

    def _judge(
        self, queries: np.ndarray, scores: np.ndarray, min_confidence: float | None, kinds: Sequence[Kind]
    ) -> list[list[dict[str, Any]]]:
        """Score, confidence and verdict of each answer."""
        if self.calibration is None:
            return [[{"score": float(score)} for score in line] for line in scores]
        scales = [self.calibration.scale(kind) for kind in kinds]
        temperatures = np.array([scale.temperature for scale in scales])
        least = [scale.min_confidence if min_confidence is None else min_confidence for scale in scales]
        lines = confidences(scores, self.log_totals(queries, temperatures), temperatures)
        return [
            [
                {"score": float(score), "confidence": float(confidence), "sure": bool(line[0] >= enough)}
                for score, confidence in zip(found, line, strict=True)
            ]
            for found, line, enough in zip(scores, lines, least, strict=True)
        ]

    def log_totals(self, queries: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
        """For each query the logarithm of the sum over all candidates of exp(similarity / its temperature).

        All of them count, even if the search visits only some: this takes as long as an exact search.
        """
        totals = np.full(len(queries), -np.inf)
        for vectors in self.vectors():
            exponents = (queries @ vectors.T).astype(np.float64) / temperatures[:, None]
            largest = exponents.max(axis=1, keepdims=True)
            part = largest[:, 0] + np.log(np.exp(exponents - largest).sum(axis=1))
            totals = np.logaddexp(totals, part)
        return totals

    def vectors(self) -> Iterator[np.ndarray]:
        """All vectors in order, some at a time."""
        table = self.rows.get_index(EMBEDDING)
        assert isinstance(table, FaissIndex)  # the other kind searches words
        index = table.faiss_index
        assert index is not None  # one without vectors cannot be put on a table
        for start in range(0, index.ntotal, CHUNK):
            yield index.reconstruct_n(start, min(CHUNK, index.ntotal - start))


def _open_rows(folder: Path, about: dict[str, Any]) -> datasets.Dataset:
    """The table of candidates: a mapped file, of which only the rows that are shown are read."""
    if about["format"] == PARQUET_FORMAT:
        # Cached by content: `datasets` alone uses a file's name and time, and could return older rows.
        cache = Path(datasets.config.HF_DATASETS_CACHE) / f"vrf-index-{about['rows_sha256']}"
        return datasets.Dataset.from_parquet(str(folder / PARQUET_ROWS), cache_dir=str(cache))
    if about["format"] != INDEX_FORMAT:
        raise ValueError(f"format {about['format']}, where this code reads {INDEX_FORMAT}")
    return datasets.Dataset.from_file(str(folder / ROWS))


@torch.no_grad()
def image_features(model: VRFModel, processor: VRFProcessor, images: Sequence[Any]) -> torch.Tensor:
    """The backbone's features of a batch of images."""
    pixels = processor(post_images=list(images))["post_pixel_values"]
    return model.get_features(pixels.to(model.device, model.dtype)).float().cpu()


def arrange_queries(queries: Sequence[Mapping[str, Any]], config: VRFConfig) -> dict[str, list]:
    """Check queries against what a model uses, and turn them into the lists that its processor takes.

    An image may be missing if there are words: the model then uses only the words. A context may always be missing.

    Args:
        queries: Each with some of `action`, `object`, `image` and `context`; None means missing.
        config: The model's.

    Raises:
        ValueError: If a query has too little or too much for this model.
    """
    inputs, roles = config.query_parts, READ_ROLES[config.context]
    if not queries:
        raise ValueError("expected at least one query, found none")
    needed = set(inputs) - set(optional_parts(inputs))
    for row, query in enumerate(queries):
        given = {name for name, value in query.items() if value is not None}
        place = f"in query {row}" if len(queries) > 1 else "in the query"
        uses = f"this model's queries consist of {', '.join(inputs)}"
        if excess := sorted(given - set(inputs)):
            raise ValueError(f"expected no {' or '.join(excess)} {place}, found one; {uses}: omit it")
        if missing := [name for name in inputs if name in needed - given]:
            raise ValueError(f"expected {' and '.join(missing)} {place}, found none; {uses}: pass it too")
        if unread := [role for role in query.get("context") or () if role not in roles]:
            raise ValueError(
                f"expected a context of {', '.join(roles)} {place}, found {unread[0]!r}, which this model does not "
                "read; omit it"
            )
    arranged = {PARTS[name]: [query.get(name) for query in queries] for name in inputs}
    if "contexts" in arranged:
        arranged["contexts"] = [context or {} for context in arranged["contexts"]]
    return arranged


def missed_words(queries: Sequence[Mapping[str, Any]], processor: VRFProcessor) -> dict[str, list[str]]:
    """The words of queries that are not found in the vocabulary, each with those that it may mean, if any."""
    phrases = [query[name] for query in queries for name in ("action", "object") if query.get(name)]
    phrases += [phrase for query in queries for phrase in (query.get("context") or {}).values() if phrase]
    return processor.missed_words(phrases)


def unknown_words(queries: Sequence[Mapping[str, Any]], processor: VRFProcessor) -> list[str]:
    """The same words alone; to the model they are all one unknown word."""
    return list(missed_words(queries, processor))


class PostActionRetrievalPipeline(Pipeline):
    """Find the pictures that show an object after an action.

    Args:
        model: A `VRFModel`.
        index: Its candidates, or the folder of a model that has them; by default those of the model's repository.
    """

    model: VRFModel
    processor: VRFProcessor

    _load_processor = True
    _load_tokenizer = False
    _load_image_processor = False
    _load_feature_extractor = False

    def __init__(self, model: VRFModel, index: VRFIndex | str | Path | None = None, **kwargs: Any) -> None:
        super().__init__(model=model, **kwargs)
        if self.processor is None:
            raise ValueError("expected a processor, found none; pass processor=… along with a model in memory")
        model.check_processor(self.processor)
        self.index = index if isinstance(index, VRFIndex) else VRFIndex.load(index or model.find_folder())
        self.index.check_model(model)
        self.processor.views = self.index.views

    def _sanitize_parameters(  # ty: ignore[incompatible-method-override] own parameters, as in transformers' pipelines
        self, top_k: int | None = None, min_confidence: float | None = None, k: int | None = None
    ) -> tuple[dict, dict, dict]:
        """`k`, the name of `top_k` in `Retriever.search`, is accepted, too."""
        given = {"top_k": k if top_k is None else top_k, "min_confidence": min_confidence}
        return {}, {}, {name: value for name, value in given.items() if value is not None}

    def preprocess(  # ty: ignore[incompatible-method-override] own parameters, as in transformers' pipelines
        self, query: Mapping[str, Any]
    ) -> BatchFeature:
        """Words and picture to tensors, and what the query lacks; the processor warns of unknown words."""
        config = self.model.config
        lists = arrange_queries([query], config)
        inputs = self.processor(
            lists.get("actions"), lists.get("objects"), lists.get("pre_images"), contexts=lists.get("contexts")
        )
        kinds = query_kinds(config.read_parts)
        inputs[KIND] = torch.tensor([kinds.index(kind_of(query, config.read_parts))])
        inputs[NAMES] = torch.from_numpy(name_codes([query], self.processor))
        return inputs

    def _forward(  # ty: ignore[incompatible-method-override] own parameters, as in transformers' pipelines
        self, inputs: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        past = {name: inputs[name] for name in (KIND, NAMES)}
        given = {name: tensor for name, tensor in inputs.items() if name not in past}
        return {"query_embeds": self.model.get_query_embeds(**given).float(), **past}

    def postprocess(  # ty: ignore[incompatible-method-override] own parameters, as in transformers' pipelines
        self, outputs: Mapping[str, torch.Tensor], top_k: int = 5, min_confidence: float | None = None
    ) -> list[dict[str, Any]]:
        """The nearest candidates, the best first, as rows with a `score`.

        A calibrated model adds its `confidence` in each, whether it is `sure` of the first, and how likely the right
        one is `absent`.
        """
        kind = query_kinds(self.model.config.read_parts)[int(outputs[KIND])]
        queries, names = (outputs[name].numpy() for name in ("query_embeds", NAMES))
        return self.index.nearest(queries, top_k, min_confidence, [kind], names)[0]

    def imagine(self, graph: Mapping[str, Any], **options: Any) -> list[Any]:
        """A storyboard of a recipe: for every action and object the picture of its result.

        Args:
            graph: What the pipeline `recipe-flow-graph` of a parser returns.
            **options: Of `storyboard_vrf.imagine_script`: `pictures`, `beam`, `k`.

        Returns:
            The panels, in order.
        """
        try:  # here, because that file needs this one
            from .storyboard_vrf import imagine_graph
        except ImportError:
            if __package__:
                raise
            from storyboard_vrf import imagine_graph
        return imagine_graph(graph, self.model, self.processor, self.index, **options)

    def read_request(self, sentence: str, parser: Any) -> Any:
        """Understand a sentence such as キャベツを千切りにする, with the pipeline of a parser."""
        return read_request(sentence, parser, self.processor, self.index.names, self.model.config.context)


CUSTOM_PIPELINES = {TASK: {"impl": RETRIEVAL, "pt": ["AutoModel"], "type": "multimodal"}}
"""The entry of `config.json` by which `pipeline` finds this class."""

__all__ = [
    "CUSTOM_PIPELINES",
    "TASK",
    "PostActionRetrievalPipeline",
    "VRFAbsence",
    "VRFCalibration",
    "VRFIndex",
    "VRFScale",
    "absence_evidence",
    "arrange_queries",
    "confidences",
    "image_features",
    "kind_of",
    "missed_words",
    "name_code",
    "name_codes",
    "name_kind",
    "optional_parts",
    "query_kinds",
    "unknown_words",
]
