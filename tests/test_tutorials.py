"""The tutorials run, each as a notebook in a kernel of its own, and are committed without results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

TUTORIALS = sorted((Path(__file__).resolve().parents[1] / "docs/tutorials").glob("*.ipynb"))


def test_there_is_one_for_every_audience() -> None:
    assert [path.stem for path in TUTORIALS] == ["credit_scoring", "medicine", "physics_trigger", "pricing"]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()  # raises with the cell and its error
    printed = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    assert not [out for out in printed if out.get("name") == "stderr"], "a tutorial shows no warnings"


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_results_are_not_committed(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells)
