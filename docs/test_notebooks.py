"""Runs the notebooks of the documentation in a kernel, against the reader's stack."""

from __future__ import annotations

import os
from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient
from reader import Reader

FOLDER = Path(__file__).parent / "notebooks"
SECONDS = 300  # for one cell
QUICK = "own_data"  # the others take minutes in all


def _marks(name: str) -> list[pytest.MarkDecorator]:
    return [] if name == QUICK else [pytest.mark.verify]


NOTEBOOKS = [
    pytest.param(path, id=path.stem, marks=_marks(path.stem))
    for path in sorted(FOLDER.glob("*.md"))
    if path.stem != "index"
]


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own libraries
@pytest.mark.usefixtures("stack")
@pytest.mark.parametrize("path", NOTEBOOKS)
def test_a_notebook_runs(path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in reader.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{reader.environment['PATH']}{os.pathsep}{os.environ['PATH']}")
    notebook = jupytext.read(path)
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("text/html" in output.get("data", {}) for output in outputs)
