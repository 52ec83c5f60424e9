"""Ask a trained model what an object will look like after an action.

::

    retriever = Retriever.from_pretrained("OWNER/NAME")  # or a folder, such as run/model
    for row in retriever.search(action="千切り", object="キャベツ", image="cabbage.jpg", k=5):
        print(row["score"], row["title"], row["action"], row["object"], row["image"])

Where the model was calibrated (``vrf calibrate``), rows also have ``confidence`` and ``sure``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import torch
from huggingface_hub import snapshot_download

from modeling_vrf import VRFModel
from processing_vrf import ImageLike, Phrase, VRFProcessor
from recipeflow.errors import CalibrationError, QueryError, SearchIndexError
from recipeflow.search.index import build_index, save_index
from recipeflow.training.runs import load_trained
from recipeflow.training.saved_model import DEFAULT_MODEL, find_model_folder
from requests_vrf import Request, read_request
from retrieval_vrf import VRFCalibration, VRFIndex, arrange_queries, kind_of, name_codes

Row = dict[str, Any]


class Retriever:
    """A model with the candidates it searches.

    Args:
        model: A trained model.
        processor: Its processor.
        index: Candidates that were embedded with the same model.

    Raises:
        SearchIndexError: If they were embedded with another model.
    """

    def __init__(self, model: VRFModel, processor: VRFProcessor, index: VRFIndex) -> None:
        self.model, self.processor, self.index = model.eval(), processor, index
        try:
            index.check_model(model)
            processor.views = index.views
        except ValueError as error:
            raise SearchIndexError(str(error)) from error

    @property
    def glossary(self) -> dict[str, str]:
        """English for the words of the candidates' release, as far as it has them."""
        return self.index.glossary

    @classmethod
    def from_pretrained(cls, name: str | Path, device: torch.device | None = None, **options: Any) -> Retriever:
        """Load model, processor and index from a folder or a repository on the Hub; nothing else is needed.

        Args:
            name: The folder of a saved model, or a repository's name.
            device: Where the model computes; the CPU by default.
            **options: Of ``huggingface_hub.snapshot_download``: ``revision``, ``token``, ``local_files_only`` …

        Raises:
            ModelFolderError: If the name is a path without a model.
            SearchIndexError: If there is no such model on the Hub, or it has no index that fits it.
        """
        folder = find_model(name, **options)
        try:
            index = VRFIndex.load(folder)
        except ValueError as error:
            raise SearchIndexError(str(error)) from error
        return cls(*load_trained(str(folder), device), index)

    @classmethod
    def build(
        cls,
        model: VRFModel,
        processor: VRFProcessor,
        dataset: str | Path,
        *,
        calibration: VRFCalibration | None = None,
        **options: Any,
    ) -> Retriever:
        """Embed the post-action images of a dataset folder.

        Args:
            model: A trained model.
            processor: Its processor.
            dataset: The folder.
            calibration: Of that model, as `load_calibration` reads it.
            **options: Of `build_index`.
        """
        index = build_index(model, processor, dataset, **options)
        try:
            return cls(model, processor, VRFIndex(index.rows, index.about, calibration, index.features))
        except ValueError as error:
            raise CalibrationError(str(error)) from error

    def save(self, model_folder: str | Path) -> Path:
        """Save the index in the folder of the saved model; it is pushed and pulled with the model."""
        return save_index(self.index, model_folder)

    @overload
    def search(
        self,
        action: str | None = None,
        object: str | None = None,
        image: ImageLike | None = None,
        context: Mapping[str, Phrase] | None = None,
        k: int = 5,
        min_confidence: float | None = None,
    ) -> list[Row]: ...

    @overload
    def search(
        self,
        action: Phrase | Sequence[Phrase] | None = None,
        object: Phrase | Sequence[Phrase] | None = None,
        image: ImageLike | Sequence[ImageLike | None] | None = None,
        context: Mapping[str, Phrase] | Sequence[Mapping[str, Phrase] | None] | None = None,
        k: int = 5,
        min_confidence: float | None = None,
    ) -> list[Row] | list[list[Row]]: ...

    def search(
        self,
        action: Phrase | Sequence[Phrase] | None = None,
        object: Phrase | Sequence[Phrase] | None = None,
        image: ImageLike | Sequence[ImageLike | None] | None = None,
        context: Mapping[str, Phrase] | Sequence[Mapping[str, Phrase] | None] | None = None,
        k: int = 5,
        min_confidence: float | None = None,
    ) -> list[Row] | list[list[Row]]:
        """The candidates that most likely show the object after the action, the best first.

        A list makes a batch; anything else is the same for all of it. A phrase is a string that is split at white
        space or, inside a list, a list of words.

        Args:
            action: The verb.
            object: The object.
            image: A picture of it before the action; ``None`` if there is none.
            context: More about the action, for a model that reads it: words by role, such as
                ``{"modifier": "薄く", "destination": "ボウル"}``.
            k: How many candidates.
            min_confidence: The confidence threshold for ``sure``; by default that of the model's calibration for this
                kind of query.

        Returns:
            For one query its rows, for a batch a list of them: the candidate's recipe, action, object, instruction,
            frame and image, and ``score``, the similarity. If the model was calibrated, also ``confidence``,
            the probability that the candidate is the right one, ``sure``, the same in all rows of a query: whether the
            first one's confidence reaches the threshold, and ``absent``: how likely it is that no candidate shows what
            was asked for.

        Raises:
            QueryError: If the model needs other inputs, has fewer than k candidates, or was not calibrated and is
                asked for a confidence.
        """
        queries, is_batch = _make_queries(action=action, object=object, image=image, context=context)
        try:
            inputs = arrange_queries(queries, self.model.config)
            images = inputs.pop("pre_images", None)
            embeds = self.model.encode_queries(**inputs, images=images, processor=self.processor)
            kinds = [kind_of(query, self.model.config.read_parts) for query in queries]
            found = self.index.nearest(embeds.numpy(), k, min_confidence, kinds, name_codes(queries, self.processor))
        except (ValueError, TypeError, OSError) as error:
            raise QueryError(str(error)) from error
        return found if is_batch else found[0]

    def read_request(self, sentence: str, parser: Any) -> Request:
        """Understand a sentence such as キャベツを千切りにする.

        Args:
            sentence: In the parser's language.
            parser: The pipeline of a parser, from `recipeflow.parser.runs.open_pipeline` or transformers.

        Raises:
            QueryError: If it has no action that is done to something, or is not in the parser's language.
        """
        try:
            return read_request(sentence, parser, self.processor, self.index.names, self.model.config.context)
        except (ValueError, ImportError) as error:
            raise QueryError(str(error)) from error


def find_model(name: str | Path, **options: Any) -> Path:
    """The folder of a model, downloaded from the Hub if there is no such folder here."""
    if (folder := find_model_folder(name)) is not None:
        return folder
    try:
        return Path(snapshot_download(str(name), **options))
    except (OSError, ValueError) as error:
        raise SearchIndexError(
            f"expected the folder of a model or its name on the Hub, found {str(name)!r}: {error}; pass a folder such "
            f"as {DEFAULT_MODEL}, or log in if the repository is private"
        ) from error


def load_calibration(folder: Path) -> VRFCalibration | None:
    """The calibration saved with a model; ``None`` if it has none."""
    try:
        return VRFCalibration.load(folder)
    except ValueError as error:
        raise CalibrationError(str(error)) from error


def _make_queries(**parts: Any) -> tuple[list[dict[str, Any]], bool]:
    """One query for each item of the lists among the parts."""
    sizes = {name: len(value) for name, value in parts.items() if isinstance(value, list | tuple)}
    if len(set(sizes.values())) > 1:
        raise QueryError(f"expected lists of one length, found {sizes}; a batch needs one of each per query")
    count = next(iter(sizes.values()), 1)
    columns = [value if name in sizes else [value] * count for name, value in parts.items()]
    return [dict(zip(parts, values, strict=True)) for values in zip(*columns, strict=True)], bool(sizes)
