"""The card of a model: what it does and how to use it, and what was measured, rendered from a Jinja template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import timm
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from configuration_vrf import HUB_WEIGHTS, VRFConfig
from recipeflow.experiment.paper import ROWS
from recipeflow.experiment.results import common_note, results_table
from recipeflow.hub.evidence import WITHOUT_EFFECT, Evidence, TrainedOn
from recipeflow.tables import Table
from retrieval_vrf import name_kind
from vrf_dataset import CITATION, HOMEPAGE

TEMPLATE = Path(__file__).parent / "templates" / "model_card.md.jinja"

FIGURES = {
    "recall_at_1": "R@1",
    "recall_at_5": "R@5",
    "recall_at_10": "R@10",
    "median_rank": "MedR",
    "mean_reciprocal_rank": "MRR",
}

SHOWN_ELSEWHERE = ("inputs", "margin", "negatives", "rows", "steps", "dataset", "backbone", "backbone_weights")
"""Settings of a run that the card's table of the model shows, or that mean nothing to a reader."""

INPUTS = {"action": "an action verb", "object": "the object's name", "image": "a picture from before the action"}

EXAMPLE_WORDS = {
    "action": ("千切り", "切", "切り", "切る", "茹で", "混ぜ", "加え"),
    "object": ("キャベツ", "トマト", "きゅうり", "にんじん", "玉ねぎ", "卵"),
}
"""Words for a card's example, best first; a model of other recipes gets its own most frequent word."""


def choose_examples(vocabulary: Mapping[str, int]) -> dict[str, str]:
    """A verb and an object for the card, from a model's vocabulary, which is numbered by frequency."""
    frequent = sorted(vocabulary, key=vocabulary.__getitem__)[2:]  # after those for padding and for unknown words
    return {
        part: next((word for word in words if word in vocabulary), next(iter(frequent), words[0]))
        for part, words in EXAMPLE_WORDS.items()
    }


def make_default_card(config: VRFConfig, vocabulary: Mapping[str, int]) -> str:
    """The card of a model that was just trained: without metrics, and with code that loads the folder it is in."""
    return str(make_model_card(config, ".", Evidence(), words=choose_examples(vocabulary)))


def make_model_card(
    config: VRFConfig,
    repo: str,
    evidence: Evidence,
    trained_on: TrainedOn | None = None,
    *,
    picture: str | None = None,
    has_index: bool = False,
    calibration: Mapping[str, Any] | None = None,
    license: str | None = None,
    words: Mapping[str, str] | None = None,
) -> ModelCard:
    """The card of a model.

    Args:
        config: The model's.
        repo: The repository, which the code in the card names, or ``.`` for the folder that the card is in.
        evidence: What was measured.
        trained_on: The dataset, if it is known.
        picture: The file in the repository that shows queries and their answers.
        has_index: Whether the repository has pictures to search.
        calibration: What ``calibration.json`` says, if the model was calibrated.
        license: License of the weights, by the Hub's identifier, if one was chosen.
        words: A verb and an object that the model knows, for the code in the card.
    """
    query = {**(words or choose_examples({})), "image": "before.jpg"}
    return ModelCard.from_template(
        _metadata(config, repo, evidence, trained_on, license),
        template_path=str(TEMPLATE),
        homepage=HOMEPAGE,
        config=config,
        inputs=", ".join(INPUTS[name] for name in config.inputs),
        repo=repo,
        arguments=", ".join(f"{name}s={json.dumps([query[name]], ensure_ascii=False)}" for name in config.inputs),
        query=json.dumps({name: query[name] for name in config.inputs}, ensure_ascii=False) if has_index else None,
        picture=picture,
        results=_results(config, evidence, trained_on),
        calibration=_calibration(calibration),
        training=_training(config, evidence),
        trained_on=trained_on,
        license=license,
        citation=CITATION,
    )


def _metadata(
    config: VRFConfig, repo: str, evidence: Evidence, trained_on: TrainedOn | None, license: str | None
) -> ModelCardData:
    results = _eval_results(config, evidence, trained_on)
    return ModelCardData(
        language=["ja"],
        license=license,
        library_name="transformers",
        pipeline_tag="image-feature-extraction",
        base_model=_base_model(config),
        datasets=[trained_on.repo_id] if trained_on and trained_on.repo_id else None,
        tags=["visual-recipe-flow", "image-retrieval", "cooking", "custom_code"],
        model_name=repo.rpartition("/")[2] if results else None,
        eval_results=results or None,
    )


def _base_model(config: VRFConfig) -> str | None:
    """The backbone's repository, if its weights came from there."""
    if not config.backbone_weights.startswith(f"{HUB_WEIGHTS}, "):
        return None
    pretrained = timm.get_pretrained_cfg(config.backbone)
    return pretrained.hf_hub_id if pretrained else None


def _eval_results(config: VRFConfig, evidence: Evidence, trained_on: TrainedOn | None) -> list[EvalResult]:
    """For the model-index: the mean over folds with its deviation, or this model's own metrics."""
    deviations: Mapping[str, float | None] = {}
    if evidence.row is not None:
        figures, deviations = evidence.row["mean"], evidence.row["std"]
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


def _results(config: VRFConfig, evidence: Evidence, trained_on: TrainedOn | None) -> dict[str, Any] | None:
    if evidence.results is not None and evidence.row is not None:
        row, table, common = evidence.row["title"], results_table(evidence.results), common_note(evidence.results)
    elif evidence.figures is not None:
        row, table, common = None, _own_table(config, evidence.figures), ""
    else:
        return None
    sources = {trained_on and trained_on.source, evidence.results and evidence.results.get("source")}
    return {"row": row, "table": table.markdown().rstrip(), "common": common, "simulated": "simulated" in sources}


def _calibration(about: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The quality of the confidences, if it was measured."""
    if about is None or "measured" not in about:
        return None
    measured, answered = about["measured"], about["measured"]["answered"]
    by_chance = measured.get("expected_calibration_error_by_chance")  # earlier versions did not measure it
    return {
        "queries": measured["queries"],
        "candidates": f"{measured['candidates']:,}",
        "right": f"{measured['accuracy']:.0%}",
        "confidence": f"{measured['mean_confidence']:.0%}",
        "error": f"{measured['expected_calibration_error']:.1%}",
        "chance_error": None if by_chance is None else f"{by_chance:.1%}",
        "threshold": f"{about['min_confidence']:.2f}",
        "coverage": f"{answered['coverage']:.0%}",
        "accuracy": None if answered["accuracy"] is None else f"{answered['accuracy']:.0%}",
        "absence": f"{about['absence']['auroc']:.2f}" if about.get("absence") else None,
        "table": _incomplete(about),
    }


def _incomplete(about: Mapping[str, Any]) -> str | None:
    """The same for queries that lack a part, if the model accepts such queries."""
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
        return None
    columns = ("query", "R@1", "mean confidence", "calibration error", "threshold")
    return Table("Queries that lack a part", columns, rows).markdown().rstrip()


def _own_table(config: VRFConfig, figures: Mapping[str, float]) -> Table:
    row = next((row for row in ROWS.values() if set(row.inputs) == set(config.inputs)), None)
    paper = dict(zip(("recall_at_5", "median_rank"), row.paper, strict=True)) if row and row.paper else {}
    rows = [(label, figures[key], paper.get(key)) for key, label in FIGURES.items() if key in figures]
    title = f"{figures['queries']:,.0f} queries, {figures['candidates']:,.0f} candidates"
    return Table(title, ("", "this model", "paper"), rows)


def _training(config: VRFConfig, evidence: Evidence) -> dict[str, str]:
    settings = evidence.training or (evidence.results["settings"]["training"] if evidence.results else {})
    hidden = SHOWN_ELSEWHERE + WITHOUT_EFFECT + (("feature_precision",) if config.feature_precision else ())
    return {name.replace("_", " "): _spell(value) for name, value in settings.items() if name not in hidden}


def _spell(value: Any) -> str:
    if value is None:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
