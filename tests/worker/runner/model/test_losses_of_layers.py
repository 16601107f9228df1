"""Losses and regularisers that read layers: a training step has the reference's gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_ops.lif.reference import network_pass
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.data.targets import with_targets
from ipulse_worker.runner.model.initial_weights import initial_weights
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import network_of
from tests.equations import lif
from tests.losses import loss_document
from tests.worker.runner.attempts import attempt
from tests.worker.runner.trainings import spec_of, training_on

pytestmark = pytest.mark.usefixtures("threads_are_set")

BATCH = 16
RATE, STRENGTH = 0.1, 2.0
LAYERS: List[Dict[str, Any]] = [
    {"neurons": 20, "name": "features", "second_threshold": 0.5},
    {"neurons": 16},
]
SPIKES = f"mean(square(mean_over_time(features.spikes) - {RATE}))"
LOSS = loss_document(f"-sum(label * log_softmax(score)) + {SPIKES}", [("score", "last(membrane)")])
PENALTY = {
    "kind": "equations",
    "penalty": "mean_over_time(mean(square(layers[1].membrane))) + mean(last(features.membrane))",
    "strength": STRENGTH,
}


def model_of(spec: Any, dataset: Any) -> Model:
    model = Model(spec, dataset.trains.slots, 2)
    model.weights = initial_weights(spec, dataset)
    return model


def gradients(model: Model, dataset: Any) -> List[np.ndarray]:
    samples = dataset.training[:BATCH]
    ids, counts = dataset.trains.batch(samples)
    result = model.compute_gradients(ids, counts, dataset.labels[samples], 1)
    return [np.asarray(each) for each in result.gradients]


def digits(spec: Any) -> Any:
    return load(spec.data, DataDirectory(None), lambda done, samples: None)


def test_gradients_of_a_training_step_are_the_references() -> None:
    training = {"loss": LOSS, "regularisers": [PENALTY], "batch_size": BATCH}
    spec = spec_of(network={"layers": LAYERS}, training=training)
    dataset = digits(spec)
    model, network = model_of(spec, dataset), network_of(spec)
    weights = [np.asarray(each) for each in initial_weights(spec, dataset)]
    samples = dataset.training[:BATCH]
    ids, counts = dataset.trains.batch(samples)
    ids, labels = ids.astype(np.int32), dataset.labels[samples]
    trace = network_pass.forward(network, weights, ids, counts)

    by_membrane = np.zeros(trace.membrane.shape)
    score = np.exp(trace.membrane[-1] - trace.membrane[-1].max(axis=-1, keepdims=True))
    one_hot = np.eye(score.shape[-1])[labels]
    by_membrane[-1] = (score / score.sum(axis=-1, keepdims=True) - one_hot) / BATCH
    first, second = trace.layers
    trains = np.zeros(first.u.shape)
    steps, _, neurons = trains.shape
    filled = np.arange(first.spike_ids.shape[-1])
    spiking = filled < first.spike_counts[..., :1]
    t, sample, slot = np.nonzero(spiking)
    trains[t, sample, first.spike_ids[t, sample, slot].astype(int)] = 1
    by_rate = 2 * (trains.mean(axis=0) - RATE) / (neurons * steps * BATCH)
    by_spikes = by_rate[np.arange(BATCH)[None, :, None], first.spike_ids.astype(int)]
    by_u = [np.zeros(first.u.shape), 2 * STRENGTH * second.u / second.u.size]
    by_u[0][-1] = STRENGTH / (neurons * BATCH)
    expected = network_pass.backward(
        network, weights, ids, counts, trace, by_membrane, [by_spikes, None], grad_u=by_u
    )
    found = gradients(model, dataset)
    assert len(found) == len(expected.weights)
    for ours, reference in zip(found, expected.weights):
        np.testing.assert_allclose(ours, reference, rtol=2e-4, atol=1e-7)


@pytest.mark.parametrize("layers", [[1], [0, 1]])
def test_equations_of_neurons_have_the_gradient_of_the_layers(layers: List[int]) -> None:
    """Spikes of layers that run as parts: LIF neurons as equations against the LIF kernel."""
    regularisers = [
        {"kind": "equations", "penalty": f"mean(square(sum_over_time(layers[{at}].spikes) - 3))"}
        for at in layers
    ]
    own = {"kind": "equations", "neurons": 20, "neuron": lif(gain=1.0)}
    found: List[List[np.ndarray]] = []
    weights: List[np.ndarray] = []
    for first in ({"neurons": 20, "decay": 0.9, "gain": 10.0}, own):
        spec = spec_of(
            network={"layers": [first, {"neurons": 16}]},
            training={"regularisers": regularisers, "batch_size": BATCH},
        )
        dataset = digits(spec)
        model = model_of(spec, dataset)
        weights = weights or [np.asarray(each) for each in initial_weights(spec, dataset)]
        model.weights = weights
        found.append(gradients(model, dataset))
    for kernel, equations in zip(*found):
        assert np.abs(kernel).max() > 1e-6
        np.testing.assert_allclose(equations, kernel, rtol=1e-3, atol=1e-6)


def test_a_spiking_readout_learns_the_targets_of_each_step(tmp_path: Path) -> None:
    rng = np.random.RandomState(4)
    spikes = (rng.rand(60, 12, 8) < 0.4).astype(np.float32)
    np.savez(tmp_path / "step.npz", spikes=spikes, targets=spikes[..., :2])
    data = {"kind": "npz", "name": "step", "channels": 8, "outputs": 2, "steps": 12}
    loss = loss_document("mean_over_time(mean(square(readout.spikes - step_target)))")
    spec = spec_of(
        data=data,
        network={"layers": [{"neurons": 24}], "readout": {"kind": "spiking"}},
        training={"loss": loss, "batch_size": 12, "epochs": 15},
    )
    dataset = load(spec.data, DataDirectory(tmp_path), lambda done, samples: None)
    training = training_on(spec, with_targets(dataset, spec))
    samples = training.dataset.training
    ids, counts = training.dataset.trains.batch(samples)
    targets = training.dataset.wanted(samples)
    first = None
    for step in range(1, 80):
        result = training.model.compute_gradients(ids, counts, targets, step)
        total = float(result.sums[1])
        first = total if first is None else first
        training.model.apply(result.gradients, step, 0.02)
    assert first is not None
    assert total < 0.7 * first


def test_a_job_reports_its_penalty(tmp_path: Path) -> None:
    document = {
        "version": 1,
        "data": {"kind": "digits", "samples": 64, "steps": 8},
        "network": {"layers": LAYERS},
        "training": {"epochs": 1, "batch_size": 16, "loss": LOSS, "regularisers": [PENALTY]},
    }
    ended = attempt(tmp_path / "a", document)
    assert ended.done["reason"] == "completed", ended.done
    page = (ended.directory / "report.html").read_text(encoding="utf-8")
    assert "mean_over_time(features.spikes)" in page
    assert str(PENALTY["penalty"]) in page


@pytest.mark.verify
def test_an_emulated_ipu_trains_as_the_cpu_does(tmp_path: Path) -> None:
    """With 70 samples the last batches are padded."""
    found = []
    for device in ({"kind": "cpu"}, {"kind": "emulator", "tiles": 8}):
        document = {
            "version": 1,
            "data": {"kind": "digits", "samples": 70, "steps": 8},
            "network": {"layers": LAYERS},
            "training": {"epochs": 1, "batch_size": 32, "loss": LOSS, "regularisers": [PENALTY]},
            "device": device,
        }
        ended = attempt(tmp_path / str(device["kind"]), document)
        assert ended.done["reason"] == "completed", ended.done
        with np.load(str(ended.directory / "weights.npz")) as arrays:
            found.append(dict(arrays))
    for name, array in found[0].items():
        np.testing.assert_allclose(found[1][name], array, rtol=0, atol=1e-3, err_msg=name)
