"""The card of a parser: what it reads and how to use it, and what was measured, rendered from a Jinja template."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from configuration_rfg import RFGConfig
from package_rfg import TASK
from recipeflow.parser.evaluation import FIGURES
from vrf_dataset import CITATION, HOMEPAGE

TEMPLATE = Path(__file__).parent / "templates" / "parser_card.md.jinja"

EXAMPLES = {
    "ja": (["きゅうり1本", "塩少々"], ["きゅうりを薄切りにします。", "塩をふって混ぜます。"], ("材料", "作り方")),
    "en": (["2 potatoes"], ["Peel the potatoes.", "Boil them in a pan."], ("Ingredients", "Instructions")),
}
"""By language, the ingredients, instructions and headings of the card's example."""


@dataclass(frozen=True)
class ParserFigures:
    """What was measured: F-measures by name (``FIGURES``), with their deviations over several parsers.

    Args:
        mean: The figures, or their means.
        std: Their standard deviations.
        runs: How many parsers were measured.
    """

    mean: Mapping[str, float]
    std: Mapping[str, float | None]
    runs: int = 1

    def rows(self) -> list[tuple[str, str]]:
        """The lines of the card's table."""
        return [(title, self._spell(name)) for name, title in FIGURES.items() if name in self.mean]

    def _spell(self, name: str) -> str:
        deviation = self.std.get(name)
        return f"{self.mean[name]:.1f}" + ("" if deviation is None else f" ± {deviation:.1f}")


def make_default_parser_card(config: RFGConfig) -> str:
    """The card of a parser that was just trained: without metrics, and with code that loads the folder it is in."""
    return str(make_parser_card(config, "."))


def make_parser_card(
    config: RFGConfig,
    repo: str,
    figures: ParserFigures | None = None,
    *,
    dataset: str | None = None,
    license: str | None = None,
) -> ModelCard:
    """The card of a parser.

    Args:
        config: The parser's.
        repo: The repository, which the code in the card names, or ``.`` for the folder that the card is in.
        figures: What was measured.
        dataset: What it was trained on, by its name on the Hub.
        license: License of the weights, by the Hub's identifier, if one was chosen.
    """
    ingredients, instructions, headings = EXAMPLES.get(config.language.partition("-")[0], EXAMPLES["en"])
    metadata = ModelCardData(
        language=[config.language],
        license=license,
        library_name="transformers",
        pipeline_tag="token-classification",
        datasets=[dataset] if dataset else None,
        tags=["visual-recipe-flow", TASK, "cooking", "custom_code"],
        model_name=repo.rpartition("/")[2] if figures else None,
        eval_results=_eval_results(figures, dataset) if figures else None,
    )
    return ModelCard.from_template(
        metadata,
        template_path=str(TEMPLATE),
        homepage=HOMEPAGE,
        config=config,
        repo=repo,
        ingredients=_dump(ingredients),
        instructions=_dump(instructions),
        headings=headings,
        results={"rows": figures.rows(), "runs": figures.runs} if figures else None,
        dataset=dataset,
        license=license,
        citation=CITATION,
    )


def _dump(lines: Sequence[str]) -> str:
    return json.dumps(lines, ensure_ascii=False)


def _eval_results(figures: ParserFigures, dataset: str | None) -> list[EvalResult]:
    name = dataset or "recipe-flow-graphs"
    return [
        EvalResult(
            task_type="token-classification",
            task_name="Recipe flow graph parsing",
            dataset_type=name,
            dataset_name=name,
            metric_type=f"f1_{key}",
            metric_name=f"F1, {FIGURES[key]}",
            metric_value=round(value, 2),
        )
        for key, value in figures.mean.items()
        if key in FIGURES
    ]
