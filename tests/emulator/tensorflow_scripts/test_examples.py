"""The scripts of examples/tensorflow_ipu run as their job files say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emulator.compiled import compile_program
from tests.emulator.tensorflow_scripts.test_command import EXAMPLES, ran


@pytest.mark.verify
@pytest.mark.old_python
@pytest.mark.parametrize(
    ("script", "source", "printed", "calls"),
    [
        ("lif_layer", "lif_sequence_op", "accuracy: 1.0000", (24, 24)),  # 3 epochs of 8 batches
        ("two_ipus", "lif_op", "ipulse-metrics", (None, 2 * 3 * 8 * 10)),  # 2 layers, 10 steps
        ("sparse_product", "sparse_product_op", "largest difference", (1, 1)),
        ("timing", "lif_op", "1024 neurons", (80, 0)),
    ],
)
def test_an_example_runs(
    tmp_path: Path, script: str, source: str, printed: str, calls: tuple[int | None, int]
) -> None:
    library = compile_program(EXAMPLES / f"{source}.cpp", shared=True)
    done = ran("--tiles", 16, "--report", tmp_path, EXAMPLES / f"{script}.py", library)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout
    op = json.loads((tmp_path / "report.json").read_text("utf-8"))["custom_ops"][0]
    assert op["tiles"] == 16  # also in a pipeline each op has one IPU
    assert op["calls"]["backward"] == calls[1]
    assert calls[0] in (None, op["calls"]["forward"])
