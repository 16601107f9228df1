"""A SavedModel where nothing is left of what saved it: another process, another TensorFlow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict

import pytest

ROOT = Path(__file__).parents[3]
OLDER = ROOT / ".venv38" / "bin" / "python"

SAVE = """
import sys
import numpy as np, tensorflow as tf
from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF
rng = np.random.Generator(np.random.PCG64(3))
net = MultiLIF(
    inputs=20,
    layers=[LIF(neurons=30, second_threshold=0.5, recurrent=True), LIF(neurons=9, capacity=3)],
    readout=LeakyReadout(neurons=4),
    time_major=False,
)
net.set_kernels([rng.normal(0.1, 0.3, kernel.shape) for kernel in net.kernels])
module = tf.Module()
module.net = net
signature = [tf.TensorSpec([None, 12, 20], tf.float32)]
module.run = tf.function(lambda x: net(x, training=False).membrane, input_signature=signature)
tf.saved_model.save(module, sys.argv[1])
dense = (rng.random((6, 12, 20)) < 0.4).astype(np.float32)
np.savez(sys.argv[1] + "/original.npz", dense=dense, membrane=module.run(dense))
"""
LOAD = """
import sys
import numpy as np, tensorflow as tf
from ipulse_ops.keras import load_ops
load_ops()
original = np.load(sys.argv[1] + "/original.npz")
loaded = tf.saved_model.load(sys.argv[1])
np.testing.assert_array_equal(loaded.run(original["dense"]), original["membrane"])
print("the same bits", np.abs(original["membrane"]).max() > 0)
"""


def run(python: str, code: str, directory: Path) -> str:
    environment: Dict[str, str] = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, "-c", code, str(directory)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.verify
@pytest.mark.slow
def test_runs_in_a_fresh_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["save", str(tmp_path)])
    exec(SAVE, {})  # noqa: S102 (ours; TensorFlow takes seconds to import)
    assert run(sys.executable, LOAD, tmp_path) == "the same bits True\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="newer releases read what older ones saved")
@pytest.mark.skipif(not OLDER.exists(), reason="no .venv38 here: scripts/setup py38")
@pytest.mark.verify
def test_runs_in_a_newer_tensorflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """TensorFlow promises nothing for the other way round."""
    run(str(OLDER), SAVE, tmp_path)
    monkeypatch.setattr(sys, "argv", ["load", str(tmp_path)])
    exec(LOAD, {})  # noqa: S102 (nothing of the saving process is here)
    assert capsys.readouterr().out == "the same bits True\n"
