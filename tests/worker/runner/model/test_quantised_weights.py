"""Jobs with quantised weights: what they leave, resume from, and pass on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_ops.keras.trained_network import trained_network
from ipulse_worker.runner.data.load import load
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.emulated import ipu_spec
from tests.worker.runner.report.test_page import Page
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")

INT4 = {"bits": 4, "scale": "layer", "power_of_two": True}
HIDDEN = {"neurons": 16, "recurrent": True, "bias": True, "quantisation": {"bits": 8}}


def spec(**changes: Any) -> Dict[str, Any]:
    return {
        "version": 1,
        "seed": 3,
        "data": {"kind": "digits", "samples": 200},
        "network": {"layers": [HIDDEN, {"neurons": 12}], "readout": {"quantisation": INT4}},
        "training": {"epochs": 2, "batch_size": 32},
        **changes,
    }


def weights(done: FinishedAttempt) -> Dict[str, np.ndarray]:
    assert done.done["reason"] == "completed", done.done
    with np.load(str(done.directory / "weights.npz")) as arrays:
        return {name: arrays[name] for name in arrays.files}


def test_the_weights_are_integers_times_a_scale(tmp_path: Path) -> None:
    done = attempt(tmp_path / "job", spec())
    arrays = weights(done)
    shapes = {"layer_1": (16,), "layer_1_recurrent": (16,), "readout": (1,)}
    for name, shape in shapes.items():
        integers, scale = arrays[f"{name}_integers"], arrays[f"{name}_scale"]
        assert (integers.dtype, scale.dtype, scale.shape) == (np.int8, np.float32, shape)
        np.testing.assert_array_equal(integers * scale.astype(np.float64), arrays[name])
    assert np.abs(arrays["layer_1_integers"]).max() == 127
    assert np.abs(arrays["readout_integers"]).max() <= 7
    assert np.frexp(arrays["readout_scale"])[0] == 0.5
    assert not {"layer_1_bias_integers", "layer_2_integers"} & arrays.keys()
    page = Page((done.directory / "report.html").read_text("utf-8"))
    assert any("int8" in text for text in page.text["td"])
    assert any("int4" in text for text in page.text["td"])
    assert (done.directory / "network.nir").exists()

    # The network of the files predicts what the job did.
    metrics = [event["values"] for event in done.events if event["kind"] == "metric"]
    manifest = json.loads((done.directory / "manifest.json").read_text("utf-8"))
    network = trained_network(manifest["spec"], arrays, threads=1)
    data = load(spec_from(spec()).data, DataDirectory(None), lambda count, total: None)
    for quantises in (True, False):
        described = json.loads(json.dumps(manifest["spec"]))
        if not quantises:  # the arrays alone are the network
            for layer in (*described["network"]["layers"], described["network"]["readout"]):
                layer["quantisation"] = None
        network = trained_network(described, arrays, threads=1)
        ids, counts = data.trains.batch(data.test)
        membrane = network(ids, counts, training=False).membrane.numpy()
        right = membrane.mean(axis=0).argmax(axis=-1) == data.labels[data.test]
        assert right.mean() == pytest.approx(metrics[-1]["test_accuracy"])


@pytest.mark.verify
def test_a_resumed_job_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    """The checkpoint has the float32 weights, which the results no longer have."""
    whole = attempt(tmp_path / "whole", spec())
    once = spec(training={"epochs": 1, "batch_size": 32})
    first = attempt(tmp_path / "first", once)
    second = attempt(
        tmp_path / "second",
        spec(),
        start_from=str(first.directory / "checkpoint.npz"),
        start_mode="continue",
    )
    expected = weights(whole)
    for name, array in weights(second).items():
        assert array.tobytes() == expected[name].tobytes(), name


@pytest.mark.sample(0)
def test_other_trainings_begin_with_the_quantised_weights(tmp_path: Path) -> None:
    parent = attempt(tmp_path / "parent", spec())
    arrays = weights(parent)
    for number, kind in enumerate((HIDDEN, {**HIDDEN, "quantisation": None})):
        network = {"layers": [{**kind, "trainable": False}, {"neurons": 12, "trainable": False}]}
        child = attempt(
            tmp_path / f"child{number}",
            spec(network=network),
            start_from=str(parent.directory / "weights.npz"),
            start_mode="weights",
        )
        for name in ("layer_1", "layer_1_recurrent", "layer_1_bias", "layer_2"):
            np.testing.assert_array_equal(weights(child)[name], arrays[name])


def test_a_convolution_leaves_integers_by_filter(tmp_path: Path) -> None:
    conv = {"kind": "conv2d", "filters": 4, "kernel_size": 3, "pool": {"kind": "average"}}
    layers = [{**conv, "quantisation": {}}, {"neurons": 8, "quantisation": INT4}]
    document = spec(network={"layers": layers}, training={"epochs": 1, "batch_size": 32})
    arrays = weights(attempt(tmp_path / "job", document))
    assert arrays["layer_1_integers"].shape == (3, 3, 1, 4)
    assert (np.abs(arrays["layer_1_integers"]).max(axis=(0, 1, 2)) == 127).all()
    for name in ("layer_1", "layer_2"):
        product = arrays[f"{name}_integers"] * arrays[f"{name}_scale"].astype(np.float64)
        np.testing.assert_array_equal(product, arrays[name])


def test_the_emulator_learns_what_a_cpu_learns(tmp_path: Path) -> None:
    network = {"layers": [{"neurons": 12, "quantisation": {}}], "readout": {"quantisation": INT4}}
    ends = []
    for device in ({"kind": "cpu"}, {"kind": "emulator", "tiles": 8}):
        document = ipu_spec(device, network=network)
        ends.append(weights(attempt(tmp_path / device["kind"], document)))
    for name, on_cpu in ends[0].items():
        limit = 1 if name.endswith("_integers") else 0.02 * np.abs(on_cpu).max()
        difference = np.abs(ends[1][name].astype(float) - on_cpu)
        assert difference.max() <= limit, name
