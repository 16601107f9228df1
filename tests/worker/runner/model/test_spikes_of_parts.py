"""Residual additions to and dropout of layers that run as parts: those of dense LIF layers."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.spec.start_weights import start_shapes
from ipulse_ops.reference.dropout import kept_senders, received_spikes
from ipulse_worker.runner.model.model import Model
from tests.equations import lif
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")

STEPS, BATCH, CHANNELS = 12, 5, 8
KINDS: Dict[str, Dict[str, Any]] = {
    "dense": {"neurons": CHANNELS, "decay": 0.9},
    # An image of one pixel: each filter is a neuron of all channels.
    "conv2d": {"kind": "conv2d", "filters": CHANNELS, "kernel_size": 1, "decay": 0.9},
    "equations": {"kind": "equations", "neurons": CHANNELS, "neuron": lif(gain=1.0)},
    "conv2d of equations": {
        "kind": "conv2d",
        "filters": CHANNELS,
        "kernel_size": 1,
        "neuron": lif(gain=1.0),
    },
}
DATA = {
    "kind": "npz",
    "name": "small",
    "channels": CHANNELS,
    "classes": 4,
    "steps": STEPS,
    "shape": [CHANNELS, 1, 1],
}
Batch = Tuple[np.ndarray, np.ndarray]


def batch() -> Batch:
    rng = np.random.default_rng(4)
    ids = rng.integers(0, CHANNELS, (STEPS, BATCH, 4)).astype(np.int32)
    return ids, rng.integers(0, 5, (STEPS, BATCH)).astype(np.int32)


def document_of(layers: List[Dict[str, Any]], **changes: Any) -> Dict[str, Any]:
    training = {"epochs": 1, "batch_size": 8}
    return {
        "version": 1,
        "data": DATA,
        "network": {"layers": layers},
        "training": training,
        **changes,
    }


def residual(kind: str) -> List[Dict[str, Any]]:
    """Three layers of a kind, and dense ones; two receive spikes of earlier layers."""
    layer = KINDS[kind]
    behind = {"neurons": CHANNELS, "residual": [1, 2]}
    return [layer, layer, {**layer, "residual": [1]}, behind, {"neurons": 6}]


def model_of(document: Dict[str, Any]) -> Model:
    """The model with weights that depend on their numbers alone, multiples of 2^-6."""
    spec = spec_from(document)
    model = Model(spec, 4, 1)
    for name, shape in start_shapes(spec).items():
        rng = np.random.default_rng(int(name[-1]) if name[-1].isdigit() else 9)
        drawn = np.round(rng.normal(0.1, 0.5, int(np.prod(shape))) * 64) / 64
        model.assign({name: drawn.reshape(shape).astype(np.float32)})
    return model


def run(model: Model, spikes: Batch, seed: Any = 7) -> Tuple[List[np.ndarray], List[np.ndarray]]:
    """Spike counts and the membrane, and gradients by all weights, flat."""
    with tf.GradientTape() as tape:
        out = model.net(*spikes, training=True, seed=seed)
        steps = np.linspace(-1, 1, STEPS, dtype=np.float32)[:, None, None]
        loss = tf.reduce_sum(out.membrane * steps)
    gradients = tape.gradient(loss, list(model.net.kernels))
    found = [each.numpy()[..., 0] for each in out.spike_counts]
    return [*found, out.membrane.numpy()], [each.numpy().ravel() for each in gradients]


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "dense"])
def test_residual_additions_are_those_of_dense_layers(kind: str) -> None:
    found, gradients = run(model_of(document_of(residual(kind))), batch())
    known, known_gradients = run(model_of(document_of(residual("dense"))), batch())
    for one, other in zip(found, known):
        assert np.any(other)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
    for one, other in zip(gradients, known_gradients):
        assert np.any(other)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "dense"])
def test_dropout_ignores_the_senders_of_the_reference(kind: str) -> None:
    """With half of the senders weights are doubled: the same bits, on spikes without the others."""
    layers = [KINDS[kind], {"neurons": 6}]
    model = model_of(document_of([{**KINDS[kind], "dropout": 0.5}, {"neurons": 6}]))
    found, gradients = run(model, batch())
    kept = kept_senders(7, 0, BATCH, CHANNELS, 0.5)
    assert 0 < kept.sum() < kept.size
    twin = model_of(document_of(layers))
    twin.net.kernels[0].assign(2 * twin.net.kernels[0])
    known, known_gradients = run(twin, received_spikes(*batch(), kept))
    known_gradients[0] = 2 * known_gradients[0]
    for one, other in zip([*found, *gradients], [*known, *known_gradients]):
        assert np.any(other)
        np.testing.assert_array_equal(one, other)
    evaluated = model.net(*batch(), training=False).membrane
    whole = model_of(document_of(layers)).net(*batch(), training=False).membrane
    np.testing.assert_array_equal(evaluated, whole)


@pytest.mark.parametrize("kind", ["conv2d", "equations"])
def test_weights_are_rounded_to_bfloat16(kind: str) -> None:
    layers = [KINDS[kind], {"neurons": 6}]
    rounding = {"kind": "cpu", "weights_dtype": "bfloat16"}
    found, twin = model_of(document_of(layers, device=rounding)), model_of(document_of(layers))
    for model in (found, twin):
        for kernel in model.net.kernels:
            kernel.assign(1.003 * kernel)
    (one, by_one), (exact, _) = run(found, batch()), run(twin, batch())
    assert np.any(one[-1] != exact[-1])
    for kernel in twin.net.kernels:
        kernel.assign(tf.cast(tf.cast(kernel, tf.bfloat16), tf.float32))
    other, by_other = run(twin, batch())
    for left, right in zip([*one, *by_one], [*other, *by_other]):
        np.testing.assert_array_equal(left, right)


def test_dropout_of_parts_without_a_seed_is_refused() -> None:
    model = model_of(document_of([{**KINDS["conv2d"], "dropout": 0.5}]))
    with pytest.raises(ValueError, match="with a seed"):
        model.net(*batch(), training=True)


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", [name for name in KINDS if name != "dense"])
def test_tiles_add_and_ignore_the_same_spikes(kind: str) -> None:
    layers = residual(kind)
    layers[1] = {**layers[1], "dropout": 0.5}
    tiles = {"kind": "emulator", "tiles": 8}
    found, gradients = run(model_of(document_of(layers, device=tiles)), batch())
    known, known_gradients = run(model_of(document_of(layers)), batch())
    for one, other in zip([*found, *gradients], [*known, *known_gradients]):
        assert np.any(other)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())
