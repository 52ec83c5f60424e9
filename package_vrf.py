"""A model as a package: what is saved with its weights, and where it is found again.

This file is saved with every model and imports nothing from the project.
"""

import inspect
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, snapshot_download
from transformers import PreTrainedModel
from transformers.dynamic_module_utils import get_relative_import_files
from transformers.utils import logging

try:
    from .configuration_vrf import weights_digest
    from .processing_vrf import VRFProcessor
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from configuration_vrf import weights_digest
    from processing_vrf import VRFProcessor

logger = logging.get_logger(__name__)

INDEX, INDEX_ABOUT = "index", "index.json"
CALIBRATION = "calibration.json"
PIPELINES = "custom_pipelines"
RETRIEVAL = "retrieval_vrf.PostActionRetrievalPipeline"
EARLIER = {"pipeline_vrf.PostActionRetrievalPipeline": RETRIEVAL}
"""The pipeline that searches, as `config.json` names it, and the names that earlier versions saved for it."""

CARD = "README.md"
PROCESSOR = "processor_config.json"
LOADING = ("revision", "cache_dir", "local_files_only")
SENDING = ("repo_id", "commit_message", "commit_description", "private", "create_pr", "revision", "tags")
"""Arguments that say where on the Hub a model is from, and those of `save_pretrained` that are only for the Hub."""


class VRFPackage(PreTrainedModel):
    """A model that is saved with all its parts, and loads its own processor when it needs one."""

    _processor: VRFProcessor | None = None
    _loading: Mapping[str, Any] = {}
    _loaded_from: Path | None = None

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike | None, *args: Any, **kwargs: Any
    ) -> Any:
        """Load a saved model, and remember where it is from, for its processor and its index."""
        loaded = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        name = model.name_or_path
        if name and Path(name).is_dir():
            model._loaded_from = Path(name).resolve()  # which a later chdir does not change
        else:
            model._loading = {name: kwargs[name] for name in LOADING if kwargs.get(name)}
        return loaded

    @property
    def origin(self) -> str:
        """The folder or the repository on the Hub that the model is from.

        Raises:
            OSError: If there is none, or the folder is gone; nothing from the Hub replaces it then.
        """
        if self._loaded_from is not None and not self._loaded_from.is_dir():
            raise FileNotFoundError(f"expected the model's folder {self._loaded_from}, found it gone")
        if not (self._loaded_from or self.name_or_path):
            raise FileNotFoundError("expected a model that was loaded, found one that was made in memory")
        return str(self._loaded_from or self.name_or_path)

    def find_folder(self) -> Path:
        """The folder that the model is from; from a repository on the Hub, only what a search needs is fetched.

        Raises:
            OSError: If there is none, or it cannot be fetched.
        """
        if Path(self.origin).is_dir():
            return Path(self.origin)
        patterns = [f"{INDEX}/*", CALIBRATION, CARD, "*_vrf.py"]
        return Path(snapshot_download(self.origin, allow_patterns=patterns, **self._loading))

    @property
    def processor(self) -> VRFProcessor:
        """The model's own processor, loaded on first use from where the model is from, in the same revision.

        Raises:
            OSError: If there is none, as for a model that was made in memory.
        """
        if self._processor is None:
            try:
                if Path(self.origin).is_dir() and not Path(self.origin, PROCESSOR).is_file():
                    raise FileNotFoundError(f"no {PROCESSOR} there")
                self._processor = VRFProcessor.from_pretrained(self.origin, **self._loading)
            except (OSError, ValueError, TypeError) as error:
                raise OSError(
                    f"expected the model's own processor in {self.name_or_path!r}, found none ({error}); pass "
                    "processor=…, or save both with model.save_pretrained(folder, processor=processor)"
                ) from error
        return self._processor

    def save_pretrained(
        self,
        save_directory: str | os.PathLike,
        is_main_process: bool = True,
        *args: Any,
        processor: VRFProcessor | None = None,
        push_to_hub: bool = False,
        **kwargs: Any,
    ) -> None:
        """Save all parts of the model; with a processor, the folder is a complete package for the Hub.

        These are config, weights and code, and for a loaded model also its processor, its pipeline with the index that
        it searches, its calibration, and its README if the folder has none. A model that was made in memory has no
        README: `vrf train` and `vrf push model` write one.

        Args:
            save_directory: The folder.
            is_main_process: Of several, only the main one writes.
            *args: Of transformers' method.
            processor: The model's own from now on; by default the one that it has.
            push_to_hub: Send it all to the Hub, too, as the method of that name does with `repo_id` and so on.
            **kwargs: Of transformers' method.
        """
        sending = {name: kwargs.pop(name) for name in SENDING if name in kwargs}
        super().save_pretrained(save_directory, is_main_process, *args, **kwargs)
        if not is_main_process:
            return
        self._processor = processor or self._find_processor()
        folder, repo_id = Path(save_directory), sending.pop("repo_id", None)
        carry_over(self, folder)
        if self._processor is not None:
            self._processor.save_pretrained(folder)
        if push_to_hub:
            self.push_to_hub(repo_id or folder.name, token=kwargs.get("token"), **sending)

    def push_to_hub(self, repo_id: str, **kwargs: Any) -> Any:
        """Send what `save_pretrained` saves; a repository without a card gets the one that the model was loaded with.

        Args:
            repo_id: `OWNER/NAME`.
            **kwargs: Of transformers' method: `private`, `token`, `commit_message` …
        """
        if not kwargs.get("create_pr") and kwargs.get("revision") is None:
            api = HfApi(token=kwargs.get("token"))
            repo_id = api.create_repo(repo_id, private=kwargs.get("private"), exist_ok=True).repo_id
            card = self._find_card()
            if card is not None and not api.file_exists(repo_id, CARD):  # else transformers would write its own
                api.upload_file(path_or_fileobj=card, path_in_repo=CARD, repo_id=repo_id)
        return super().push_to_hub(repo_id, **kwargs)

    def _find_processor(self) -> VRFProcessor | None:
        try:
            return self.processor
        except OSError:
            return None

    def _find_card(self) -> Path | None:
        try:
            card = self.find_folder() / CARD
        except OSError:
            return None
        return card if card.is_file() else None


def carry_over(model: VRFPackage, target: Path) -> None:
    """Copy card, pipeline, index and calibration of a loaded model into the folder that it was just saved in.

    All but the card belong to the weights that they were made with. Without an index for these, `config.json` must not
    name a pipeline either.
    """
    tasks = _own_pipelines(model)
    try:
        source = model.find_folder()
        if (source / CARD).is_file() and not (target / CARD).exists():
            shutil.copyfile(source / CARD, target / CARD)
        if tasks:
            _check_index(model, source / INDEX / INDEX_ABOUT)
        for task in tasks.values():
            _copy_code(task["impl"], [_own_folder(model), source], target)
    except (OSError, ValueError) as error:
        if tasks:
            logger.warning(f"The model is saved without its pipeline ({', '.join(tasks)}): {error}")
            _write_pipelines(target / "config.json", {})
        return
    if source.resolve() != target.resolve():
        if tasks:
            shutil.copytree(source / INDEX, target / INDEX, dirs_exist_ok=True)
        if _was_made_with(model, source / CALIBRATION):
            shutil.copyfile(source / CALIBRATION, target / CALIBRATION)
    if tasks:
        _write_pipelines(target / "config.json", tasks)


def _own_pipelines(model: PreTrainedModel) -> dict[str, dict[str, Any]]:
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
    return _read_json(about).get("weights") == weights_digest(model)


def _own_folder(model: PreTrainedModel) -> Path:
    """The folder of the running code, which may be newer than the code that the model was saved with."""
    return Path(inspect.getfile(type(model))).parent


def _copy_code(implementation: str, folders: list[Path], target: Path) -> None:
    """Copy the module of a pipeline and all that it imports; code that was saved with the model is kept."""
    name = implementation.partition(".")[0] + ".py"
    file = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if file is None:
        raise FileNotFoundError(f"expected the pipeline's code in {name}, found none in {folders[-1]}")
    for needed in (file, *map(Path, get_relative_import_files(file))):
        if not (target / needed.name).exists():
            shutil.copyfile(needed, target / needed.name)


def _write_pipelines(config: Path, tasks: dict[str, dict[str, Any]]) -> None:
    """Write these pipelines into a saved config, and no others."""
    settings = _read_json(config)
    settings.pop(PIPELINES, None)
    if tasks:
        settings[PIPELINES] = tasks
    config.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


__all__ = ["CALIBRATION", "CARD", "INDEX", "INDEX_ABOUT", "RETRIEVAL", "VRFPackage", "carry_over"]
