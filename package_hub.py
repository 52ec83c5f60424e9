"""A model as a package on the Hub: its processor, its pipelines and its card are saved and found with its weights.

This file is saved with every model and imports nothing from the project.
"""

import inspect
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from huggingface_hub import HfApi, snapshot_download
from transformers import PreTrainedModel, ProcessorMixin
from transformers.dynamic_module_utils import get_relative_import_files

CARD = "README.md"
PROCESSOR = "processor_config.json"
PIPELINES = "custom_pipelines"
"""The key of `config.json` by which `pipeline` finds a class."""

LOADING = ("revision", "cache_dir", "local_files_only")
SENDING = ("repo_id", "commit_message", "commit_description", "private", "create_pr", "revision", "tags")
"""Arguments that say where on the Hub a model is from, and those of `save_pretrained` that are only for the Hub."""

Pipelines = dict[str, dict[str, Any]]


class HubPackage(PreTrainedModel):
    """A model that is saved with all its parts, and loads its own processor when it needs one.

    A subclass gives the class of the processor, the files besides weights that its parts need, and what `carry_over`
    does with them.
    """

    processor_class: ClassVar[type[ProcessorMixin]]
    package_files: ClassVar[Sequence[str]] = (CARD,)

    _processor: Any = None
    _loading: Mapping[str, Any] = {}
    _loaded_from: Path | None = None

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike | None, *args: Any, **kwargs: Any
    ) -> Any:
        """Load a saved model, and remember where it is from, for its processor and its other parts."""
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
        """The folder that the model is from; from a repository on the Hub, only the files of its parts are fetched.

        Raises:
            OSError: If there is none, or it cannot be fetched.
        """
        if Path(self.origin).is_dir():
            return Path(self.origin)
        return Path(snapshot_download(self.origin, allow_patterns=list(self.package_files), **self._loading))

    @property
    def processor(self) -> Any:
        """The model's own processor, loaded on first use from where the model is from, in the same revision.

        Raises:
            OSError: If there is none, as for a model that was made in memory.
        """
        if self._processor is None:
            try:
                if Path(self.origin).is_dir() and not Path(self.origin, PROCESSOR).is_file():
                    raise FileNotFoundError(f"no {PROCESSOR} there")
                self._processor = self.processor_class.from_pretrained(self.origin, **self._loading)
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
        processor: ProcessorMixin | None = None,
        push_to_hub: bool = False,
        **kwargs: Any,
    ) -> None:
        """Save all parts of the model; with a processor, the folder is a complete package for the Hub.

        These are config, weights and code, and for a loaded model also its processor, what `carry_over` copies, and
        its README if the folder has none. A model that was made in memory has no README: the command that trains it
        and `vrf push model` write one.

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
        self.carry_over(folder)
        if self._processor is not None:
            self._processor.save_pretrained(folder)
        if push_to_hub:
            self.push_to_hub(repo_id or folder.name, token=kwargs.get("token"), **sending)

    def carry_over(self, target: Path) -> None:
        """Copy what belongs to the model, besides weights and processor, into the folder that it was just saved in."""
        raise NotImplementedError

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

    def _find_processor(self) -> Any:
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


def copy_card(source: Path, target: Path) -> None:
    """Copy the card of a model, unless the folder has one."""
    if (source / CARD).is_file() and not (target / CARD).exists():
        shutil.copyfile(source / CARD, target / CARD)


def own_folder(model: PreTrainedModel) -> Path:
    """The folder of the running code, which may be newer than the code that the model was saved with."""
    return Path(inspect.getfile(type(model))).parent


def copy_code(implementation: str, folders: Sequence[Path], target: Path) -> None:
    """Copy the module of a pipeline and all that it imports; code that was saved with the model is kept."""
    name = implementation.partition(".")[0] + ".py"
    file = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if file is None:
        raise FileNotFoundError(f"expected the pipeline's code in {name}, found none in {folders[-1]}")
    for needed in (file, *map(Path, get_relative_import_files(file))):
        if not (target / needed.name).exists():
            shutil.copyfile(needed, target / needed.name)


def write_pipelines(config: Path, tasks: Pipelines) -> None:
    """Write these pipelines into a saved config, and no others."""
    settings = read_json(config)
    settings.pop(PIPELINES, None)
    if tasks:
        settings[PIPELINES] = tasks
    config.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file."""
    return json.loads(path.read_text(encoding="utf-8"))


__all__ = ["CARD", "PIPELINES", "HubPackage", "copy_card", "copy_code", "own_folder", "read_json", "write_pipelines"]
