"""The card of a model on the Hub: what it does and how to use it, as every saved model says it, and what was measured.

Figures come from the ``results.json`` of an experiment, or from the history of the run that trained the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard

from calibration_vrf import name_kind
from configuration_vrf import VRFConfig, choose_examples, model_card
from recipeflow.dataset.card import SOURCES
from recipeflow.errors import ModelFolderError
from recipeflow.experiment.paper import ROWS
from recipeflow.experiment.results import results_table
from recipeflow.tables import Table
from recipeflow.training.trainer import HISTORY, SETTINGS

FIGURES = {
    "recall_at_1": "R@1",
    "recall_at_5": "R@5",
    "recall_at_10": "R@10",
    "median_rank": "MedR",
    "mean_reciprocal_rank": "MRR",
}
LEGEND = """\
R@k: of a hundred queries, how many find their picture among the first k; the more, the better. MedR: the median rank
of that picture; the fewer, the better. MRR: the mean of one divided by that rank."""
PAPER_NOTE = """\
The paper's figures are those of its official data and a ResNet-152 pre-trained on ImageNet."""
SIMULATED_NOTE = "**Ours were measured on simulated pictures, and do not compare with them.**"
SEARCH = """\
The repository has an index of pictures, so the model can answer from those, too:

```python
from transformers import pipeline

search = pipeline("post-action-retrieval", model=repo, trust_remote_code=True)
for row in search({query}, top_k=5):
    print(row["score"], row["title"], row["action"], row["object"], row["image"])
```"""
SURE = """\
The model was calibrated on {queries} queries of recipes that it had not seen, and measured on {others} others. Every
answer from an index has a `confidence`: how likely it is the right one of all candidates. It is off by {error:.1%} on
average (expected calibration error). From a confidence of {least:.2f} on the model calls itself `sure`: of {share:.0%}
of the queries, {right} of them rightly."""

WITHOUT_EFFECT = ("evaluate_every", "checkpoint_every")
"""Settings of a run that make no difference to its model."""

TOLD_ELSEWHERE = ("inputs", "margin", "negatives", "rows", "steps", "dataset", "backbone", "backbone_weights")


@dataclass(frozen=True)
class TrainedOn:
    """The dataset of a model.

    Attributes:
        repo_id: Its name on the Hub, if it is there.
        source: What its release says of its source.
        doubt: Why nobody checked that the model was trained on it; ``None`` where that was checked.
    """

    repo_id: str | None = None
    source: str | None = None
    doubt: str | None = None

    def describe(self) -> str:
        """For the card: a link and where the data come from."""
        link = ""
        if self.repo_id:
            doubt = "" if self.doubt is None else " (not verified)"
            link = f"Trained on [{self.repo_id}](https://huggingface.co/datasets/{self.repo_id}){doubt}.\n\n"
        origin = f"a release that calls its source “{self.source}”" if self.source else "a release of unnamed source"
        return link + SOURCES.get(self.source, f"The data are {origin}.")


@dataclass(frozen=True)
class Evidence:
    """What was measured.

    Attributes:
        results: The ``results.json`` of an experiment with models like this one.
        training: How this model was trained, as its run tells.
        figures: This model's own figures on the fold that was held out.
    """

    results: Mapping[str, Any] | None = None
    training: Mapping[str, Any] | None = None
    figures: Mapping[str, float] | None = None


def read_evidence(config: VRFConfig, run: Path | None, results: Path | None) -> Evidence:
    """What an experiment and a run say of a model.

    Raises:
        ModelFolderError: If the results are of other models than this one.
    """
    training = _read_json(run / SETTINGS) if run and (run / SETTINGS).is_file() else None
    history = _read_json(run / HISTORY) if run and (run / HISTORY).is_file() else []
    measured = [row for row in history if "recall_at_5" in row]
    experiment = None if results is None else _read_json(results)
    if experiment is not None:
        _check_same(experiment, config, training or {}, results)
    return Evidence(experiment, training, measured[-1] if measured else None)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = (
            f"expected JSON in {path}, found none that can be read ({error}); run the command that writes it again"
        )
        raise ModelFolderError(message) from error


def _check_same(results: Any, config: VRFConfig, training: Mapping[str, Any], path: Path) -> None:
    """A card may show only results of models that are like this one in everything but seed and fold."""
    try:
        theirs = {"backbone": results["settings"]["backbone"], **results["settings"]["training"]}
        row = _find_row(results, config)
    except (KeyError, TypeError) as error:
        message = f"expected the results.json of `vrf experiment`, found another file in {path}; name that file"
        raise ModelFolderError(message) from error
    ours = {"backbone": config.backbone, "margin": config.margin, "negatives": config.negatives, **training}
    compared = (ours.keys() & theirs.keys()) - {"seed", *WITHOUT_EFFECT}
    differing = [name for name in sorted(compared) if ours[name] != theirs[name]]
    found = [f"{name} {theirs[name]} and not {ours[name]}" for name in differing]
    if row is None:
        found.append(f"no row with {' + '.join(config.inputs)}")
    if found:
        raise ModelFolderError(
            f"expected results of models like this one in {path}, found {', '.join(found)}; name the results of an "
            "experiment with its settings"
        )


def _find_row(results: Mapping[str, Any], config: VRFConfig) -> Mapping[str, Any] | None:
    return next((row for row in results["rows"] if set(row["inputs"]) == set(config.inputs)), None)


def make_model_card(
    config: VRFConfig,
    repo_id: str,
    evidence: Evidence,
    trained_on: TrainedOn | None = None,
    *,
    picture: str | None = None,
    has_index: bool = False,
    calibration: Mapping[str, Any] | None = None,
    licence: str = "mit",
    words: Mapping[str, str] | None = None,
) -> ModelCard:
    """The card of a model in a repository.

    Args:
        config: The model's.
        repo_id: The repository, which the code in the card names.
        evidence: What was measured.
        trained_on: The dataset, if it is known.
        picture: The file in the repository that shows queries and their answers.
        has_index: Whether the repository has pictures to search.
        calibration: What ``calibration.json`` says, if the model was calibrated.
        licence: Of the weights, as the Hub spells it.
        words: A verb and an object that the model knows, for the code in the card.
    """
    words = words or choose_examples({})
    card = ModelCard(model_card(config, repo_id, words))
    intro, rest = card.text.split("```python", 1)
    usage, citation = rest.split("```bibtex", 1)
    card.text = "\n\n".join(
        [
            intro.rstrip(),
            *([f"![Queries and the pictures that the model finds for them]({picture})"] if picture else []),
            "## How to use it",
            "```python" + usage.rstrip(),
            *([_search(config, words)] if has_index else []),
            *_results(config, evidence, trained_on),
            *_calibration(calibration),
            *_training(evidence),
            *(["## Data", trained_on.describe()] if trained_on else []),
            "## Limits",
            _limits(config),
            "## Licence",
            f"The code in this repository is under the MIT licence, the weights under: {licence}.",
            "## Citation",
            "```bibtex" + citation,
        ]
    )
    _fill_metadata(card, config, repo_id, evidence, trained_on, licence)
    return card


def _search(config: VRFConfig, words: Mapping[str, str]) -> str:
    query = {name: {**words, "image": "before.jpg"}[name] for name in config.inputs}
    return SEARCH.format(query=json.dumps(query, ensure_ascii=False))


def _fill_metadata(
    card: ModelCard,
    config: VRFConfig,
    repo_id: str,
    evidence: Evidence,
    trained_on: TrainedOn | None,
    licence: str,
) -> None:
    card.data.language = ["ja"]
    card.data.license = licence
    if trained_on and trained_on.repo_id:
        card.data.datasets = [trained_on.repo_id]
    card.data.model_name = repo_id.partition("/")[2]
    card.data.eval_results = _eval_results(config, evidence, trained_on) or None


def _eval_results(config: VRFConfig, evidence: Evidence, trained_on: TrainedOn | None) -> list[EvalResult]:
    """For the model-index: the mean over folds with its deviation, or this model's own figures."""
    deviations: Mapping[str, float | None] = {}
    if evidence.results is not None:
        row = _find_row(evidence.results, config)
        figures, deviations = row["mean"], row["std"]
    else:
        figures = evidence.figures or {}
    name = trained_on.repo_id if trained_on and trained_on.repo_id else "visual-recipe-flow"
    return [
        EvalResult(
            task_type="image-retrieval",
            task_name="Retrieval of the picture after a cooking action",
            dataset_type=name,
            dataset_name=name,
            dataset_config="image_pairs",
            dataset_split="train",
            metric_type=key,
            metric_name=label,
            metric_value=round(figures[key], 4),
            metric_args=None if deviations.get(key) is None else {"std": round(deviations[key], 4)},
        )
        for key, label in FIGURES.items()
        if key in figures
    ]


def _results(config: VRFConfig, evidence: Evidence, trained_on: TrainedOn | None) -> list[str]:
    if evidence.results is not None:
        row = _find_row(evidence.results, config)
        table = results_table(evidence.results)
        told = (
            f"This model takes the inputs of the row “{row['title']}”. The figures are of models trained like it, "
            "each tested on recipes that it had not seen."
        )
    elif evidence.figures is not None:
        table = _own_table(config, evidence.figures)
        told = "Measured with this model, on the fold of recipes that it had not seen."
    else:
        return []
    sources = {trained_on and trained_on.source, evidence.results and evidence.results.get("source")}
    simulated = "simulated" in sources
    note = f"{PAPER_NOTE} {SIMULATED_NOTE}" if simulated else PAPER_NOTE
    return ["## Results", told, table.markdown().rstrip(), LEGEND, note]


def _calibration(about: Mapping[str, Any] | None) -> list[str]:
    """How sure the model may be, where that was measured."""
    if about is None or "measured" not in about:
        return []
    measured, answered = about["measured"], about["measured"]["answered"]
    right = "none" if answered["accuracy"] is None else f"{answered['accuracy']:.0%}"
    told = SURE.format(
        queries=about["fitted_on"]["queries"],
        others=measured["queries"],
        error=measured["expected_calibration_error"],
        least=about["min_confidence"],
        share=answered["coverage"],
        right=right,
    )
    return ["## How sure it is", told, *_incomplete(about)]


def _incomplete(about: Mapping[str, Any]) -> list[str]:
    """The same of queries that lack a part, where the model can take such."""
    rows = [
        (
            name_kind(tuple(kind["without"])),
            *(f"{kind['measured'][name]:.0%}" for name in ("accuracy", "mean_confidence")),
            f"{kind['measured']['expected_calibration_error']:.1%}",
            f"{kind['min_confidence']:.2f}",
        )
        for kind in about["incomplete"]
    ]
    if not rows:
        return []
    columns = ("query", "right first", "mean confidence", "off by", "sure from")
    return [Table("Queries that lack a part", columns, rows).markdown().rstrip()]


def _own_table(config: VRFConfig, figures: Mapping[str, float]) -> Table:
    row = next((row for row in ROWS.values() if set(row.inputs) == set(config.inputs)), None)
    paper = dict(zip(("recall_at_5", "median_rank"), row.paper, strict=True)) if row and row.paper else {}
    rows = [(label, figures[key], paper.get(key)) for key, label in FIGURES.items() if key in figures]
    title = f"{figures['queries']:,.0f} queries, {figures['candidates']:,.0f} candidates"
    return Table(title, ("", "this model", "paper"), rows)


def _training(evidence: Evidence) -> list[str]:
    settings = evidence.training or (evidence.results["settings"]["training"] if evidence.results else {})
    told = {
        name.replace("_", " "): value
        for name, value in settings.items()
        if name not in TOLD_ELSEWHERE + WITHOUT_EFFECT
    }
    if not told:
        return []
    rows = [f"| {name} | {_spell(value)} |" for name, value in told.items()]
    return ["## Training", "\n".join(["| setting | value |", "|---|---|", *rows])]


def _spell(value: Any) -> str:
    if value is None:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _limits(config: VRFConfig) -> str:
    words = config.use_action or config.use_object
    lines = [
        "It ranks the pictures that it is given and draws none. One of them always comes first, fitting or not.",
        *(
            [f"It knows {config.vocab_size - 2:,} Japanese words; all others are one unknown word to it."]
            if words
            else []
        ),
        "It has seen recipes of one kind, filmed in one way; how it does on other kitchens was not measured.",
    ]
    return "\n".join(f"- {line}" for line in lines)
