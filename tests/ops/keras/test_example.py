"""examples/keras_alone.py and the example of docs/reference/ops.md, as their reader would run
them."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any, Dict

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_it_trains_and_prints_its_accuracy(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "keras_alone.py"), run_name="__main__")
    printed = capsys.readouterr().out
    found = re.search(r"accuracy on 512 new patterns: ([01]\.\d+)", printed)
    assert found is not None, printed
    assert float(found.group(1)) > 0.85


def test_the_documented_one_runs_as_it_is_written() -> None:
    page = (ROOT / "docs" / "reference" / "ops.md").read_text("utf-8")
    names: Dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)  # noqa: S102 (our own page)
    assert names["logits"].shape == (32, 20)
