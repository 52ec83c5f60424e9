"""The model that reads recipes as a package: its processor and its pipeline are saved with its weights.

This file is saved with every model and imports nothing from the project.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

try:
    from .package_hub import CARD, HubPackage, Pipelines, copy_card, copy_code, own_folder, write_pipelines
    from .processing_rfg import RFGProcessor
except ImportError:
    if __package__:  # inside a package the siblings exist: the error is a real one
        raise
    from package_hub import CARD, HubPackage, Pipelines, copy_card, copy_code, own_folder, write_pipelines
    from processing_rfg import RFGProcessor

TASK = "recipe-flow-graph"
PARSING = "parsing_rfg.RecipeFlowGraphPipeline"
CUSTOM_PIPELINES: Pipelines = {TASK: {"impl": PARSING, "pt": ["AutoModel"], "type": "text"}}
"""The entry of `config.json` by which `pipeline` finds the class in `parsing_rfg.py`."""


class RFGPackage(HubPackage):
    """A model that is saved with its processor and its pipeline."""

    processor_class = RFGProcessor
    package_files: ClassVar[Sequence[str]] = (CARD, "*_rfg.py", "*_hub.py")

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | os.PathLike | None,
        *args: Any,
        output_loading_info: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Load a saved model.

        Raises:
            ValueError: If weights are missing or have other sizes, as in a model that an earlier version saved: with
                random ones in their place it would read nonsense.
        """
        kwargs |= {"ignore_mismatched_sizes": True, "output_loading_info": True}  # other sizes are reported below
        model, info = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        if unlike := sorted({*info["missing_keys"], *(name for name, *_ in info["mismatched_keys"])}):
            raise ValueError(
                f"expected the weights of this version's model, found none or others for {unlike[0]} and "
                f"{len(unlike) - 1} more: an earlier version saved it; train it again, or load it with "
                "`trust_remote_code=True`, which runs the code saved with it"
            )
        return (model, info) if output_loading_info else model

    def carry_over(self, target: Path) -> None:
        """Copy the card, and the pipeline if there is a processor for it, into the folder just saved."""
        folders = [own_folder(self)]
        try:
            folders.append(self.find_folder())
            copy_card(folders[-1], target)
        except OSError:  # made in memory
            pass
        tasks: Pipelines = CUSTOM_PIPELINES if self._processor is not None else {}
        for task in tasks.values():
            copy_code(task["impl"], folders, target)
        write_pipelines(target / "config.json", tasks)


__all__ = ["CUSTOM_PIPELINES", "PARSING", "TASK", "RFGPackage"]
