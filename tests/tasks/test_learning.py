"""This project's models on the tasks: the retrieval model chooses, the small writer writes."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from recipeflow.cli.shared import OFFLINE_BACKBONE, OFFLINE_WEIGHTS
from recipeflow.dataset.build import build_dataset
from recipeflow.errors import UsageError
from recipeflow.tasks.baselines.generator import TASK, GeneratorSettings, InstructionGenerator, generator_answers
from recipeflow.tasks.baselines.picture_features import PictureFeatures
from recipeflow.tasks.baselines.retrieval import CHOICES, RetrievalAnswerer
from recipeflow.tasks.folder import TasksFolder, pictures_of
from recipeflow.tasks.looks import Looks
from recipeflow.tasks.making import make_tasks
from tests.tasks.conftest import write_kitchen


def test_a_retrieval_model_answers_every_choice_about_pictures_and_nothing_else(task_sets, tiny_model):
    answerer = RetrievalAnswerer(str(tiny_model))
    found = [answerer.known_words(text) for text in ("茹でキャベツを 切", "キャベツ・卵", "炒め", "")]
    assert found == [["茹で", "キャベツ", "切"], ["キャベツ"], [], []]
    folder = TasksFolder(task_sets)
    for task in folder.tasks("test"):
        rows = list(folder.rows(task, "test", with_pictures=True))[:3]
        answers = [answerer.answer(row["question"], pictures_of(task, row)) for row in rows]
        assert all(answer in tuple("ABCDE") if task in CHOICES else answer is None for answer in answers), task


class ColourFeatures:
    """Pictures as their colours, in place of a backbone."""

    def __init__(self):
        self.looks = Looks()

    def add(self, rows):
        pass

    def pairs(self, row):
        seen = [self.looks.vector(cell["bytes"]) for cell in row["pictures"]]
        pairs = [np.concatenate([seen[pair["before"]], seen[pair["after"]]]) for pair in row["pairs"]]
        return torch.from_numpy(np.stack(pairs))


def test_a_small_writer_learns_its_recipes_by_heart(task_sets):
    rows = islice(TasksFolder(task_sets).rows(TASK, "train", with_pictures=True), 2)
    rows = [row | {"answer": row["answer"].splitlines()[0], "graph": (row["graph"] or "")[:30]} for row in rows]
    settings = GeneratorSettings(width=32, layers=1, heads=2, epochs=60, batch_size=2, learning_rate=2e-2)
    generator = InstructionGenerator(ColourFeatures(), "ja", settings)
    assert generator.text(generator.words("卵を切る。\n混ぜる。")) == "卵を切る。\n混ぜる。"
    losses = generator.fit(rows)
    assert losses[-1] < 0.5 * losses[0]
    assert [generator.write(row) for row in rows] == [row["answer"] for row in rows]


class StoppingGenerator(InstructionGenerator):
    """As if somebody pressed Ctrl-C in the third epoch."""

    def _epoch(self, rows, epoch):
        if epoch == 2:
            raise KeyboardInterrupt
        yield from super()._epoch(rows, epoch)


def test_a_stopped_training_resumes_with_the_same_result_and_is_not_repeated(task_sets, tmp_path):
    rows = list(islice(TasksFolder(task_sets).rows(TASK, "train", with_pictures=True), 4))
    settings = GeneratorSettings(width=32, layers=1, heads=2, epochs=4, batch_size=2)
    whole = InstructionGenerator(ColourFeatures(), "ja", settings)
    losses = whole.fit(rows)
    checkpoint = tmp_path / "baselines" / "generator.pt"
    with pytest.raises(KeyboardInterrupt):
        StoppingGenerator(ColourFeatures(), "ja", settings).fit(rows, checkpoint)
    resumed = InstructionGenerator(ColourFeatures(), "ja", settings)
    assert resumed.fit(rows, checkpoint) == losses
    for name, weights in whole.writer.state_dict().items():
        assert torch.equal(resumed.writer.state_dict()[name], weights), name
    finished = checkpoint.read_bytes()
    assert StoppingGenerator(ColourFeatures(), "ja", settings).fit(rows, checkpoint) == losses  # nothing left to learn
    assert checkpoint.read_bytes() == finished
    other = InstructionGenerator(ColourFeatures(), "ja", replace(settings, seed=1))
    assert other.fit(rows, checkpoint)[0] != losses[0]
    checkpoint.write_bytes(finished[:100])  # of a full disk, or another program
    assert InstructionGenerator(ColourFeatures(), "ja", settings).fit(rows, checkpoint) == losses


def test_the_writer_spells_words_as_the_recipes_do_and_reads_the_title(task_sets):
    rows = [
        row | {"answer": "水１Ｌを加える。"}
        for row in islice(TasksFolder(task_sets).rows(TASK, "train", with_pictures=True), 2)
    ]
    generator = InstructionGenerator(ColourFeatures(), "ja", GeneratorSettings(width=32, layers=1, heads=2, epochs=1))
    generator.fit(rows)
    known = generator.vocabulary.convert_ids_to_tokens(generator._ids(generator.words("水１Ｌ")).tolist())
    assert generator.text([generator.written.get(word, word) for word in known]) == "水１Ｌ"
    assert len(generator._known_words(rows[0])) > len(generator._known_words(rows[0] | {"title": None})) > 0


def test_the_generator_needs_what_it_learns_from(task_sets, tmp_path):
    features = ColourFeatures()
    with pytest.raises(UsageError, match="which it learns from"):
        generator_answers(TasksFolder(task_sets), "train", features)
    build_dataset(write_kitchen(tmp_path / "kitchen", 10, frames=False), tmp_path / "vrf")
    make_tasks(tmp_path / "vrf", tmp_path / "tasks")
    with pytest.raises(UsageError, match="found none in train; the generator needs text and image pairs"):
        generator_answers(TasksFolder(tmp_path / "tasks"), "test", features)


def test_features_of_pictures_are_computed_once_and_kept(task_sets, tmp_path, monkeypatch):
    rows = list(islice(TasksFolder(task_sets).rows(TASK, "test", with_pictures=True), 1))
    rows = [row | {"pictures": row["pictures"][:2], "pairs": [{"before": 0, "after": 1}]} for row in rows]
    first = PictureFeatures(OFFLINE_BACKBONE, OFFLINE_WEIGHTS, tmp_path / "cache")
    first.add(rows)
    monkeypatch.setattr("recipeflow.tasks.baselines.picture_features.FrozenBackbone", None)  # not needed again
    again = PictureFeatures(OFFLINE_BACKBONE, OFFLINE_WEIGHTS, tmp_path / "cache")
    again.add(rows)
    assert torch.equal(first.pairs(rows[0]), again.pairs(rows[0])) and first.pairs(rows[0]).shape == (1, 2560)
