"""The retrieval model on the choice tasks: of the candidates, the one that is nearest in the space it learned."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any
from unicodedata import normalize

import torch
from PIL import Image

from configuration_vrf import READ_ROLES
from modeling_vrf import VRFModel
from recipeflow.images import FORMATS
from recipeflow.progress import progress_bar
from recipeflow.tasks.candidates import LETTERS
from recipeflow.tasks.folder import TasksFolder, pictures_of
from recipeflow.training.runs import load_trained

CHOICES = ("state_choice", "action_choice", "same_change")
KEPT = 2_048
"""How many pictures' features are kept: each picture is in several questions of its recipe."""
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
        self._feature = lru_cache(KEPT)(self._compute_feature)

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
            things, done = zip(*(choice.partition(": ")[::2] for choice in offered), strict=True)
            earlier, _, last = zip(*(actions.rpartition(", ") for actions in done), strict=True)
            queries = self._queries(last, things, earlier=earlier)
            scores = queries @ self._images(pictures[:1])[0]
        else:
            return None
        return LETTERS[int(scores.argmax())]

    @torch.inference_mode()
    def _queries(
        self,
        actions: Sequence[str],
        things: Sequence[str],
        before: bytes | None = None,
        earlier: Sequence[str] | None = None,
    ) -> torch.Tensor:
        """A query per action and object, with the picture before them, if there is one."""
        uses, inputs = self.model.config.inputs, self._words(actions, things, earlier)
        if "image" in uses:
            size = self.model.image_encoder.hidden.in_features
            inputs["pre_features"] = (torch.zeros(size) if before is None else self._feature(before)).expand(
                len(actions), -1
            )
            inputs["pre_mask"] = torch.full((len(actions),), before is not None)
        return self.model.get_query_embeds(**inputs)

    def _words(
        self, actions: Sequence[str], things: Sequence[str], earlier: Sequence[str] | None
    ) -> dict[str, torch.Tensor]:
        """What the model reads of the words; those that it does not know are left out."""
        uses, reads = self.model.config.inputs, READ_ROLES[self.model.config.context]
        verbs, manners = zip(*map(self._verb_and_manner, actions), strict=True)
        done = map(self.known_words, earlier or [""] * len(actions))
        contexts = [{"modifier": manner, "done": past} for manner, past in zip(manners, done, strict=True)]
        words: dict[str, Any] = {
            "actions": list(verbs) if "action" in uses else None,
            "objects": [self.known_words(_food(thing)) or [thing] for thing in things] if "object" in uses else None,
            "contexts": [{role: each[role] for role in each if role in reads} for each in contexts] if reads else None,
        }
        return dict(self.processor(**words)) if any(words.values()) else {}

    def _verb_and_manner(self, action: str) -> tuple[list[str], list[str]]:
        """Of 4等分に切, the verb 切 and the manner 4, 等分: tasks write them together, a model reads them apart."""
        words = self.known_words(action)
        return words[-1:] or [action], words[:-1]

    def known_words(self, text: str) -> list[str]:
        """The words of a text that the model knows, the longest ones from its end on."""
        parts = normalize("NFKC", text).lower().replace(",", " ").split()
        return [word for part in parts for word in reversed([*self._ends(part)])]

    def _ends(self, part: str) -> Iterator[str]:
        if part.isascii():  # what is written with spaces is one word
            yield from [part] if part in self.vocabulary else []
            return
        end = len(part)
        while end:
            start = next((start for start in range(end) if part[start:end] in self.vocabulary), None)
            if start is not None:
                yield part[start:end]
            end = end - 1 if start is None else start

    @torch.inference_mode()
    def _images(self, pictures: Sequence[bytes]) -> torch.Tensor:
        return self.model.get_image_embeds(post_features=torch.stack([self._feature(each) for each in pictures]))

    @torch.inference_mode()
    def _compute_feature(self, picture: bytes) -> torch.Tensor:
        pixels = self.processor(post_images=[_open(picture)])["post_pixel_values"]
        return self.model.get_features(pixels)[0]


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
