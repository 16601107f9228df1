"""Jobs with delays of synapses and trained delays: what they leave, and begin with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.nir.discretization import Options
from ipulse_core.nir.importer import import_network
from ipulse_core.spec.nir_targets import delays_left_out
from ipulse_ops.keras.trained_network import trained_network
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.model.start_weights import start_weights

from .attempts import FinishedAttempt, attempt
from .specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")

SYNAPSES = {"neurons": 16, "delays": {"longest": 6}}
SENDERS = {"per": "neuron", "longest": 5, "rounded": True, "learning_rate_factor": 30}


def spec(**network: Any) -> Dict[str, Any]:
    network = {"layers": [SYNAPSES], "readout": {"delays": SENDERS}, **network}
    return {
        "version": 1,
        "seed": 3,
        "data": {"kind": "digits", "samples": 200},
        "network": network,
        "training": {
            "epochs": 3,
            "batch_size": 32,
            "optimizer": {"kind": "adam", "learning_rate": 0.01},
        },
    }


def weights(done: FinishedAttempt) -> Dict[str, np.ndarray]:
    assert done.done["reason"] == "completed", done.done
    with np.load(str(done.directory / "weights.npz")) as arrays:
        return {name: arrays[name] for name in arrays.files}


def test_a_job_leaves_the_network_that_it_tested(tmp_path: Path) -> None:
    done = attempt(tmp_path / "job", spec())
    arrays = weights(done)
    synapses, senders = arrays["layer_1_delays"], arrays["readout_delays"]
    assert (synapses.shape, senders.shape) == ((64, 16), (16,))
    assert sorted(set(synapses.ravel().tolist())) == list(range(7))
    assert set(senders.tolist()) <= set(range(6))

    resolved = json.loads((done.directory / "manifest.json").read_text("utf-8"))["spec"]
    dataset = load(spec_from(spec()).data, DataDirectory(None), lambda count, total: None)
    ids, counts = dataset.trains.batch(dataset.test)
    network = trained_network(resolved, arrays, threads=1)
    membrane = np.asarray(network(ids, counts, training=False).membrane)
    found = np.mean(membrane.mean(axis=0).argmax(axis=1) == dataset.labels[dataset.test])
    metrics = [event["values"] for event in done.events if event["kind"] == "metric"]
    assert found == pytest.approx(metrics[-1]["test_accuracy"], abs=1 / 40)
    report = (done.directory / "report.html").read_text("utf-8")
    assert "0 to 6 steps" in report
    found = import_network(done.directory / "network.nir", Options())
    for name, array in found.weights.items():
        expected = arrays[name]
        if name == "layer_1_delays":  # a synapse without a weight has any delay
            expected = np.where(arrays["layer_1"] == 0, 0, expected)
        if name.endswith("_delays"):
            np.testing.assert_array_equal(array, expected)


def test_delays_of_synapses_are_ways_of_a_nir_graph(tmp_path: Path) -> None:
    import nir

    done = attempt(tmp_path / "job", spec())
    arrays = weights(done)
    graph = nir.read(str(done.directory / "network.nir"))
    random = np.random.RandomState(5)
    spikes = (random.rand(20, 64) < 0.1).astype(np.float64)
    current = np.zeros((20, 16))
    following: Dict[str, List[str]] = {name: [] for name in graph.nodes}
    for here, there in graph.edges:
        following[here].append(there)
    for name in following["input"]:
        steps, node = 0, graph.nodes[name]
        if isinstance(node, nir.Delay):
            [steps] = set(np.rint(node.delay / 0.001).astype(int))
            [name] = following[name]
            node = graph.nodes[name]
        assert following[name] == ["lif_1"]
        current[steps:] += (spikes @ np.asarray(node.weight, np.float64).T)[: 20 - steps]
    delays, gain = arrays["layer_1_delays"].astype(int), spec_from(spec()).network.layers[0].gain
    expected = np.zeros((20, 16))
    for step, sender in zip(*np.nonzero(spikes)):
        for neuron in range(16):
            arrival = step + delays[sender, neuron]
            if arrival < 20:
                expected[arrival, neuron] += arrays["layer_1"][sender, neuron] * gain
    assert len(following["input"]) == 7
    np.testing.assert_allclose(current, expected, rtol=1e-5, atol=1e-5)


def test_too_many_delays_of_synapses_have_no_file() -> None:
    def why(longest: int) -> str:
        document = spec(layers=[{"neurons": 4, "delays": {"longest": longest}}], readout={})
        document["data"]["steps"] = 300
        return str(delays_left_out(spec_from(document).network))

    assert "257" in why(256)
    assert why(255) == "None"


def test_trained_delays_move_and_those_of_synapses_stay(tmp_path: Path) -> None:
    first = weights(attempt(tmp_path / "one", spec()))
    short = spec()
    short["training"]["epochs"] = 1
    less = weights(attempt(tmp_path / "other", short))
    np.testing.assert_array_equal(first["layer_1_delays"], less["layer_1_delays"])
    assert not np.array_equal(first["readout_delays"], less["readout_delays"])


def test_rounded_delays_of_neurons_are_exported(tmp_path: Path) -> None:
    import nir

    document = spec(layers=[{"neurons": 16, "delays": SENDERS}])
    done = attempt(tmp_path / "job", document)
    arrays = weights(done)
    graph = nir.read(str(done.directory / "network.nir"))
    step = 0.001
    for node, name in (("delay_0", "layer_1_delays"), ("delay_1", "readout_delays")):
        np.testing.assert_allclose(graph.nodes[node].delay / step, arrays[name], atol=1e-4)


def test_a_training_begins_with_the_delays_of_a_file(tmp_path: Path) -> None:
    document = spec(initial={"file": "start.npz"})
    arrays = {
        "layer_1": np.ones((64, 16), np.float32),
        "layer_1_delays": np.full((64, 16), 6, np.float32),
        "readout": np.ones((16, 10), np.float32),
        "readout_delays": np.full(16, 2.5, np.float32),
    }

    def started(**changes: Any) -> Any:
        np.savez(str(tmp_path / "start.npz"), **{**arrays, **changes})
        return start_weights(spec_from(document), DataDirectory(tmp_path))

    found = started()
    assert sorted(found.arrays) == sorted(arrays)
    with pytest.raises(DataInvalid, match="whole steps"):
        started(layer_1_delays=arrays["layer_1_delays"] - 0.5)
    with pytest.raises(DataInvalid, match="0 to 5"):
        started(readout_delays=arrays["readout_delays"] * 3)
    with pytest.raises(DataInvalid, match="not negative"):
        started(readout_delays=-arrays["readout_delays"])
    with pytest.raises(DataInvalid, match="not finite"):
        started(readout_delays=arrays["readout_delays"] * np.nan)
    with pytest.raises(DataInvalid, match="layer_1_delays"):
        started(layer_1_delays=np.zeros(64, np.float32))
