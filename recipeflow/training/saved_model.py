"""The names of what a run writes, and whether a folder contains a saved model.

Without torch, so that a wrong name is refused at once.
"""

from __future__ import annotations

import json
from pathlib import Path

from recipeflow.errors import ModelFolderError, SearchIndexError

DEFAULT_MODEL = "run/model"
"""Where `vrf train` saves its model, and where other commands look for one."""

INDEX = "index/index.json"
"""The file that marks a model with an index, below its folder."""

MODEL = "model"
"""The folder of the finished model, inside that of its run."""

BEST = "best"
"""The folder of the model that did best on the held-out fold, next to it."""

SETTINGS = "training.json"
HISTORY = "history.json"
"""What a run was started with, and what it measured in each epoch."""

TUNING = "tuning.json"
"""What a run with ``--tune`` chose, so that a resumed one does not choose again."""

VOCABULARY = "tokenizer.json"
NEEDED = ("config.json", "*.safetensors", "modeling_*.py", "processor_config.json", VOCABULARY)
"""Without these, a model cannot be loaded from the Hub."""


def find_model_folder(name: str | Path) -> Path | None:
    """The folder of a saved model; ``None`` if the name can only be a repository on the Hub.

    Raises:
        ModelFolderError: If it is a folder without a model, or a path that does not exist.
    """
    from recipeflow.hub_client import is_hub_name  # here, because every start of `vrf` reads this module

    folder = Path(name)
    if (folder / "config.json").is_file():
        return folder
    if folder.exists():
        raise ModelFolderError(
            f"expected the folder of a saved model, found no config.json in {folder}; pass a folder "
            f"written by `vrf train`, such as {DEFAULT_MODEL}"
        )
    if str(name) != DEFAULT_MODEL and is_hub_name(name):
        return None
    raise ModelFolderError(
        f"expected a saved model, found nothing at {name}; train one with `vrf train VRF --out run`, or pass the "
        "folder of one with --model"
    )


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


def check_index(model: Path, other_way: str = "") -> None:
    """Refuse a model that has no index to search in; the error can name another way to do without."""
    if not (model / INDEX).is_file():
        raise SearchIndexError(
            f"expected an index of candidates in {model}, found none; make one with `vrf index VRF --model {model}`"
            f"{other_way}"
        )


def index_size(model: Path) -> int | None:
    """The number of candidates of a model's index; ``None`` if it has none that can be read."""
    try:
        return int(json.loads((model / INDEX).read_text(encoding="utf-8"))["rows"])
    except (OSError, ValueError, KeyError):
        return None
