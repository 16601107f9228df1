"""examples/keras_alone.py and the example of docs/ops.md, as their reader would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_it_trains_and_prints_its_accuracy() -> None:
    done = subprocess.run(
        [sys.executable, "examples/keras_alone.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = re.search(r"accuracy on 512 new patterns: ([01]\.\d+)", done.stdout)
    assert found is not None, done.stdout
    assert float(found.group(1)) > 0.85


def test_the_documented_one_runs_as_it_is_written() -> None:
    page = (ROOT / "docs" / "ops.md").read_text("utf-8")
    names: Dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)  # noqa: S102 (our own page)
    assert names["logits"].shape == (32, 20)
