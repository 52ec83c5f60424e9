"""Whether a folder is of the kind that a command needs; without torch, so that a wrong name is refused at once."""

from __future__ import annotations

import re
from pathlib import Path

from recipeflow.errors import DatasetFolderError, ModelFolderError, SearchIndexError

DEFAULT_MODEL = "run/model"
"""Where `vrf train` leaves its model, and where other commands look for one."""

MANIFEST = "vrf_build.json"
"""What was built from what. Only a build writes it, so a folder that has it may be replaced."""

PAIRS = "image_pairs"
"""The table of a dataset that training and search read."""

INDEX = "index/index.json"
"""What marks a model that can be searched with, below its folder."""

MODEL = "model"
"""The folder of the finished model, inside that of its run."""

VOCABULARY = "tokenizer.json"
NEEDED = ("config.json", "*.safetensors", "modeling_vrf.py", "processor_config.json", VOCABULARY)
"""Without these, a model cannot be loaded from the Hub."""

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def find_pairs(dataset: Path) -> list[Path]:
    """The Parquet files of a dataset's pairs.

    Raises:
        DatasetFolderError: If this is no dataset folder.
    """
    if files := sorted((dataset / PAIRS).glob("*.parquet")):
        return files
    raise no_dataset(dataset, f"{PAIRS}/*.parquet")


def check_dataset(dataset: str | Path) -> None:
    """Refuse a folder that is no dataset; a name that can only be on the Hub is looked up when it is opened."""
    if Path(dataset).exists() or not is_hub_name(dataset):
        find_pairs(Path(dataset))


def no_dataset(folder: Path, missing: str) -> DatasetFolderError:
    """The error for a folder that is no built dataset, with a way to get one that harms no folder that is there."""
    expected = "expected a folder that `vrf build` wrote"
    if (folder / "annotations.json").is_file():
        advice = f"`vrf build {folder} --out vrf` makes a dataset of it in the folder vrf"
        return DatasetFolderError(f"{expected}, found the release folder {folder}; {advice}")
    if folder.exists():
        advice = "name another one, or build one with `vrf build RELEASE --out vrf`"
    else:
        advice = f"build one with `vrf build RELEASE --out {folder}`"
    return DatasetFolderError(f"{expected}, found no readable {missing} in {folder}; {advice}")


def find_model_folder(name: str | Path) -> Path | None:
    """The folder of a saved model; ``None`` where the name can only be that of a repository on the Hub.

    Raises:
        ModelFolderError: If it is a folder without a model, or a path at which there is nothing.
    """
    folder = Path(name)
    if (folder / "config.json").is_file():
        return folder
    if folder.exists():
        raise ModelFolderError(
            f"expected the folder of a saved model, found no config.json in {folder}; name the folder that "
            f"`vrf train` wrote, such as {DEFAULT_MODEL}"
        )
    if is_hub_name(name):
        return None
    raise ModelFolderError(
        f"expected a saved model, found nothing at {name}; train one with `vrf train VRF --out run`, or name the "
        "folder of one with --model"
    )


def is_hub_name(name: str | Path) -> bool:
    """Whether a name is one of the Hub's, OWNER/NAME, rather than a path: the default, or below a folder of ours."""
    text = str(name)
    return text != DEFAULT_MODEL and _HUB_NAME.fullmatch(text) is not None and not Path(text).parent.exists()


def find_package(folder: Path) -> tuple[Path, Path | None]:
    """The folder of a model that can be shared, and that of the run that trained it, if there is one.

    Args:
        folder: Of the run or of the model.

    Raises:
        ModelFolderError: If something is missing.
    """
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


def check_index(model: Path) -> None:
    """Refuse a model that has no index to search in."""
    if not (model / INDEX).is_file():
        raise SearchIndexError(
            f"expected an index of candidates in {model}, found none; make one with `vrf index VRF --model {model}`, "
            "or name a dataset with --dataset"
        )
