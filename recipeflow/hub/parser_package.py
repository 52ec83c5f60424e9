"""What goes to the Hub with a parser: its folder, and a card with what was measured."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi

from configuration_rfg import RFGConfig
from recipeflow.errors import ModelFolderError, UsageError
from recipeflow.hub.parser_card import ParserFigures, make_default_parser_card, make_parser_card
from recipeflow.hub.transfer import CARD
from recipeflow.hub_client import check_name
from recipeflow.parser.evaluation import FIGURES
from recipeflow.parser.examples import read_examples
from recipeflow.training.saved_model import HISTORY, find_package


@dataclass(frozen=True)
class ParserPackage:
    """A parser that is ready to be sent.

    Attributes:
        folder: Of the saved model.
        config: Its config.
        run: The folder of the run that trained it, if it exists.
        dataset: What it was trained on, by its name on the Hub.
        pictures: None; a parser has none.
    """

    folder: Path
    config: RFGConfig
    run: Path | None
    dataset: str | None
    pictures: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, api: HfApi, dataset: str | Path | None, picture: Path | None) -> ParserPackage:
        """Find everything, or say what is missing; the arguments are those of ``ModelPackage.open``."""
        if picture is not None:
            raise UsageError("expected no picture for a parser, which finds none, found one; omit --picture")
        model, run = find_package(folder)
        config = RFGConfig.from_pretrained(model)
        if dataset is None:
            return cls(model, config, run, None)
        if Path(dataset).is_dir():
            _check_trained_on(Path(dataset), config)
            return cls(model, config, run, None)
        check_name(str(dataset))
        return cls(model, config, run, str(dataset))

    def notes(self) -> list[str]:
        """What could not be checked."""
        if self.dataset is None:
            return []
        return ["not verified that the parser was trained on this dataset; pass its release folder to have it checked"]

    def shows_official_frames(self) -> bool:
        """A parser shows no pictures."""
        return False

    def has_default_card(self) -> bool:
        """Whether the card is the one that `vrf parser train` writes, or missing, so that it can be replaced."""
        path = self.folder / CARD
        return not path.is_file() or path.read_text(encoding="utf-8") == make_default_parser_card(self.config)

    def make_card(self, repo_id: str, results: Path | None, license: str) -> str:
        """The card with the measured results."""
        figures = _read_history(self.run) if results is None else _read_results(results, self.config)
        return str(make_parser_card(self.config, repo_id, figures, dataset=self.dataset, license=license))


def is_parser(folder: Path) -> bool:
    """Whether a saved model is a parser, not one that finds pictures."""
    model, _ = find_package(folder)
    return _read_json(model / "config.json").get("model_type") == RFGConfig.model_type


def _check_trained_on(release: Path, config: RFGConfig) -> None:
    found = read_examples(release).digest()
    if config.trained_on not in (None, found):
        raise ModelFolderError(
            f"expected the release that the parser was trained on ({config.trained_on[:12]}…), found another in "
            f"{release} ({found[:12]}…); pass the right one with --dataset, or omit --dataset"
        )


def _read_history(run: Path | None) -> ParserFigures | None:
    if run is None or not (run / HISTORY).is_file():
        return None
    measured = [row for row in _read_json(run / HISTORY) if "entities" in row]
    return ParserFigures({name: measured[-1][name] for name in FIGURES}, {}) if measured else None


def _read_results(path: Path, config: RFGConfig) -> ParserFigures:
    """The figures of parsers with this encoder, trained on all recipes.

    Raises:
        ModelFolderError: If the file is not of `vrf parser experiment`, or of parsers with another encoder.
    """
    results = _read_json(path)
    try:
        encoder = results["settings"]["encoder"]
        row = next(row for row in results["rows"] if row["recipes"] is None)
        summary = row["figures"]
        figures = ParserFigures(
            {name: summary[name]["mean"] for name in FIGURES}, {n: summary[n]["std"] for n in FIGURES}, row["runs"]
        )
    except (KeyError, TypeError, StopIteration) as error:
        message = f"expected the results.json of `vrf parser experiment`, found another file in {path}; pass that file"
        raise ModelFolderError(message) from error
    own = "scratch" if config.is_scratch else config.encoder_weights
    if encoder != own:
        raise ModelFolderError(
            f"expected results of parsers with the encoder {own} in {path}, found {encoder}; pass the results of an "
            "experiment like this parser"
        )
    return figures


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"expected JSON in {path}, found none ({error}); run the command that writes it again"
        raise ModelFolderError(message) from error
