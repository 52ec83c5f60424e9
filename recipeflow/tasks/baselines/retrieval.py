"""The retrieval model on the choice tasks: of the candidates, the one that is nearest in the space it learned."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from unicodedata import normalize

import torch
from PIL import Image

from modeling_vrf import VRFModel
from recipeflow.images import FORMATS
from recipeflow.progress import progress_bar
from recipeflow.tasks.candidates import LETTERS
from recipeflow.tasks.folder import TasksFolder, pictures_of
from recipeflow.training.runs import load_trained

CHOICES = ("state_choice", "action_choice", "same_change")
OFFERED = re.compile(r"^[A-E]\. (.*)$", re.MULTILINE)


class RetrievalAnswerer:
    """Answers choices with a trained model, from the words and pictures of the question only.

    Args:
        name: The folder of the model, or its name on the Hub.
    """

    def __init__(self, name: str) -> None:
        model, processor = load_trained(name)
        self.model: VRFModel = model.eval()
        self.processor = processor
        self.vocabulary = frozenset(processor.tokenizer.get_vocab())

    def answer(self, question: str, pictures: Sequence[bytes]) -> str | None:
        """The letter of the nearest candidate; ``None`` for a question of another kind."""
        lines = dict(line.partition(": ")[::2] for line in question.splitlines())
        offered = OFFERED.findall(question)
        if "Which picture" in question:
            action = lines.get("Now this action is done") or lines["Action"]
            thing = lines.get("To this object") or lines["Object"]
            scores = self._images(pictures[1:]) @ self._queries([action], [thing], pictures[0])[0]
        elif "Which action was done?" in question:
            queries = self._queries(offered, [lines["Object"]] * len(offered), pictures[0])
            scores = queries @ self._images(pictures[1:2])[0]
        elif "Which object is this" in question:  # a state is its object, and what was done to it last
            states = [choice.partition(": ")[::2] for choice in offered]
            queries = self._queries([done.rpartition(", ")[2] for _, done in states], [thing for thing, _ in states])
            scores = queries @ self._images(pictures[:1])[0]
        else:
            return None
        return LETTERS[int(scores.argmax())]

    def _queries(self, actions: Sequence[str], things: Sequence[str], before: bytes | None = None) -> torch.Tensor:
        uses = self.model.config.inputs
        pictures = [_open(before)] * len(actions) if before is not None and "image" in uses else None
        with torch.inference_mode():
            return self.model.encode_queries(
                [self._known_end(action) for action in actions] if "action" in uses else None,
                [_food(thing) for thing in things] if "object" in uses else None,
                pictures,
                processor=self.processor,
            )

    def _known_end(self, action: str) -> str:
        """The action without its manner: of 4等分に切, the model knows 切, which is its longest known end."""
        ends = (action[start:] for start in range(len(action)))
        return next((end for end in ends if normalize("NFKC", end).lower() in self.vocabulary), action)

    def _images(self, pictures: Sequence[bytes]) -> torch.Tensor:
        with torch.inference_mode():
            return self.model.encode_images([_open(picture) for picture in pictures], self.processor)


def _open(picture: bytes) -> Image.Image:
    with Image.open(io.BytesIO(picture), formats=FORMATS) as image:
        return image.convert("RGB")


def _food(name: str) -> str:
    """The food of an object: of 芯 (ブロッコリー), the model knows ブロッコリー."""
    return name.partition(" (")[2].rstrip(")") or name


def retrieval_answers(folder: TasksFolder, split: str, model: str) -> dict[str, str]:
    """The answers of a retrieval model to every choice that is about pictures."""
    answerer = RetrievalAnswerer(model)
    tasks = [task for task in folder.tasks(split) if task in CHOICES]
    total = sum(folder.manifest["configs"][task]["rows"][split] for task in tasks)
    rows = ((task, row) for task in tasks for row in folder.rows(task, split, with_pictures=True))
    return {
        row["id"]: letter
        for task, row in progress_bar(rows, total, "retrieval model", "questions")
        if (letter := answerer.answer(row["question"], pictures_of(task, row)))
    }
