"""A model as a package: what is saved with its weights, and where it is found again.

This file is saved with every model and imports nothing from the project.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from transformers import PreTrainedModel
from transformers.utils import logging

try:
    from .configuration_vrf import weights_digest
    from .package_hub import (
        CARD,
        PIPELINES,
        HubPackage,
        Pipelines,
        copy_card,
        copy_code,
        own_folder,
        read_json,
        write_pipelines,
    )
    from .processing_vrf import VRFProcessor
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_vrf import weights_digest
    from package_hub import (
        CARD,
        PIPELINES,
        HubPackage,
        Pipelines,
        copy_card,
        copy_code,
        own_folder,
        read_json,
        write_pipelines,
    )
    from processing_vrf import VRFProcessor

logger = logging.get_logger(__name__)

INDEX, INDEX_ABOUT = "index", "index.json"
CALIBRATION = "calibration.json"
RETRIEVAL = "retrieval_vrf.PostActionRetrievalPipeline"
EARLIER = {"pipeline_vrf.PostActionRetrievalPipeline": RETRIEVAL}
"""The pipeline that searches, as `config.json` names it, and the names that earlier versions saved for it."""


class VRFPackage(HubPackage):
    """A model that is saved with its processor, its pipeline with the index that it searches, and its calibration."""

    processor_class = VRFProcessor
    package_files: ClassVar[Sequence[str]] = (f"{INDEX}/*", CALIBRATION, CARD, "*_vrf.py", "*_hub.py")

    def carry_over(self, target: Path) -> None:
        """Copy card, pipeline, index and calibration of a loaded model into the folder that it was just saved in.

        All but the card belong to the weights that they were made with. Without an index for these, `config.json` must
        not name a pipeline either.
        """
        tasks = _own_pipelines(self)
        try:
            source = self.find_folder()
            copy_card(source, target)
            if tasks:
                _check_index(self, source / INDEX / INDEX_ABOUT)
            for task in tasks.values():
                copy_code(task["impl"], [own_folder(self), source], target)
        except (OSError, ValueError) as error:
            if tasks:
                logger.warning(f"The model is saved without its pipeline ({', '.join(tasks)}): {error}")
                write_pipelines(target / "config.json", {})
            return
        if source.resolve() != target.resolve():
            if tasks:
                shutil.copytree(source / INDEX, target / INDEX, dirs_exist_ok=True)
            if _was_made_with(self, source / CALIBRATION):
                shutil.copyfile(source / CALIBRATION, target / CALIBRATION)
        if tasks:
            write_pipelines(target / "config.json", tasks)


def _own_pipelines(model: PreTrainedModel) -> Pipelines:
    """The pipelines of a model's config, by the names of the running code in its own folder.

    A model from the Hub names code of its repository, and an earlier version had another name for the same code.
    """
    tasks = getattr(model.config, PIPELINES, None) or {}
    names = {task: settings["impl"].rpartition("--")[2] for task, settings in tasks.items()}
    return {task: settings | {"impl": EARLIER.get(names[task], names[task])} for task, settings in tasks.items()}


def _check_index(model: PreTrainedModel, about: Path) -> None:
    if not about.is_file():
        raise FileNotFoundError(f"expected an index in {about.parent}, found none")
    if not _was_made_with(model, about):
        raise ValueError(
            f"expected weights that the index in {about.parent} was made with, found others; make an index of the "
            "saved model with `vrf index`"
        )


def _was_made_with(model: PreTrainedModel, about: Path) -> bool:
    """Whether a file exists and records the checksum of these weights. Offloaded ones cannot be compared."""
    if not about.is_file() or any(tensor.device.type == "meta" for tensor in model.state_dict().values()):
        return False
    return read_json(about).get("weights") == weights_digest(model)


__all__ = ["CALIBRATION", "CARD", "INDEX", "INDEX_ABOUT", "RETRIEVAL", "VRFPackage"]
