"""This project's models on the tasks: the retrieval model chooses, the small writer writes."""

from itertools import islice

import numpy as np
import torch

from recipeflow.tasks.baselines.generator import TASK, GeneratorSettings, InstructionGenerator
from recipeflow.tasks.baselines.retrieval import CHOICES, RetrievalAnswerer
from recipeflow.tasks.folder import TasksFolder, pictures_of
from recipeflow.tasks.looks import Looks


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
