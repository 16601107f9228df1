"""examples/keras_alone.py, as its reader would start it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
