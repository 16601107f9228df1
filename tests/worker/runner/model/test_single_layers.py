"""A job with dropout, a skip connection and standardised weights leaves the network it tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.nir.discretization import Options
from ipulse_core.nir.importer import import_network
from ipulse_ops.keras.trained_network import trained_network
from ipulse_worker.runner.attempts.spec_warnings import warnings_of
from ipulse_worker.runner.data.load import load
from tests.worker.runner.attempts import attempt
from tests.worker.runner.specs import spec_from
from tests.worker.runner.trainings import spec_of

pytestmark = pytest.mark.usefixtures("threads_are_set")

SPEC: Dict[str, Any] = {
    "version": 1,
    "seed": 3,
    "data": {"kind": "digits", "samples": 400},
    "network": {
        "layers": [
            {"neurons": 48, "dropout": 0.1, "standardised": True},
            {"neurons": 48, "second_threshold": 0.5},
        ],
        "readout": {"residual": [1], "dropout": 0.3},
    },
    "training": {
        "epochs": 6,
        "batch_size": 32,
        "optimizer": {"kind": "adam", "learning_rate": 0.01},
    },
}


@pytest.mark.sample(0)
def test_a_job_leaves_the_network_that_it_tested(tmp_path: Path) -> None:
    done = attempt(tmp_path / "job", SPEC)
    assert done.done["reason"] == "completed", done.done
    with np.load(str(done.directory / "weights.npz")) as arrays:
        weights = {name: arrays[name] for name in arrays.files}
    assert {name: array.shape for name, array in weights.items()} == {
        "layer_1": (64, 48),
        "layer_2": (48, 48),
        "readout": (48, 10),
    }
    np.testing.assert_allclose(weights["layer_1"].mean(axis=0), 0, atol=1e-6)

    spec = json.loads((done.directory / "manifest.json").read_text("utf-8"))["spec"]
    dataset = load(spec_from(SPEC).data, DataDirectory(None), lambda count, total: None)
    ids, counts = dataset.trains.batch(dataset.test)
    network = trained_network(spec, weights, threads=1)
    membrane = np.asarray(network(ids, counts, training=False).membrane)
    found = np.mean(membrane.mean(axis=0).argmax(axis=1) == dataset.labels[dataset.test])
    metrics = [event["values"] for event in done.events if event["kind"] == "metric"]
    assert found == pytest.approx(metrics[-1]["test_accuracy"], abs=1 / 80)
    assert found > 0.5  # of ten classes

    again = import_network(done.directory / "network.nir", Options())
    assert again.network["readout"]["residual"] == [1]
    report = (done.directory / "report.html").read_text("utf-8")
    assert "30.0 %" in report  # of the readout's senders


@pytest.mark.parametrize(
    ("layers", "place"),
    [
        ([{"neurons": 4, "standardised": True}, {"neurons": 1}], "readout"),
        ([{"kind": "conv2d", "filters": 1, "kernel_size": 8}, {"neurons": 4}], None),
        (
            [
                {"kind": "conv2d", "filters": 1, "kernel_size": 8},
                {"neurons": 4, "standardised": True},
            ],
            "layers[1]",
        ),
        (
            [{"kind": "conv2d", "filters": 3, "kernel_size": 1, "standardised": True}],
            "layers[0]",
        ),
        (
            [{"kind": "conv2d", "filters": 3, "kernel_size": [1, 2], "standardised": True}],
            "layers[0]",
        ),
    ],
)
def test_standardised_weights_of_one_or_two_senders_are_warned_about(
    layers: List[Dict[str, Any]], place: Optional[str]
) -> None:
    network = {"layers": layers, "readout": {"standardised": True}}
    found = [text for text in warnings_of(spec_of(network=network)) if "standardised" in text]
    assert [text.split()[0] for text in found] == ([] if place is None else [place])
