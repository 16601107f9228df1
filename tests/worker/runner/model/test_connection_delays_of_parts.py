"""Delays of the connections to equations and convolutions: those of the reference."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.spec.start_weights import start_shapes
from ipulse_ops.keras.trained_network import trained_network
from ipulse_ops.lif.reference.tensorflow_op import run_reference
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.model.weight_names import is_frozen
from tests.worker.runner.model.test_spikes_of_parts import (
    CHANNELS,
    KINDS,
    STEPS,
    batch,
    document_of,
    model_of,
    run,
)
from tests.worker.runner.resolver import resolve
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")
DELAYS: Dict[str, Dict[str, Any]] = {
    "synapse": {"longest": 3},
    "neuron": {"longest": 3, "per": "neuron"},
    "rounded": {"longest": 3, "per": "neuron", "rounded": True},
}


def document(kind: str, delays: str, **changes: Any) -> Dict[str, Any]:
    layers = [{**KINDS[kind], "delays": DELAYS[delays]}, {"neurons": 6}]
    return document_of(layers, **changes)


def model(kind: str, delays: str, **changes: Any) -> Model:
    made = model_of(document(kind, delays, **changes))
    rng = np.random.default_rng(8)
    size = (CHANNELS, CHANNELS) if delays == "synapse" else (CHANNELS,)
    steps = rng.integers(0, 4, size) if delays == "synapse" else rng.uniform(0, 3, size)
    shape = start_shapes(made.spec)["layer_1_delays"]
    made.assign({"layer_1_delays": steps.astype(np.float32).reshape(shape)})
    return made


def reference(delays: str) -> List[Any]:
    """Outputs and flat gradients of the dense layer in float64."""
    spec = spec_from(document("dense", delays))
    arrays = [tf.Variable(kernel) for kernel in model("dense", delays).net.kernels]
    with tf.GradientTape() as tape:
        out = run_reference(network_of(spec), arrays, *batch())
        steps = np.linspace(-1, 1, STEPS, dtype=np.float32)[:, None, None]
        loss = tf.reduce_sum(out.membrane * steps)
    gradients = [each.numpy().ravel() for each in tape.gradient(loss, arrays)]
    return [*(each.numpy()[..., 0] for each in out.spike_counts), out.membrane.numpy(), *gradients]


def results(made: Model) -> List[np.ndarray]:
    """Outputs and flat gradients by all weights; 0 by delays that are not trained."""
    kernels = list(made.net.kernels)
    with tf.GradientTape() as tape:
        out = made.net(*batch(), training=True, seed=7)
        steps = np.linspace(-1, 1, STEPS, dtype=np.float32)[:, None, None]
        loss = tf.reduce_sum(out.membrane * steps)
    found = [*(each.numpy()[..., 0] for each in out.spike_counts), out.membrane.numpy()]
    for kernel, by_kernel in zip(kernels, tape.gradient(loss, kernels)):
        found.append(np.zeros(kernel.shape) if by_kernel is None else by_kernel.numpy())
    return found


@pytest.mark.parametrize("device", ["cpu", "emulator"])
@pytest.mark.parametrize("delays", ["synapse", "neuron"])
@pytest.mark.parametrize("kind", [name for name in KINDS if name != "dense"])
def test_gradients_are_those_of_the_reference(kind: str, delays: str, device: str) -> None:
    on: Dict[str, Any] = {"kind": device, **({"tiles": 8} if device == "emulator" else {})}
    made = model(kind, delays, device=on)
    for one, other in zip(results(made), reference(delays)):
        limit = 1e-5 * np.abs(other).max()
        np.testing.assert_allclose(one.reshape(other.shape), other, rtol=1e-4, atol=limit)
    assert is_frozen(made.spec, "layer_1_delays") == (delays == "synapse")


@pytest.mark.parametrize("delays", ["synapse", "neuron"])
def test_a_kernel_as_large_as_the_image_is_a_dense_layer(delays: str) -> None:
    """Behind another convolution the channels are last; each has one trained delay."""
    first = {"kind": "conv2d", "filters": 2, "kernel_size": 1, "threshold": 0.1}
    found = []
    for kind in ({"kind": "conv2d", "filters": 6, "kernel_size": 2}, {"neurons": 6}):
        layer = {**kind, "threshold": 0.1, "delays": DELAYS[delays]}
        written = document_of([first, layer, {"neurons": 6, "threshold": 0.1}])
        made = model_of({**written, "data": {**written["data"], "shape": [2, 2, 2]}})
        shape = start_shapes(made.spec)["layer_2_delays"]
        steps = np.random.default_rng(8).integers(0, 4, 48).astype(np.float32)
        if delays == "neuron":
            steps = np.tile(np.float32([0.25, 2.5]), shape[0] // 2)
        made.assign({"layer_2_delays": steps.reshape(shape)})
        result = results(made)
        assert all(np.any(each) for each in result[: 3 + 1])
        if delays == "neuron":  # of a channel: the sum of those of its pixels
            at = 4 + [kernel.shape for kernel in made.net.kernels].index(shape)
            result[at] = result[at].reshape(-1, 2).sum(axis=0)
        found.append([each.ravel() for each in result])
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


@pytest.mark.parametrize("kind", ["conv2d", "equations"])
def test_rounded_delays_are_whole_outside_of_training(kind: str) -> None:
    made, twin = model(kind, "rounded"), model(kind, "neuron")
    (trained, *_), _ = run(made, batch())
    (known, *_), _ = run(twin, batch())
    np.testing.assert_array_equal(trained, known)
    steps = twin.net.kernels[1]
    steps.assign(np.round(steps.numpy()))
    found = made.net(*batch(), training=False).membrane
    np.testing.assert_array_equal(found, twin.net(*batch(), training=False).membrane)
    resolved = resolve("ExperimentSpec", document(kind, "rounded"))
    again = trained_network(resolved, made.arrays, threads=1)
    np.testing.assert_array_equal(again(*batch(), training=False).membrane, found)
