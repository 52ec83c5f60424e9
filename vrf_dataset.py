"""Visual Recipe Flow as a Hugging Face dataset, built from any release folder.

Three configs, each with one split ``train``:

- ``recipes``: the ingredient and instruction lists as words with r-NE tags;
- ``flow_graphs``: the recipe flow graph (r-FG) over those r-NEs;
- ``image_pairs`` (the default): the state of one object before and after one cooking action.

::

    from vrf_dataset import VRFDataset

    builder = VRFDataset(config_name="image_pairs", data_dir="kitchen")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="train")

With ``datasets`` before 4.0 this file is also a loading script, and therefore uses only what versions 3.6 and 5 share
(nested features are plain lists and dicts)::

    load_dataset("vrf_dataset.py", "image_pairs", data_dir="kitchen", trust_remote_code=True)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
from datasets.fingerprint import Hasher

import recipeflow
from recipeflow.dataset.folds import assign_folds
from recipeflow.dataset.parsed import ParsedRelease, valid_recipes
from recipeflow.errors import InvalidReleaseError, UsageError
from recipeflow.graph import pair_objects
from recipeflow.language.languages import language_name
from recipeflow.release import Scheme, read_frames, read_info, read_release, read_scheme, release_fingerprint
from recipeflow.release.recipe import Line, Recipe, frame_name
from recipeflow.release.scheme import PAPER

DESCRIPTION = """\
Visual Recipe Flow (VRF): recipes in {language}, the flow of their cooking actions as a graph, and a pair of images, \
before and after, for every object that an action changes.
"""
HOMEPAGE = "https://github.com/kskshr/Visual-Recipe-Flow"
CITATION = """\
@inproceedings{shirai-etal-2022-visual,
    title = "Visual Recipe Flow: A Dataset for Learning Visual State Changes of Objects with Recipe Flows",
    author = "Shirai, Keisuke  and  Hashimoto, Atsushi  and  Nishimura, Taichi  and  Kameko, Hirotaka  and
      Kurita, Shuhei  and  Ushiku, Yoshitaka  and  Mori, Shinsuke",
    booktitle = "Proceedings of the 29th International Conference on Computational Linguistics",
    month = oct,
    year = "2022",
    address = "Gyeongju, Republic of Korea",
    publisher = "International Committee on Computational Linguistics",
    url = "https://aclanthology.org/2022.coling-1.315",
    pages = "3570--3577",
}
"""
NO_DATA_DIR = (
    "expected data_dir to be a release folder, found none; make one with `vrf kitchen OUT`, or fetch the official "
    "one with `vrf download OUT`, then pass data_dir=OUT"
)

VERSION = datasets.Version("1.0.0")
"""The version of the tables' columns; part of the name of the cache."""

MAX_SHARDS = 16
"""The number of shards for workers and streams; a stream reads the annotations once per shard."""

TEXT = datasets.Value("string")
NUMBER = datasets.Value("int32")


def features_of(scheme: Scheme) -> dict[str, dict[str, Any]]:
    """The columns of the three tables; the names of tags and labels are those of the release."""
    tag = datasets.ClassLabel(names=list(scheme.tags))
    line = {
        "text": TEXT,
        "tokens": [TEXT],
        "ner_tags": [datasets.ClassLabel(names=list(scheme.iob2_tags))],
        "starts": [NUMBER],
        "ends": [NUMBER],
    }
    node = {
        "id": TEXT,
        "text": TEXT,
        "tag": tag,
        "section": NUMBER,
        "line": NUMBER,
        "start_word": NUMBER,
        "end_word": NUMBER,
    }
    return {
        "recipes": {
            "recipe_id": TEXT,
            "title": TEXT,
            "url": TEXT,
            "source": TEXT,
            "fold": NUMBER,
            "ingredients": [line],
            "instructions": [line],
        },
        "flow_graphs": {
            "recipe_id": TEXT,
            "fold": NUMBER,
            "nodes": [node],
            "edges": [{"start": TEXT, "end": TEXT, "label": datasets.ClassLabel(names=list(scheme.labels))}],
        },
        "image_pairs": {
            "recipe_id": TEXT,
            "fold": NUMBER,
            "pair_id": TEXT,
            "action_id": TEXT,
            "action": TEXT,
            "object_id": TEXT,
            "object": TEXT,
            "object_tag": tag,
            "instruction": TEXT,
            "instruction_index": NUMBER,
            "pre_frame": NUMBER,
            "post_frame": NUMBER,
            "pre_image": datasets.Image(),
            "post_image": datasets.Image(),
        },
    }


FEATURES = features_of(PAPER)
"""The columns with the paper's tags and labels."""

DESCRIPTIONS = {
    "recipes": "One row per recipe: its ingredient and instruction lists as words with r-NE tags.",
    "flow_graphs": "One row per recipe: its r-NEs as nodes and its recipe flows as edges.",
    "image_pairs": "One row per object that an action changes: action, object, and the images before and after.",
}


def describe(scheme: Scheme) -> str:
    """The dataset in a sentence."""
    return DESCRIPTION.format(language=language_name(scheme.language))


@dataclass
class VRFDatasetConfig(datasets.BuilderConfig):
    """One of the three tables.

    Attributes:
        exclude: Ids of recipes to leave out; folds are then assigned to the others.
        parsed: The folder of a ``ParsedRelease`` of the same release without those recipes, so that it is not
            parsed again.
    """

    exclude: tuple[str, ...] = ()
    parsed: str | None = None


class VRFDataset(datasets.GeneratorBasedBuilder):
    """Builds the three tables from the release folder given as ``data_dir``."""

    config: VRFDatasetConfig
    VERSION = VERSION
    BUILDER_CONFIG_CLASS = VRFDatasetConfig
    BUILDER_CONFIGS = [  # noqa: RUF012 - the name and type that datasets asks for
        VRFDatasetConfig(name=name, version=VERSION, description=description)
        for name, description in DESCRIPTIONS.items()
    ]
    # Without it, a call with data_dir and no config name would create a config called "default".
    DEFAULT_CONFIG_NAME = "image_pairs"

    def __init__(
        self,
        *args: Any,
        data_dir: str | Path | None = None,
        data_files: Any = None,
        hash: str | None = None,
        **kwargs: Any,
    ) -> None:
        if data_files is not None:
            raise UsageError("expected data_dir to be a release folder, found data_files; pass data_dir instead")
        if data_dir is not None:
            data_dir = str(Path(data_dir).expanduser().resolve())
            # datasets names its cache by data_dir alone; with this hash, a changed release is built again.
            hash = Hasher.hash([hash, recipeflow.__version__, release_fingerprint(data_dir)])
        super().__init__(*args, data_dir=data_dir, hash=hash, **kwargs)

    def _info(self) -> datasets.DatasetInfo:
        scheme = PAPER if self.config.data_dir is None else read_scheme(self.config.data_dir)
        return datasets.DatasetInfo(
            description=f"{describe(scheme)}\n{self.config.description}",
            features=datasets.Features(features_of(scheme)[self.config.name]),
            homepage=HOMEPAGE,
            citation=CITATION,
        )

    def _split_generators(
        self, dl_manager: datasets.DownloadManager | datasets.StreamingDownloadManager
    ) -> list[datasets.SplitGenerator]:
        release = self.config.data_dir
        if release is None:
            raise UsageError(NO_DATA_DIR)
        info = read_info(release)
        self.info.license = info.licence or ""
        rows = self._count_rows(release)
        folds = assign_folds(rows)
        size = -(-len(rows) // MAX_SHARDS)
        ids = list(rows)
        # The one list in the arguments is what datasets splits into shards: dicts of recipe id to fold, in file order.
        shards = [{key: folds[key] for key in ids[start : start + size]} for start in range(0, len(ids), size)]
        train = datasets.SplitGenerator(
            name=str(datasets.Split.TRAIN), gen_kwargs={"release": release, "source": info.source, "shards": shards}
        )
        train.split_info.num_examples = sum(rows.values())  # gives the progress bar an end
        return [train]

    def _count_rows(self, release: str) -> dict[str, int]:
        """The number of rows of every recipe, by id, in file order. Checks the whole release except its frames."""
        if self.config.parsed is None:
            recipes = valid_recipes(release, self.config.exclude)
            changes = {recipe.id: len(recipe.state_changes) for recipe in recipes}
        else:
            changes = ParsedRelease(self.config.parsed).state_changes
        if self.config.name != "image_pairs":
            return dict.fromkeys(changes, 1)
        if not any(changes.values()):
            # datasets would write a table without rows, and then fail to read it.
            message = f"expected at least one state change in {release}, found none, so that image_pairs has no rows"
            other = f"VRFDataset(config_name='recipes', data_dir={str(release)!r})"
            raise UsageError(f"{message}; annotate some, or read the other configs without a build: {other}")
        return changes

    def _recipes(self, release: str, recipe_ids: Collection[str]) -> Iterator[Recipe]:
        if self.config.parsed is None:
            return read_release(release, recipe_ids)
        return ParsedRelease(self.config.parsed).recipes(recipe_ids)

    def _generate_examples(  # ty: ignore[incompatible-method-override] gen_kwargs, as datasets has it
        self, release: str, source: str | None, shards: list[dict[str, int]]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        folds = {recipe_id: fold for shard in shards for recipe_id, fold in shard.items()}
        for recipe in self._recipes(release, folds):
            fold = folds[recipe.id]
            if self.config.name == "recipes":
                yield recipe.id, recipe_row(recipe, fold, source)
            elif self.config.name == "flow_graphs":
                yield recipe.id, graph_row(recipe, fold)
            else:
                for row in pair_rows(recipe, fold):
                    yield row["pair_id"], row


def recipe_row(recipe: Recipe, fold: int, source: str | None) -> dict[str, Any]:
    """A row of ``recipes``; title, text and tokens are ``None`` where the release has no text."""
    return {
        "recipe_id": recipe.id,
        "title": recipe.title,
        "url": recipe.url,
        "source": source,
        "fold": fold,
        "ingredients": [_line(line) for line in recipe.ingredients],
        "instructions": [_line(line) for line in recipe.instructions],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "text": line.text,
        "tokens": line.tokens,
        "ner_tags": [word.iob2 for word in line.words],
        "starts": [word.start for word in line.words],
        "ends": [word.end for word in line.words],
    }


def graph_row(recipe: Recipe, fold: int) -> dict[str, Any]:
    """A row of ``flow_graphs``: every r-NE is a node, even without an edge, in reading order."""
    columns = FEATURES["flow_graphs"]["nodes"][0]
    return {
        "recipe_id": recipe.id,
        "fold": fold,
        "nodes": [{name: getattr(entity, name) for name in columns} for entity in recipe.entities.values()],
        "edges": [{"start": flow.start, "end": flow.end, "label": flow.label} for flow in recipe.flows],
    }


def pair_rows(recipe: Recipe, fold: int) -> Iterator[dict[str, Any]]:
    """The rows of ``image_pairs`` for a recipe, in annotation order; each of its frames is read once.

    Raises:
        InvalidReleaseError: If frames are missing or broken, with all problems of this recipe.
    """
    frames, problems = read_frames(recipe)
    if problems:
        raise InvalidReleaseError(problems)
    for number, pair in enumerate(pair_objects(recipe)):
        action, found, change = pair.action, pair.object, pair.change
        # An action may be in the ingredient list; then there is no instruction to show.
        instruction = recipe.instructions[action.line] if action.section == 1 else None
        yield {
            "recipe_id": recipe.id,
            "fold": fold,
            "pair_id": f"{recipe.id}:{number}",
            "action_id": action.id,
            "action": action.text,
            "object_id": found and found.id,
            "object": found and found.text,
            "object_tag": found and found.tag,
            "instruction": instruction and instruction.text,
            "instruction_index": action.line if instruction else None,
            "pre_frame": change.before,
            "post_frame": change.after,
            "pre_image": _image(change.before, frames),
            "post_image": _image(change.after, frames),
        }


def _image(number: int | None, frames: dict[int, bytes]) -> dict[str, Any] | None:
    return {"bytes": frames[number], "path": frame_name(number)} if number in frames else None
