"""The tasks in Inspect: ``inspect eval recipeflow/tasks/inspect_task.py -T dataset=vrf-tasks -T config=state_choice``.

Any provider can be asked with ``--model``. ``--model recipeflow/FOLDER`` asks a retrieval model of this project, which
answers the choices about pictures. Needs the extra ``inspect``.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    modelapi,
)
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr
from inspect_ai.solver import TaskState, generate
from inspect_ai.tool import ToolChoice, ToolInfo

from recipeflow.errors import UsageError
from recipeflow.images import data_address
from recipeflow.tasks.folder import TasksFolder, pictures_of
from recipeflow.tasks.schema import JOINT, TASKS, WRITING
from recipeflow.tasks.scoring.extraction import extract_answer
from recipeflow.tasks.scoring.judging import METRICS, judge

IMAGE = re.compile(r"<image (\d+)>")


@task
def vrf_tasks(dataset: str = "vrf-tasks", config: str = "state_choice", split: str = "test") -> Task:
    """One config of the task sets.

    Args:
        dataset: A folder written by ``vrf tasks``.
        config: The task.
        split: The split.

    Raises:
        UsageError: If the split has no questions of this config.
    """
    folder = TasksFolder(dataset)
    if config not in (made := folder.tasks(split)):
        raise UsageError(
            f"expected a config of {', '.join(made)} for {split} of {dataset}, found {config!r}; choose one of them"
        )
    samples = [make_sample(config, row) for row in folder.rows(config, split, with_pictures=True)]
    kind = TASKS[config].answered_by
    metrics = [mean(), stderr(), *([right_in_all_ways()] if kind == JOINT else [])]
    return Task(
        MemoryDataset(samples, name=f"vrf_{config}"),
        solver=generate(),
        scorer=vrf_scorer(config, metrics),
        name=f"vrf_{config}",
    )


def make_sample(config: str, row: dict[str, Any]) -> Sample:
    """A question with its pictures where its text names them; the row without pictures is kept for scoring."""
    pictures = pictures_of(config, row)
    content: list[Content] = list(_parts(row["question"], pictures))
    kept = {name: value for name, value in row.items() if name not in TASKS[config].picture_columns}
    target = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
    return Sample(
        id=row["id"], input=[ChatMessageUser(content=content)], target=[str(each) for each in target], metadata=kept
    )


def _parts(question: str, pictures: list[bytes]) -> Iterator[Content]:
    for number, part in enumerate(IMAGE.split(question)):
        if number % 2:
            yield ContentImage(image=data_address("image/jpeg", pictures[int(part) - 1]))
        elif part.strip():
            yield ContentText(text=part)


def vrf_scorer(config: str, metrics: list[Any]) -> Scorer:
    """Judges like ``vrf score``; for text, the value is chrF from 0 to 1."""
    kind = TASKS[config].answered_by

    @scorer(metrics=metrics, name="vrf")
    def make() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            row = state.metadata
            answer = extract_answer(kind, row, state.output.completion)
            judged = judge(kind, row, answer, True)
            value = _chrf(answer, row["answer"]) if kind == WRITING else judged.values[METRICS[kind][0]]
            kept = {"outcome": judged.outcome, "group": row.get("group"), "id": row["id"], "answer": answer}
            return Score(value=value, answer=str(answer), metadata=kept)

        return score

    return make()


def _chrf(text: str, reference: str) -> float:
    from sacrebleu.metrics import CHRF

    return CHRF().sentence_score(text, [reference]).score / 100


@metric
def right_in_all_ways() -> Metric:
    """The share of changes whose three questions are all answered right."""

    def compute(scores: list[SampleScore]) -> float:
        groups: defaultdict[str, list[float]] = defaultdict(list)
        for each in scores:
            groups[(each.score.metadata or {})["group"]].append(each.score.as_float())
        return sum(min(values) for values in groups.values()) / len(groups) if groups else 0.0

    return compute


@modelapi(name="recipeflow")
class RetrievalModelAPI(ModelAPI):
    """A retrieval model of this project as a provider; what is no choice about pictures, it cannot answer."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        from recipeflow.tasks.baselines.retrieval import RetrievalAnswerer

        self.answerer = RetrievalAnswerer(model_name)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Read text and pictures of the question, and answer with a letter."""
        question, pictures = read_question(input[-1])
        letter = await asyncio.to_thread(self.answerer.answer, question, pictures)
        return ModelOutput.from_content(self.model_name, letter or "I can only choose between pictures or actions.")


def read_question(message: ChatMessage) -> tuple[str, list[bytes]]:
    """The question with its markers again, and a picture for each of them, also where one is shown twice."""
    text, pictures = "", []
    parts = [ContentText(text=message.content)] if isinstance(message.content, str) else message.content
    for part in parts:
        if isinstance(part, ContentImage):
            pictures.append(base64.b64decode(part.image.partition(",")[2]))
            text += f"<image {len(pictures)}>"
        elif isinstance(part, ContentText):
            text += part.text
    return text, pictures
