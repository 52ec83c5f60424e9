"""The dataset card of a built dataset: YAML that the Hub and ``datasets`` read, text that people read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from datasets import DatasetInfo
from datasets.info import DatasetInfosDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard, DatasetCardData

from recipeflow.dataset.folds import FOLDS
from recipeflow.release import ReleaseInfo
from recipeflow.release.recipe import LABELS, TAGS
from vrf_dataset import CITATION, DESCRIPTION, DESCRIPTIONS, HOMEPAGE, VRFDataset

COLUMNS = {
    "recipes": {
        "recipe_id": "the recipe's id in the release",
        "title": "the recipe's title",
        "url": "the page the recipe comes from",
        "source": "what the release says of its origin",
        "fold": f"the recipe's fold, 0 to {FOLDS - 1}",
        "ingredients": "one entry per line: its `text`, its words as `tokens`, a tag per word as `ner_tags`, and the "
        "characters at which each word `starts` and `ends`",
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
        "object_id": "the node of the object; null where the flows name fewer objects than were annotated",
        "object": "the object's words; the product of an earlier action is called by that action",
        "object_tag": "the tag of that node",
        "instruction": "the line of the instruction list in which the action stands",
        "instruction_index": "its number, from 0",
        "pre_frame": "the number of the frame before the action, from 1; null where there is none",
        "post_frame": "the number of the frame after it, likewise",
        "pre_image": "the frame before the action; null where there is none",
        "post_image": "the frame after it, likewise",
    },
}
"""What every column of every table holds, for the card."""

SOURCES = {
    "simulated": """\
**This is simulated data.** Recipes, texts, graphs and pictures come from the simulated kitchen of the `recipeflow`
project (`vrf kitchen`), made to be near the paper's dataset in form and statistics. Nobody wrote or cooked these
recipes, and results on them do not compare with the paper's.""",
    "official": f"""\
The annotations are [the authors' own]({HOMEPAGE}), under the MIT licence. They were revised after the paper: they
count 11,512 flows and 3,808 unique images where the paper has 11,291 and 3,824. They hold no text and no images. Texts
and frames, as far as this build has them, were fetched from the recipes' pages and belong to their rights holders: see
their terms before you pass this dataset on.""",
}
ANNOTATORS = {"simulated": ["machine-generated"], "official": ["expert-generated"]}

LICENCES = (
    *("mit", "apache-2.0", "bsd-3-clause", "unlicense", "odc-by", "odbl", "pddl", "cc0-1.0", "unknown", "other"),
    *("cc-by-4.0", "cc-by-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nc-nd-4.0"),
)
"""Those of the Hub's licence ids that data usually come under; any other licence goes by its name."""

SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B")

TEXT = """
# {name}

{description}
The tables follow the dataset of [Shirai et al., COLING 2022](https://aclanthology.org/2022.coling-1.315).

## Source and licence

{source}

## Loading

```python
from datasets import load_dataset

pairs = load_dataset("{path}", "image_pairs", split="train")
row = pairs[0]
print(row["action"], row["object"], row["pre_image"], row["post_image"])

graphs = load_dataset("{path}", "flow_graphs", split="train")
label = graphs.features["edges"].feature["label"]
for edge in graphs[0]["edges"]:
    print(edge["start"], label.int2str(edge["label"]), edge["end"])

recipes = load_dataset("{path}", "recipes", split="train", streaming=True)
print(next(iter(recipes))["title"])

# Hold out the first fold; looking at no other column leaves the images undecoded.
train = pairs.filter(lambda fold: fold != 0, input_columns="fold")
test = pairs.filter(lambda fold: fold == 0, input_columns="fold")
```

## Tables

Each has one split, `train`; rows are in the order of the annotation.

{tables}

## Tags and labels

r-NE tags: {tags}. `ner_tags` has them in IOB2 (`B-F`, `I-F`, …).

r-FG labels: {labels}.

All are `ClassLabel`s in the paper's order; their `int2str` gives the name.

The annotation does not name the objects of an action. They are traced through the flows: the sources of its `Targ`
edges, in order, where a set (`F-set`) stands for its members and an action among these for that action's own objects.

## Folds

The paper cross-validates over {folds} parts. `fold` deals the recipes into {folds} parts whose sizes differ by at most
one. It depends on nothing but the set of recipe ids, and is the same in all three tables.

## Citation

```bibtex
{citation}```
"""


@dataclass(frozen=True)
class Contents:
    """What only the rows tell of a build: how many pairs have which images, and whether there is text."""

    both: int
    post_only: int
    pre_only: int
    none: int
    has_text: bool


def make_card(
    path: str, infos: Mapping[str, DatasetInfo], release: ReleaseInfo, contents: Contents, left_out: int = 0
) -> DatasetCard:
    """The card of a built dataset.

    Args:
        path: What to pass to ``load_dataset``.
        infos: Features and sizes of every config.
        release: Where the data come from.
        contents: What the rows hold.
        left_out: How many recipes were left out because of problems.
    """
    text = TEXT.format(
        name=_pretty_name(release),
        description=DESCRIPTION,
        source="\n\n".join(_source(release, contents, left_out)),
        path=path,
        tables="\n\n".join(_table(config, infos[config]) for config in COLUMNS),
        tags=_meanings(TAGS),
        labels=_meanings(LABELS),
        folds=FOLDS,
        citation=CITATION,
    )
    return DatasetCard(f"---\n{_metadata(infos, release)}\n---\n{text}")


def _metadata(infos: Mapping[str, DatasetInfo], release: ReleaseInfo) -> DatasetCardData:
    rows = max(info.splits["train"].num_examples for info in infos.values())
    tags = ["recipes", "cooking", "recipe-flow-graph", "state-change", "image-retrieval"]
    data = DatasetCardData(
        pretty_name=_pretty_name(release),
        language=["ja"],
        annotations_creators=ANNOTATORS.get(release.source),
        size_categories=[SIZES[min(max(len(str(rows)) - 3, 0), len(SIZES) - 1)]],
        task_categories=["token-classification", "graph-ml", "image-feature-extraction"],
        task_ids=["named-entity-recognition"],
        tags=[*tags, "simulated"] if release.source == "simulated" else tags,
        **_licence(release.licence),
    )
    DatasetInfosDict(infos).to_dataset_card_data(data)
    configs = {name: {"data_files": [{"split": "train", "path": f"{name}/train-*.parquet"}]} for name in infos}
    configs[VRFDataset.DEFAULT_CONFIG_NAME]["default"] = True
    MetadataConfigs(configs).to_dataset_card_data(data)
    return data


def _pretty_name(release: ReleaseInfo) -> str:
    return "Visual Recipe Flow" + (" (simulated)" if release.source == "simulated" else "")


def _licence(licence: str | None) -> dict[str, str]:
    """The licence as the Hub spells it: one of its ids, or ``other`` with a name."""
    spelled = re.sub(r"[^a-z0-9.]+", "-", (licence or "").lower()).strip("-") or "unknown"
    return {"license": spelled} if spelled in LICENCES else {"license": "other", "license_name": spelled}


def _source(release: ReleaseInfo, contents: Contents, left_out: int) -> list[str]:
    origin = f"calls its source “{release.source}”" if release.source else "does not name its source"
    parts = [SOURCES.get(release.source, f"Built from a release folder that {origin}.")]
    version = f" Version of the release: {release.version}." if release.version else ""
    parts.append(f"Licence, as the release states it: {release.licence or 'none stated'}.{version}")
    if not contents.has_text:
        parts.append("This build has **no text**: titles, lines, tokens and the words of nodes are null.")
    pairs = contents.both + contents.post_only + contents.pre_only
    if pairs:
        parts.append(
            f"Of {pairs + contents.none:,} objects, {contents.both:,} have both images, {contents.post_only:,} only "
            f"the one after the action, {contents.pre_only:,} only the one before, and {contents.none:,} none."
        )
    else:
        parts.append("This build has **no images**; frame numbers are those of the annotation.")
    if left_out:
        parts.append(f"Recipes left out because of problems: {left_out:,}; `vrf_build.json` names them.")
    return parts


def _table(config: str, info: DatasetInfo) -> str:
    head = f"### `{config}`\n\n{DESCRIPTIONS[config]} {info.splits['train'].num_examples:,} rows.\n\n"
    columns = (f"| `{column}` | {meaning} |" for column, meaning in COLUMNS[config].items())
    return head + "\n".join(["| column | holds |", "|---|---|", *columns])


def _meanings(names: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {meaning.lower()}" for name, meaning in names.items())
