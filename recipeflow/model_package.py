"""What goes to the Hub with a model: its folder, the run that trained it, its dataset, a picture, and its card."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import EntryNotFoundError

import index_vrf
from calibration_vrf import VRFCalibration
from configuration_vrf import VRFConfig, choose_examples, model_card
from recipeflow.build import MANIFEST
from recipeflow.dataset_package import read_source
from recipeflow.errors import ModelFolderError, UsageError
from recipeflow.hub_errors import check_name, telling
from recipeflow.model_card import TrainedOn, make_model_card, read_evidence
from recipeflow.training import MODEL
from recipeflow.transfer import CARD

VOCABULARY = "tokenizer.json"
NEEDED = ("config.json", "*.safetensors", "modeling_vrf.py", "processor_config.json", VOCABULARY)
"""Without these, a model cannot be loaded from the Hub."""


@dataclass(frozen=True)
class ModelPackage:
    """A model that is ready to be sent.

    Attributes:
        folder: Of the saved model.
        config: Its config.
        run: The folder of the run that trained it, if it is there.
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
            api: To look at the dataset with.
            dataset: A repository or a folder; by default what the model's index tells of it.
            picture: For the card.
        """
        model, run = _find_model(folder)
        config = _read_config(model)
        trained_on = _ask_index(model) if dataset is None else _find_dataset(api, dataset)
        return cls(model, config, run, trained_on, {} if picture is None else _check_picture(picture))

    def shows_official_frames(self) -> bool:
        """Whether frames of the official videos would be sent: the index and the picture show some."""
        is_official = self.trained_on is not None and self.trained_on.source == "official"
        return is_official and (bool(self.pictures) or self.has_index())

    def has_index(self) -> bool:
        """Whether pictures to search go along."""
        return (self.folder / index_vrf.FOLDER / index_vrf.ABOUT).is_file()

    def has_default_card(self) -> bool:
        """Whether the card is the one that every saved model gets, so that nobody will miss it."""
        path = self.folder / CARD
        default = model_card(self.config, words=_choose_words(self.folder))
        return not path.is_file() or path.read_text(encoding="utf-8") == default

    def make_card(self, repo_id: str, results: Path | None, licence: str) -> str:
        """The card with what was measured."""
        evidence = read_evidence(self.config, self.run, results)
        calibration = _read_calibration(self.folder)
        options = {"picture": next(iter(self.pictures), None), "has_index": self.has_index(), "licence": licence}
        options |= {"calibration": calibration and calibration.about, "words": _choose_words(self.folder)}
        return str(make_model_card(self.config, repo_id, evidence, self.trained_on, **options))


def _find_model(folder: Path) -> tuple[Path, Path | None]:
    """The folder of the saved model, and that of the run that trained it, if there is one."""
    if (folder / MODEL).is_dir():
        folder = folder / MODEL
    run = folder.parent if folder.name == MODEL else None
    missing = [name for name in NEEDED if not any(folder.glob(name))]
    if missing:
        raise ModelFolderError(
            f"expected a finished run or a model saved with its processor, found no {', '.join(missing)} in {folder}; "
            "finish `vrf train`, or save it with model.save_pretrained(folder, processor=processor)"
        )
    return folder, run


def _read_config(model: Path) -> VRFConfig:
    try:
        return VRFConfig.from_pretrained(model)
    except (OSError, TypeError, ValueError) as error:
        message = f"expected a VRFModel, found another config.json in {model} ({error}); name a model of this project"
        raise ModelFolderError(message) from error


def _choose_words(model: Path) -> dict[str, str]:
    """A verb and an object of the model's own vocabulary."""
    try:
        vocabulary = json.loads((model / VOCABULARY).read_text(encoding="utf-8"))["model"]["vocab"]
        return choose_examples(vocabulary)
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
    """What the model's index says of its dataset."""
    path = model / index_vrf.FOLDER / index_vrf.ABOUT
    if not path.is_file():
        return None
    try:
        release = json.loads(path.read_text(encoding="utf-8"))["dataset"]["release"]
        return None if release is None else TrainedOn(source=release["source"])
    except (ValueError, LookupError, TypeError) as error:
        message = f"expected what `vrf index` writes, found something else in {path}; run that command again"
        raise ModelFolderError(message) from error


def _find_dataset(api: HfApi, dataset: str | Path) -> TrainedOn:
    """A dataset folder, or a repository, which must be there: the card links it."""
    if Path(dataset).is_dir():
        return TrainedOn(source=read_source(Path(dataset)))
    repo_id = str(dataset)
    check_name(repo_id)
    with telling(api, repo_id):
        try:
            manifest = api.hf_hub_download(repo_id, MANIFEST, repo_type="dataset")
        except EntryNotFoundError:
            return TrainedOn(repo_id)
    return TrainedOn(repo_id, read_source(Path(manifest).parent))


def _check_picture(path: Path) -> dict[str, Path]:
    suffix = path.suffix.lower()
    if not path.is_file() or suffix not in (".png", ".jpg"):
        raise UsageError(f"expected a picture, .png or .jpg, found {path}; draw one with `vrf search --picture`")
    return {f"examples{suffix}": path}
