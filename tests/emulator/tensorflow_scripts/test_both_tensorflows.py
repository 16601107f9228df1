"""Scripts for the IPU give the same losses and weights with every TensorFlow and Keras."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, Union

import numpy as np
import pytest

from tests.emulator.compiled import PROGRAMS, compile_program
from tests.emulator.tensorflow_scripts.test_command import EXAMPLES

HERE = Path(__file__).parent
OLDER = HERE.parents[2] / ".venv38" / "bin" / "python"
RTOL, ATOL = 1e-5, 1e-6

pytestmark = pytest.mark.verify


def values_of(python: Union[str, Path], folder: Path, *options: str) -> Dict[str, np.ndarray]:
    """Run values.py with a Python; return its arrays by their names."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "POPLAR_", "IPU_"))}
    environment = {
        **kept,
        "CUSTOM_OPS": str(compile_program(PROGRAMS / "user_ops.cpp", shared=True)),
        "LIF_OP": str(compile_program(EXAMPLES / "lif_op.cpp", shared=True)),
        "EXAMPLES": str(EXAMPLES),
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
    result = folder / "values.npz"
    command = [str(python), "-m", "ipu_tensorflow_emulator", "--tiles", "16", "--quiet", *options]
    command += [str(HERE / "values.py"), str(result)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    with np.load(result) as found:
        return dict(found)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, np.ndarray]:
    """The values of this Python's TensorFlow with Keras 2."""
    return values_of(sys.executable, tmp_path_factory.mktemp("values"))


@pytest.mark.skipif(not OLDER.exists(), reason="no .venv38 here: scripts/setup py38")
def test_tensorflow_2_6_gives_the_same(expected: Dict[str, np.ndarray], tmp_path: Path) -> None:
    check(values_of(OLDER, tmp_path), expected)


def test_keras_3_gives_the_same(expected: Dict[str, np.ndarray], tmp_path: Path) -> None:
    check(values_of(sys.executable, tmp_path, "--keras", "3"), expected)


def check(found: Dict[str, np.ndarray], expected: Dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    assert all(np.isfinite(each).all() for each in expected.values())
    different = {
        name: float(np.max(np.abs(found[name] - value)))
        for name, value in expected.items()
        if not np.allclose(found[name], value, rtol=RTOL, atol=ATOL)
    }
    assert not different
