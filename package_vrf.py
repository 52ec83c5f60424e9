"""What a saved model brings along beside its weights: its pipeline's code, index and calibration.

This file travels with every saved model and imports nothing of the project.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from transformers import PreTrainedModel
from transformers.dynamic_module_utils import get_relative_import_files
from transformers.utils import logging

try:
    from .configuration_vrf import weights_digest
except ImportError:
    if __package__:  # inside a package the sibling exists: the error is a real one
        raise
    from configuration_vrf import weights_digest

logger = logging.get_logger(__name__)

INDEX, INDEX_ABOUT = "index", "index.json"
CALIBRATION = "calibration.json"
PIPELINES = "custom_pipelines"


def find_folder(model: PreTrainedModel, loading: dict[str, Any]) -> Path:
    """The folder that a model was loaded from; of one from the Hub, as much as searching needs.

    Args:
        model: The model.
        loading: Arguments for the Hub that it was loaded with, such as `revision`.

    Raises:
        OSError: If there is none, or it cannot be fetched.
    """
    name = model.name_or_path
    if not name:
        raise FileNotFoundError("expected a model that was loaded, found one that was made in memory")
    if Path(name).is_dir():
        return Path(name)
    patterns = [f"{INDEX}/*", CALIBRATION, "*_vrf.py"]
    return Path(snapshot_download(name, allow_patterns=patterns, **loading))


def carry_over(model: PreTrainedModel, target: Path, loading: dict[str, Any]) -> None:
    """Bring the pipeline of a loaded model, and what it searches, into the folder that the model was just saved in.

    An index goes with the weights that it was made with. Where there is none for these, `config.json` may not promise
    a pipeline either.

    Args:
        model: The model.
        target: The folder.
        loading: As for `find_folder`.
    """
    tasks = getattr(model.config, PIPELINES, None)
    if not tasks:
        return
    try:
        source = find_folder(model, loading)
        _check_index(model, source / INDEX / INDEX_ABOUT)
        for task in tasks.values():
            _copy_code(task["impl"], [_own_folder(model), source], target)
    except (OSError, ValueError) as error:
        logger.warning(f"The model is saved without its pipeline ({', '.join(tasks)}): {error}")
        _note_pipelines(target / "config.json", {})
        return
    _note_pipelines(target / "config.json", tasks)
    if source.resolve() == target.resolve():
        return
    shutil.copytree(source / INDEX, target / INDEX, dirs_exist_ok=True)
    if (source / CALIBRATION).is_file():
        shutil.copyfile(source / CALIBRATION, target / CALIBRATION)


def _check_index(model: PreTrainedModel, about: Path) -> None:
    if not about.is_file():
        raise FileNotFoundError(f"expected an index in {about.parent}, found none")
    if any(tensor.device.type == "meta" for tensor in model.state_dict().values()):
        raise ValueError("expected all weights in memory, to compare them with the index, found some offloaded")
    if _read_json(about)["weights"] != weights_digest(model):
        raise ValueError(
            f"expected weights that the index in {about.parent} was made with, found others; make an index of the "
            "saved model with `vrf index`"
        )


def _own_folder(model: PreTrainedModel) -> Path:
    """Where the code that is running lies; it may be newer than what the model was saved with."""
    return Path(sys.modules[type(model).__module__].__file__).parent


def _copy_code(implementation: str, folders: list[Path], target: Path) -> None:
    """Copy the module of a pipeline and all that it imports, but not over code that was saved with the model."""
    name = implementation.rpartition("--")[2].partition(".")[0] + ".py"
    file = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if file is None:
        raise FileNotFoundError(f"expected the pipeline's code in {name}, found none in {folders[-1]}")
    for needed in (file, *map(Path, get_relative_import_files(file))):
        if not (target / needed.name).exists():
            shutil.copyfile(needed, target / needed.name)


def _note_pipelines(config: Path, tasks: dict[str, dict[str, Any]]) -> None:
    """Name pipelines in a saved config, as code of its own folder and not of the repository that it came from."""
    settings = _read_json(config)
    settings.pop(PIPELINES, None)
    if tasks:
        local = {name: task | {"impl": task["impl"].rpartition("--")[2]} for name, task in tasks.items()}
        settings[PIPELINES] = local
    config.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


__all__ = ["CALIBRATION", "INDEX", "INDEX_ABOUT", "carry_over", "find_folder"]
