"""The model that reads recipes as a package: its processor and its pipeline are saved with its weights.

This file is saved with every model and imports nothing from the project.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

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
