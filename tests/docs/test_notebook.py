"""The notebook runs from top to bottom, in an empty folder and with empty caches."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.building import environment

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tour.ipynb"


def test_the_tour_runs_from_top_to_bottom(tmp_path, monkeypatch):
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3  # before, after, and the answers
    losses = next(
        output["data"]["text/plain"]
        for output in outputs
        if "text/plain" in output.get("data", {}) and output["data"]["text/plain"].startswith("[")
    )
    first, *_, last = (float(number) for number in losses.strip("[]").split(","))
    assert last < first


def test_the_notebook_is_committed_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(
        not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code"
    )
