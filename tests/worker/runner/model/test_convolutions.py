"""Jobs with convolutions: they learn, resume to the bit, and leave their weights and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import h5py
import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.errors import Conflict
from ipulse_ops.keras.trained_network import trained_network
from ipulse_worker.runner.crosscheck.problem import problem_of
from ipulse_worker.runner.data.load import load
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")

FAST = {"kind": "adam", "learning_rate": 0.01}
SPEC: Dict[str, Any] = {
    "version": 1,
    "seed": 3,
    "data": {"kind": "digits", "samples": 400},
    "network": {
        "layers": [
            {
                "kind": "conv2d",
                "filters": 6,
                "kernel_size": 3,
                "padding": "same",
                "bias": True,
                "pool": {"kind": "average"},
            },
            {"kind": "conv2d", "filters": 12, "kernel_size": [3, 2], "second_threshold": 0.5},
            {"neurons": 24},
        ],
        "reset": "subtract",
        "delay": 1,
    },
    "training": {
        "epochs": 6,
        "batch_size": 32,
        "optimizer": FAST,
        "regularisers": [{"kind": "upper", "strength": 1e-4, "spikes": 1.0, "layers": [1, 3]}],
    },
}


def spec_of(**changes: Any) -> Dict[str, Any]:
    return {**SPEC, **changes}


def weights(done: FinishedAttempt) -> Dict[str, np.ndarray]:
    assert done.done["reason"] == "completed", done.done
    with np.load(str(done.directory / "weights.npz")) as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.mark.old_python
@pytest.mark.sample(1)
def test_a_job_learns_and_leaves_its_files(tmp_path: Path) -> None:
    done = attempt(tmp_path / "job", SPEC)
    shapes = {name: array.shape for name, array in weights(done).items()}
    assert shapes == {
        "layer_1": (3, 3, 1, 6),
        "layer_1_bias": (6,),
        "layer_2": (3, 2, 6, 12),
        "layer_3": (2 * 3 * 12, 24),
        "readout": (24, 10),
    }
    metrics = [event for event in done.events if event["kind"] == "metric"]
    assert metrics[-1]["values"]["test_accuracy"] > 0.5  # of ten classes
    assert metrics[-1]["values"]["loss"] < metrics[0]["values"]["loss"]
    spec = json.loads((done.directory / "manifest.json").read_text("utf-8"))["spec"]
    network = trained_network(spec, weights(done), threads=1)
    ids, counts = load(
        spec_from(SPEC).data, DataDirectory(None), lambda count, total: None
    ).trains.batch(np.arange(50))
    assert network(ids, counts, training=False).membrane.shape == (40, 50, 10)
    report = (done.directory / "report.html").read_text("utf-8")
    assert "384" in report  # neurons of the first convolution
    with h5py.File(str(done.directory / "network.nir"), "r") as file:
        nodes = file["node/nodes"]
        kernels = [nodes[f"weights_{number}"]["weight"].shape for number in (1, 2)]
    assert kernels == [(6, 1, 3, 3), (12, 6, 3, 2)]


@pytest.mark.sample(0)
def test_a_job_that_continues_is_one_longer_job(tmp_path: Path) -> None:
    training = {"batch_size": 32, "epochs": 3}
    whole = attempt(tmp_path / "whole", spec_of(training=training))
    first = attempt(tmp_path / "first", spec_of(training={**training, "epochs": 1}))
    checkpoint = str(first.directory / "checkpoint.npz")
    second = attempt(
        tmp_path / "second",
        spec_of(training=training),
        start_from=checkpoint,
        start_mode="continue",
    )
    expected = weights(whole)
    for name, array in weights(second).items():
        assert array.tobytes() == expected[name].tobytes(), name


@pytest.mark.parametrize("readout", ["leaky", "spiking"])
def test_a_readout_may_follow_a_convolution(tmp_path: Path, readout: str) -> None:
    network = {"layers": SPEC["network"]["layers"][:1], "readout": {"kind": readout, "bias": True}}
    loss = "spike_count_cross_entropy" if readout == "spiking" else "mean_membrane_cross_entropy"
    done = attempt(
        tmp_path / "job",
        spec_of(
            network=network,
            training={"epochs": 4, "batch_size": 32, "loss": loss, "optimizer": FAST},
        ),
    )
    assert weights(done)["readout"].shape == (4 * 4 * 6, 10)
    losses = [event["values"]["loss"] for event in done.events if event["kind"] == "metric"]
    assert losses[-1] < losses[0]


def test_a_frozen_convolution_keeps_its_initial_weights(tmp_path: Path) -> None:
    frozen = {**SPEC["network"]["layers"][0], "trainable": False}
    network = {"layers": [frozen, {"neurons": 16}]}
    drawn = [
        weights(
            attempt(
                tmp_path / str(epochs),
                spec_of(network=network, training={"epochs": epochs, "batch_size": 32}),
            )
        )
        for epochs in (1, 2)
    ]
    assert drawn[0]["layer_1"].tobytes() == drawn[1]["layer_1"].tobytes()
    assert drawn[0]["layer_2"].tobytes() != drawn[1]["layer_2"].tobytes()


def test_a_crosscheck_refuses_convolutions() -> None:
    spec = spec_from(SPEC)
    data = load(spec.data, DataDirectory(None), lambda count, total: None)
    with pytest.raises(Conflict, match="convolutions"):
        problem_of(spec, data, 4, 5)
