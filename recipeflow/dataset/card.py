"""The dataset card of a built dataset: YAML that the Hub and ``datasets`` read, and a template of what people read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import DatasetInfo
from datasets.info import DatasetInfosDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard, DatasetCardData

from recipeflow.dataset.folds import FOLDS
from recipeflow.release import ReleaseInfo
from recipeflow.release.scheme import PAPER
from vrf_dataset import CITATION, DESCRIPTIONS, HOMEPAGE, VRFDataset, describe

COLUMNS = {
    "recipes": {
        "recipe_id": "the recipe's id in the release",
        "title": "the recipe's title",
        "url": "the page the recipe comes from",
        "source": "what the release says about its origin",
        "fold": f"the recipe's fold, 0 to {FOLDS - 1}",
        "ingredients": "one entry per line: its `text`, its words as `tokens`, one tag per word as `ner_tags`, and "
        "the characters at which each word `starts` and `ends`",
        "instructions": "the same for the instruction list",
    },
    "flow_graphs": {
        "recipe_id": "the recipe's id",
        "fold": "the recipe's fold",
        "nodes": "one per r-NE, in reading order: its `id` (`section-line-word` of its first word), `text`, `tag`, "
        "`section` (0 ingredients, 1 instructions), `line`, and its words, from `start_word` up to, not including, "
        "`end_word`",
        "edges": "one per recipe flow: from the node `start` to the node `end`, with its `label`",
    },
    "image_pairs": {
        "recipe_id": "the recipe's id",
        "fold": "the recipe's fold",
        "pair_id": "unique in the table: the recipe's id, a colon, and the number of the pair in its recipe, from 0",
        "action_id": "the node of the action in `flow_graphs`",
        "action": "the action's words",
        "object_id": "the node of the object; null if the flows name fewer objects than were annotated",
        "object": "the object's words; the product of an earlier action is called by that action",
        "object_tag": "the tag of that node",
        "instruction": "the line of the instruction list with the action",
        "instruction_index": "its number, from 0",
        "pre_frame": "the number of the frame before the action, from 1; null if there is none",
        "post_frame": "the number of the frame after it; null if there is none",
        "pre_image": "the frame before the action; null if there is none",
        "post_image": "the frame after it; null if there is none",
    },
}
"""What every column of every table contains, for the card."""

SOURCES = {
    "simulated": """\
**This is simulated data.** Recipes, texts, graphs and pictures come from the simulated kitchen of the `recipeflow`
project (`vrf kitchen`), made to resemble the paper's dataset in form and statistics. Nobody wrote or cooked these
recipes, and results on them do not compare with the paper's.""",
    "official": f"""\
The annotations are [the authors' own]({HOMEPAGE}), under the MIT license. They were revised after the paper: they
count 11,512 flows and 3,808 unique images where the paper has 11,291 and 3,824. They contain no text and no images.
Texts and frames, as far as this build has them, were fetched from the recipes' pages and belong to their
rights holders: see their terms before you pass this dataset on.""",
}
ANNOTATORS = {"simulated": ["machine-generated"], "official": ["expert-generated"]}

LICENSES = (
    *("mit", "apache-2.0", "bsd-3-clause", "unlicense", "odc-by", "odbl", "pddl", "cc0-1.0", "unknown", "other"),
    *("cc-by-4.0", "cc-by-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nc-nd-4.0"),
)
"""The Hub's identifiers of the usual licenses of data; any other license is given by name."""

SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B")

TEMPLATE = Path(__file__).parent / "templates" / "dataset_card.md.jinja"


@dataclass(frozen=True)
class Contents:
    """What only the rows of a build show: how many pairs have which images, and whether there is text."""

    both: int
    post_only: int
    pre_only: int
    none: int
    has_text: bool

    @property
    def pairs(self) -> int:
        """How many pairs have an image."""
        return self.both + self.post_only + self.pre_only


def make_card(
    path: str, infos: Mapping[str, DatasetInfo], release: ReleaseInfo, contents: Contents, left_out: int = 0
) -> DatasetCard:
    """The card of a built dataset.

    Args:
        path: What to pass to ``load_dataset``.
        infos: Features and sizes of every config.
        release: Where the data come from.
        contents: What the rows contain.
        left_out: How many recipes were left out because of problems.
    """
    return DatasetCard.from_template(
        _metadata(infos, release),
        template_path=str(TEMPLATE),
        description=describe(release.scheme),
        source=_describe_source(release),
        release=release,
        contents=contents,
        left_out=left_out,
        path=path,
        tables=[_describe_table(config, infos[config]) for config in COLUMNS if config in infos],
        tag_meanings=release.scheme.tags,
        label_meanings=release.scheme.labels,
        is_paper_scheme=release.scheme == PAPER,
        has_pairs=VRFDataset.DEFAULT_CONFIG_NAME in infos,
        folds=FOLDS,
        citation=CITATION,
    )


def _metadata(infos: Mapping[str, DatasetInfo], release: ReleaseInfo) -> DatasetCardData:
    rows = max(map(count_rows, infos.values()))
    license, license_name = find_license(release.licence)
    has_pairs = VRFDataset.DEFAULT_CONFIG_NAME in infos
    tags = ["recipes", "cooking", "recipe-flow-graph", *(["state-change", "image-retrieval"] if has_pairs else [])]
    tasks = ["token-classification", "graph-ml", *(["image-feature-extraction"] if has_pairs else [])]
    creators = ["machine-generated"] if release.predicted_by else ANNOTATORS.get(release.source)
    data = DatasetCardData(
        pretty_name=_pretty_name(release),
        language=[release.scheme.language],
        annotations_creators=creators,
        size_categories=[SIZES[min(max(len(str(rows)) - 3, 0), len(SIZES) - 1)]],
        task_categories=tasks,
        task_ids=["named-entity-recognition"],
        tags=[*tags, "simulated"] if release.source == "simulated" else tags,
        license=license,
        license_name=license_name,
    )
    DatasetInfosDict(infos).to_dataset_card_data(data)
    configs: dict[str, dict[str, Any]] = {
        name: {"data_files": [{"split": "train", "path": f"{name}/train-*.parquet"}]} for name in infos
    }
    default = VRFDataset.DEFAULT_CONFIG_NAME if has_pairs else next(iter(infos))
    configs[default]["default"] = True
    MetadataConfigs(configs).to_dataset_card_data(data)
    return data


def _pretty_name(release: ReleaseInfo) -> str:
    return "Visual Recipe Flow" + (" (simulated)" if release.source == "simulated" else "")


def find_license(licence: str | None) -> tuple[str, str | None]:
    """The license by the Hub's identifier, or ``other`` with a name."""
    spelled = re.sub(r"[^a-z0-9.]+", "-", (licence or "").lower()).strip("-") or "unknown"
    return (spelled, None) if spelled in LICENSES else ("other", spelled)


def _describe_source(release: ReleaseInfo) -> str:
    origin = f"calls its source “{release.source}”" if release.source else "does not name its source"
    return SOURCES.get(release.source, f"Built from a release folder that {origin}.")


def _describe_table(config: str, info: DatasetInfo) -> dict[str, Any]:
    rows = count_rows(info)
    return {"name": config, "description": DESCRIPTIONS[config], "rows": rows, "columns": COLUMNS[config]}


def count_rows(info: DatasetInfo) -> int:
    """How many rows a prepared table has."""
    assert info.splits is not None  # preparing it counted them
    return info.splits["train"].num_examples
