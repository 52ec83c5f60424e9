"""The results of an experiment, for a terminal and as a page: the paper's table with the paper's figures beside ours.

Everything here is made from ``results.json`` alone, so that a table can be printed again from that file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recipeflow.errors import ReportError
from recipeflow.tables import Table

Results = dict[str, Any]

RESULTS = "results.json"
"""The file, in the folder of an experiment."""

SIMULATED = (
    "These pictures are simulated, and the kitchen that made them was calibrated to the paper's regime: how the rows "
    "compare says nothing about real food, and is no evidence for the paper's claim."
)


def results_table(results: Results) -> Table:
    """All figures."""
    columns = ("inputs", "R@1", "R@5", "R@10", "MedR", "MRR", "paper R@5", "paper MedR", "rows", "candidates")
    keys = ("recall_at_1", "recall_at_5", "recall_at_10", "median_rank", "mean_reciprocal_rank")
    rows = [
        (
            _row_title(row, results),
            *(_with_deviation(row, key) for key in keys),
            *_paper(row),
            row["usable_rows"],
            row["mean"]["candidates"],
        )
        for row in _table_rows(results)
    ]
    return Table(_title(results), columns, rows)


def short_table(results: Results) -> Table:
    """The paper's two metrics, narrow enough for a terminal."""
    columns = ("inputs", "R@5", "MedR", "paper R@5", "paper MedR")
    keys = ("recall_at_5", "median_rank")
    rows = [
        (_row_title(row, results), *(_with_deviation(row, key) for key in keys), *_paper(row))
        for row in _table_rows(results)
    ]
    return Table(_title(results), columns, rows)


def _table_rows(results: Results) -> Iterator[Results]:
    """The rows of a table; one that asks more queries than the others is followed by itself on the common ones."""
    for row in results["rows"]:
        yield row
        if common := row.get("common"):
            yield {**row, **common, "title": f"{row['title']} (common)", "paper": None}


def results_notes(results: Results) -> str:
    """What was counted, and what it means."""
    counts = "; ".join(f"{row['usable_rows']:,} for {row['title']}" for row in results["rows"])
    candidates = results["rows"][0]["mean"]["candidates"]
    return (
        f"Of the {results['all_rows']:,} rows of image_pairs, those with a post-action image and all required inputs "
        f"are used: {counts}. The candidates are the distinct post-action images of the held-out fold, "
        f"{candidates:.0f} on average; the right answer to a query is its own image. "
        + common_note(results)
        + _unseen_note(results)
        + _ignoring_note(results)
        + _source_note(results["source"])
    ).strip()


def common_note(results: Results) -> str:
    """Rows with other queries cannot be compared with each other."""
    partly = [row for row in results["rows"] if row.get("common")]
    if not partly:
        return ""
    titles = " and of ".join(row["title"] for row in partly)
    return (
        f"Rows that ask different queries cannot be compared: (common) has the metrics of {titles} on the queries "
        f"that all models are asked, of the {partly[0]['common']['usable_rows']:,} rows with all of their inputs. "
    )


def _unseen_note(results: Results) -> str:
    """Queries without a pre-action image are not part of the paper's table."""
    return "".join(
        f"Queries of {row['title']} whose pre-action image is missing, which the table leaves out: "
        f"R@5 {row['unseen']['recall_at_5']:.1f}, MedR {row['unseen']['median_rank']:.1f}. "
        for row in results["rows"]
        if row.get("unseen")
    )


def _ignoring_note(results: Results) -> str:
    """A row of words and image may have models that were tuned to read words alone."""
    notes = []
    for row in results["rows"]:
        records = (row.get("tuning") or {}).values()
        if ignoring := sum(record.get("image_dropout") == 1 for record in records):
            some = f"{ignoring} of {len(records)} folds"
            notes.append(f"On {some}, models of {row['title']} ignore the image, which tuning chose. ")
    return "".join(notes)


def _source_note(source: str | None) -> str:
    return SIMULATED if source == "simulated" else ""


def results_page(results: Results) -> str:
    """Table, notes, plots and settings, as the Markdown page in the experiment's folder."""
    settings, seconds = results["settings"], results["seconds"]
    training = ", ".join(f"{key} {value}" for key, value in settings["training"].items())
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    parts = [
        results_table(results).markdown(),
        results_notes(results),
        *(f"![{name}](plots/{name}.png)" for name in _figures(results)),
        f"Backbone {settings['backbone']} ({settings['weights']}); training: {training}. Versions: {versions}."
        + ("" if seconds is None else f" All jobs took {seconds / 60:.1f} minutes."),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _figures(results: Results) -> list[str]:
    trained = any(row["inputs"] for row in results["rows"])
    return ["recall", "ranks", *(["learning"] if trained else [])]


def _title(results: Results) -> str:
    settings, folds = results["settings"], _fold_counts(results)
    over = str(folds[0]) if len(folds) == 1 else f"{folds[0]} to {folds[-1]}"
    return f"Mean ± standard deviation over {over} folds, preset {settings['preset']}, {settings['backbone']}"


def _row_title(row: Results, results: Results) -> str:
    """With the number of folds, if it differs between rows."""
    return row["title"] if len(_fold_counts(results)) == 1 else f"{row['title']} ({len(row['folds'])} folds)"


def _fold_counts(results: Results) -> list[int]:
    return sorted({len(row["folds"]) for row in _table_rows(results)})


def _paper(row: Results) -> tuple[float | None, float | None]:
    return (row["paper"]["recall_at_5"], row["paper"]["median_rank"]) if row["paper"] else (None, None)


def _with_deviation(row: Results, key: str) -> str:
    digits = 3 if key == "mean_reciprocal_rank" else 1
    deviation = row["std"][key]
    return f"{row['mean'][key]:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def find_results(folder: Path) -> Path:
    """The results of an experiment.

    Raises:
        ReportError: If there are none.
    """
    path = folder / RESULTS
    if not path.is_file():
        raise ReportError(
            f"expected the folder of an experiment, found no {RESULTS} in {folder}; run `vrf experiment VRF --out` "
            "with this folder first"
        )
    return path
