"""What goes to the Hub with a model: its folder, the run that trained it, its dataset, a picture, and its card."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import EntryNotFoundError

from configuration_vrf import VRFConfig
from package_vrf import INDEX, INDEX_ABOUT
from recipeflow.dataset.digest import dataset_digest
from recipeflow.dataset.folder import MANIFEST
from recipeflow.errors import DatasetFolderError, HubError, ModelFolderError
from recipeflow.hub.dataset_package import open_built
from recipeflow.hub.evidence import TrainedOn, read_evidence
from recipeflow.hub.model_card import choose_examples, make_default_card, make_model_card
from recipeflow.hub.transfer import CARD
from recipeflow.hub_client import check_name, explain_hub_errors
from recipeflow.images import check_card_picture
from recipeflow.training.saved_model import VOCABULARY, find_package
from retrieval_vrf import VRFCalibration


@dataclass(frozen=True)
class ModelPackage:
    """A model that is ready to be sent.

    Attributes:
        folder: Of the saved model.
        config: Its config.
        run: The folder of the run that trained it, if it exists.
        trained_on: Its dataset, if it is known.
        pictures: For the card, under the name that it has in the repository.
    """

    folder: Path
    config: VRFConfig
    run: Path | None
    trained_on: TrainedOn | None
    pictures: dict[str, Path]

    @classmethod
    def open(cls, folder: Path, api: HfApi, dataset: str | Path | None, picture: Path | None) -> ModelPackage:
        """Find everything, or say what is missing.

        Args:
            folder: Of a run or of a saved model.
            api: To read the dataset on the Hub.
            dataset: A repository or a folder; by default what the model's index says about it.
            picture: For the card.
        """
        model, run = find_package(folder)
        config = _read_config(model)
        trained_on = _ask_index(model) if dataset is None else _find_dataset(api, dataset, config)
        return cls(
            model,
            config,
            run,
            trained_on,
            {} if picture is None else {f"examples{check_card_picture(picture)}": picture},
        )

    def notes(self) -> list[str]:
        """What could not be checked."""
        if self.trained_on is None or self.trained_on.doubt is None:
            return []
        return [f"not verified that the model was trained on this dataset: {self.trained_on.doubt}"]

    def shows_official_frames(self) -> bool:
        """Whether frames of the official videos would be sent: the index and the picture show some."""
        is_official = self.trained_on is not None and self.trained_on.source == "official"
        return is_official and (bool(self.pictures) or self.has_index())

    def has_index(self) -> bool:
        """Whether there is an index."""
        return (self.folder / INDEX / INDEX_ABOUT).is_file()

    def has_default_card(self) -> bool:
        """Whether the card is the one that `vrf train` writes, or missing, so that it can be replaced."""
        path = self.folder / CARD
        if not path.is_file():
            return True
        return path.read_text(encoding="utf-8") == make_default_card(self.config, _read_vocabulary(self.folder))

    def make_card(self, repo_id: str, results: Path | None, license: str) -> str:
        """The card with the measured results."""
        evidence = read_evidence(self.config, self.run, results)
        calibration = _read_calibration(self.folder)
        card = make_model_card(
            self.config,
            repo_id,
            evidence,
            self.trained_on,
            picture=next(iter(self.pictures), None),
            has_index=self.has_index(),
            calibration=calibration.about if calibration else None,
            license=license,
            words=choose_examples(_read_vocabulary(self.folder)),
        )
        return str(card)


def _read_config(model: Path) -> VRFConfig:
    try:
        config = VRFConfig.from_pretrained(model)
    except (OSError, TypeError, ValueError) as error:
        message = f"expected a VRFModel, found another config.json in {model} ({error}); pass a model of this project"
        raise ModelFolderError(message) from error
    assert isinstance(config, VRFConfig)  # a tuple comes only with return_unused_kwargs
    return config


def _read_vocabulary(model: Path) -> dict[str, int]:
    try:
        return json.loads((model / VOCABULARY).read_text(encoding="utf-8"))["model"]["vocab"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        message = (
            f"expected the model's vocabulary in {model / VOCABULARY}, found none ({error}); save the model again"
        )
        raise ModelFolderError(message) from error


def _read_calibration(model: Path) -> VRFCalibration | None:
    try:
        return VRFCalibration.load(model)
    except ValueError as error:
        raise ModelFolderError(str(error)) from error


def _ask_index(model: Path) -> TrainedOn | None:
    """What the model's index says about its dataset."""
    path = model / INDEX / INDEX_ABOUT
    if not path.is_file():
        return None
    try:
        release = json.loads(path.read_text(encoding="utf-8"))["dataset"]["release"]
        return None if release is None else TrainedOn(source=release["source"])
    except (ValueError, LookupError, TypeError) as error:
        message = f"expected what `vrf index` writes, found something else in {path}; run that command again"
        raise ModelFolderError(message) from error


def _find_dataset(api: HfApi, dataset: str | Path, config: VRFConfig) -> TrainedOn:
    """A dataset folder, or a repository, which must exist: the card links to it."""
    if Path(dataset).is_dir():
        return TrainedOn(source=open_built(Path(dataset)).source, doubt=_check_trained_on(Path(dataset), config))
    repo_id = str(dataset)
    check_name(repo_id)
    with explain_hub_errors(api, repo_id):
        try:
            manifest = api.hf_hub_download(repo_id, MANIFEST, repo_type="dataset")
        except EntryNotFoundError:
            return TrainedOn(repo_id, doubt=NOT_HERE)
    try:
        return TrainedOn(repo_id, open_built(Path(manifest).parent).source, NOT_HERE)
    except DatasetFolderError as error:  # it names the copy in the cache, which users should not repair
        message = f"expected a dataset sent by `vrf push dataset`, found no readable {MANIFEST} in {repo_id}"
        raise HubError(f"{message}; push the dataset again") from error


NOT_HERE = "the dataset is on the Hub, and its name does not show its content; pass its folder to have it checked"


def _check_trained_on(dataset: Path, config: VRFConfig) -> str | None:
    """Refuse a dataset that the model was not trained on; return why if that cannot be checked."""
    if config.trained_on is None:
        return "the model does not record what it was trained on"
    found = dataset_digest(dataset)
    if found != config.trained_on:
        raise ModelFolderError(
            f"expected the dataset that the model was trained on ({config.trained_on[:12]}…), found another in "
            f"{dataset} ({found[:12]}…); pass the right one with --dataset, or omit --dataset"
        )
    return None
