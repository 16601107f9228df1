"""Trainings end with the same bits on every CPU, for any number of threads, with every TensorFlow.

The digests are those of one generation of kernels. Both environments of the tests, with TensorFlow
2.6 and today's, compare with them. A change that is meant to alter the bits raises
KERNEL_GENERATION and replaces the digests.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_ops.lif.cpu import native
from tests.ops.lif.cpu.kernels import masks
from tests.worker.runner.attempts import attempt
from tests.worker.runner.conftest import SPEC

# What NumPy, TensorFlow and the C library choose by the CPU, on an x86 CPU.
OLDER_CPU = {
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX2 FMA3",
    "OPENBLAS_CORETYPE": "Prescott",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-FMA_Usable,-FMA,-FMA4,-AVX512F",
}


def spec_of(network: Any = None, data: Any = None, **training: Any) -> Dict[str, Any]:
    return {
        **SPEC,
        "data": data or SPEC["data"],
        "network": network or SPEC["network"],
        "training": {**SPEC["training"], "epochs": 3, **training},
    }


SPECS = {
    "gated": spec_of(),
    "dense": spec_of(
        network={"layers": [{"neurons": 48, "recurrent": True, "bias": True}, {"neurons": 150}]},
        loss="max_membrane_cross_entropy",
        optimizer={"kind": "sgd", "learning_rate": 0.05, "momentum": 0.9, "nesterov": True},
        gradient_clipping={"global_norm": 0.5, "value": 0.1},
        schedule={"shape": "cosine", "warmup_steps": 3},
    ),
    "regularised": spec_of(
        network={**SPEC["network"], "trainable": ["decay"]},
        loss="step_cross_entropy",
        optimizer={"kind": "adamw", "learning_rate": 0.005, "weight_decay": 0.01},
        regularisers=[
            {"kind": "lower", "strength": 0.1, "spikes": 2.0},
            {"kind": "upper", "strength": 0.1, "spikes": 1.0},
        ],
    ),
    "generated": spec_of(data={"kind": "randman"}),
    "convolution": spec_of(
        network={
            "layers": [
                {"kind": "conv2d", "filters": 8, "kernel_size": 3, "pool": {"pool_size": 2}},
                {"neurons": 40, "second_threshold": 0.5},
            ]
        }
    ),
}
DIGESTS = {
    "gated": "2d5f7df540bbcb621f77ea3d16427e05175c04d0d64be9aae0fa503e6b70a9fb",
    "dense": "09607cb16a12e3c0a1fe819ec215f11075cf8b6443d1e29efeae37011a1de3b2",
    "regularised": "57b49f4a0a7dab8b6b4cd9918fbfb8df0d9fb5c9f0774ba057bd7799779c64e3",
    "generated": "387929d0a86e0bdcb5438439fc5055212c73b71d216d9b0319227e7f20e9150a",
    "convolution": "c293d1e9a6590b633dcc408b91a99038bbaf4c325c8a5cd8a1751cc3acdde0bb",
}


def digest_of(directory: Path, name: str) -> str:
    """Train, and return the SHA-256 of the weights and of the losses."""
    result = attempt(directory, SPECS[name])
    assert result.done["reason"] == "completed", result.done
    digest = hashlib.sha256()
    with np.load(result.directory / "weights.npz") as weights:
        for array in sorted(weights.files):
            digest.update(array.encode() + weights[array].tobytes())
    for line in (result.directory / "metrics.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        losses = [entry[key] for key in ("loss", "accuracy", "test_loss") if key in entry]
        digest.update(json.dumps(losses).encode())
    return digest.hexdigest()


RARE = [pytest.mark.old_python, pytest.mark.verify]
MARKS = {"gated": [pytest.mark.old_python], "dense": []}


@pytest.mark.usefixtures("threads_are_set")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=MARKS.get(name, RARE)) for name in SPECS],
)
def test_every_kernel(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arch in masks():
        with monkeypatch.context() as patched:
            patched.setattr(native, "supported_arch", lambda arch=arch: arch)
            assert digest_of(tmp_path / str(arch), name) == DIGESTS[name], f"mask {arch}"


@pytest.mark.verify
@pytest.mark.usefixtures("threads_are_set")
@pytest.mark.parametrize("threads", [1, 2, 5, 16])
def test_any_number_of_threads(threads: int, tmp_path: Path) -> None:
    for name in SPECS:
        given = {**SPECS[name], "device": {"kind": "cpu", "threads": threads}}
        result = attempt(tmp_path / name, given)
        assert result.done["reason"] == "completed"
        with np.load(result.directory / "weights.npz") as weights:
            found = {array: weights[array].tobytes() for array in weights.files}
        result = attempt(tmp_path / f"{name} again", SPECS[name])
        with np.load(result.directory / "weights.npz") as weights:
            assert found == {array: weights[array].tobytes() for array in weights.files}


@pytest.mark.verify
@pytest.mark.skipif(sys.platform != "linux", reason="the C library's settings are glibc's")
def test_libraries_that_see_an_older_cpu(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.worker.runner.training.test_same_weights import SPECS, digest_of\n"
        "directory, name = sys.argv[1:]\n"
        "print(digest_of(Path(directory), name))"
    )
    for name in SPECS:
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / name), name],
            env={**os.environ, **OLDER_CPU},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split()[-1] == DIGESTS[name]
