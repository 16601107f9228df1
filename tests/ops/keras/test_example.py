"""examples/keras_alone.py and the example of docs/reference/ops.md, as their reader would run
them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.verify
def test_it_trains_and_prints_the_same_accuracy_at_each_run() -> None:
    printed = [accuracy_of_a_run(hash_seed) for hash_seed in ("1", "2")]
    assert printed[0] == printed[1]
    assert float(printed[0]) > 0.85


def accuracy_of_a_run(hash_seed: str) -> str:
    """Run the example in a process of its own; Python's hashes depend on `hash_seed`."""
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "keras_alone.py")],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    match = re.search(r"accuracy on 512 new patterns: ([01]\.\d+)", run.stdout)
    assert match is not None, run.stderr
    return match.group(1)


def test_the_documented_one_runs_as_it_is_written() -> None:
    page = (ROOT / "docs" / "reference" / "ops.md").read_text("utf-8")
    names: Dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)  # noqa: S102 (our own page)
    assert names["logits"].shape == (32, 20)
