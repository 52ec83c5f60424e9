"""The report of an experiment: one self-contained HTML page that runs no script.

The template escapes words of a release, and the page's own policy forbids scripts and every URL outside it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jinja2
from matplotlib.figure import Figure

from recipeflow.dataset.opening import open_dataset
from recipeflow.errors import DatasetFolderError, HubError, ReportError
from recipeflow.experiment import plots
from recipeflow.experiment.report.data import DatasetRows, ExperimentData, read_experiment
from recipeflow.experiment.report.sections import accuracy_section, map_section, queries_section
from recipeflow.experiment.results import results_notes, results_table
from recipeflow.files import write_aside
from recipeflow.images import data_address
from recipeflow.tables import format_cell

REPORT = "report.html"
TEMPLATES = Path(__file__).parent / "templates"


def write_report(experiment: str | Path, dataset: str | Path | None = None, out: str | Path | None = None) -> Path:
    """Write the page of an experiment from its files.

    Args:
        experiment: A folder written by ``vrf experiment``.
        dataset: The dataset that it was run on; by default the folder in ``results.json``, if it exists. Without one
            the page has no pictures and no words, and says so.
        out: The file to write; ``report.html`` in the experiment's folder by default.

    Raises:
        ReportError: If the experiment is incomplete, or was run on another dataset.
        DatasetFolderError: If ``dataset`` is not a dataset.
    """
    data = read_experiment(Path(experiment))
    rows, missing = _open_dataset(data, dataset)
    path = Path(out) if out is not None else Path(experiment) / REPORT
    write_aside(path, render_report(data, rows, missing))
    return path


def _open_dataset(data: ExperimentData, named: str | Path | None) -> tuple[DatasetRows | None, list[str]]:
    """The dataset, or why there is none; one that was passed has to be right."""
    folder = named or data.results.get("dataset")
    if folder is None:
        return None, ["These results do not say which dataset they are from; pass it with vrf report --dataset."]
    try:
        rows = DatasetRows(open_dataset(folder))
        rows.check_experiment(data)
    except (DatasetFolderError, HubError, ReportError) as error:
        if named is not None:
            raise
        return None, [f"The dataset of this experiment is not available: {error}."]
    return rows, []


def render_report(data: ExperimentData, dataset: DatasetRows | None, missing: Iterable[str] = ()) -> str:
    """The page.

    Args:
        data: The experiment.
        dataset: Its dataset; without it there are no pictures and no words.
        missing: What is missing so far, listed at the top.
    """
    missing = list(missing)
    sections = {"queries": None, "accuracy": None, "map": None}
    if dataset is not None:
        sections = {
            "queries": queries_section(data, dataset, missing),
            "accuracy": accuracy_section(data, dataset, missing),
            "map": map_section(data, dataset, missing),
        }
    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"cell": format_cell, "svg": _svg_address}
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    return environment.get_template("report.html.jinja").render(
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        table=results_table(data.results),
        notes=results_notes(data.results),
        settings=data.results["settings"],
        versions=data.results["versions"],
        seconds=data.results.get("seconds"),
        figures=_figures(data),
        missing=missing,
        **sections,
    )


def _svg_address(figure: Figure) -> str:
    return data_address("image/svg+xml", plots.to_svg(figure).encode())


def _figures(data: ExperimentData) -> list[dict[str, Any]]:
    """The plots of ranks and learning, each with a description."""
    rows = {row.title: row.folds for row in data.rows}
    means = {row.title: row.about["mean"] for row in data.rows}
    figures = [
        {
            "id": "recall",
            "heading": "The right image among the first k",
            "figure": plots.plot_recall(rows),
            "alt": "Curves of R@k over k from 1 to 100. At k = 5: "
            + _list(f"{title} {mean['recall_at_5']:.1f} %" for title, mean in means.items()),
            "caption": "Mean over the folds; the band goes from the worst fold to the best. The line marks the "
            "paper's k, 5.",
        },
        {
            "id": "ranks",
            "heading": "The rank of the right image",
            "figure": plots.plot_rank_histograms(rows),
            "alt": "Histograms of the rank of the right image. Mean of the folds' median ranks: "
            + _list(f"{title} {mean['median_rank']:.1f}" for title, mean in means.items()),
            "caption": "All folds together; above each bar its number of queries. Bars on the right span more ranks.",
        },
    ]
    if trained := plots.trained_rows(rows):
        last = {title: [fold["history"][-1]["loss"] for fold in folds] for title, folds in trained.items()}
        figures.append(
            {
                "id": "learning",
                "heading": "Learning",
                "figure": plots.plot_learning(trained),
                "alt": "Curves of the training loss over the epochs. At the end: "
                + _list(f"{title} {sum(losses) / len(losses):.3g}" for title, losses in last.items()),
                "caption": "Mean over the folds; the band goes from the lowest fold to the highest.",
            }
        )
    return figures


def _list(parts: Iterable[str]) -> str:
    return ", ".join(parts) + "."
