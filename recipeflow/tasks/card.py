"""The dataset card of task sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard, DatasetCardData

from recipeflow.dataset.card import SIZES, find_license
from recipeflow.release import ReleaseInfo
from recipeflow.tasks.candidates import KINDS
from recipeflow.tasks.material import SPLITS
from recipeflow.tasks.schema import TASKS
from vrf_dataset import CITATION

TEMPLATE = Path(__file__).parent / "templates" / "tasks_card.md.jinja"


def make_card(path: str, manifest: dict[str, Any], release: ReleaseInfo) -> DatasetCard:
    """The card.

    Args:
        path: What to pass to ``load_dataset``.
        manifest: What was made.
        release: Where the recipes come from.
    """
    configs = manifest["configs"]
    rows = max(sum(config["rows"].values()) for config in configs.values())
    license, license_name = find_license(release.licence)
    data = DatasetCardData(
        pretty_name="Visual Recipe Flow tasks" + (" (simulated)" if manifest["source"] == "simulated" else ""),
        language=[manifest["language"]],
        size_categories=[SIZES[min(max(len(str(rows)) - 3, 0), len(SIZES) - 1)]],
        task_categories=["visual-question-answering", "multiple-choice", "image-to-text"],
        tags=["recipes", "cooking", "recipe-flow-graph", "state-change", "benchmark"],
        license=license,
        license_name=license_name,
    )
    files = {
        task: {"data_files": [{"split": split, "path": f"{task}/{split}-*.parquet"} for split in config["rows"]]}
        for task, config in configs.items()
    }
    MetadataConfigs(files).to_dataset_card_data(data)
    return DatasetCard.from_template(
        data,
        template_path=str(TEMPLATE),
        path=path,
        manifest=manifest,
        tasks={name: TASKS[name] for name in configs},
        splits=SPLITS,
        kinds=KINDS,
        first=next(iter(configs)),
        citation=CITATION,
    )
