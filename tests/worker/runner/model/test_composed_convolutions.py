"""Convolutions with features of dense LIF layers: on an image of one pixel they are those."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.spec.start_weights import start_shapes
from ipulse_ops.keras.convolutions.composed import ComposedConvolution
from ipulse_ops.keras.trained_network import trained_network
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.weight_names import trained_names
from tests.worker.runner.model.test_spikes_of_parts import CHANNELS, STEPS, batch, document_of
from tests.worker.runner.resolver import resolve
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")

TRAINED = ["decay", "threshold", "synapse_decay", "adaptation_decay", "adaptation_strength"]
ADAPTIVE = {"strength": 0.3, "decay": 0.8}
BY_FILTER = [0.5 + number / 20 for number in range(CHANNELS)]
CASES: Dict[str, Tuple[Dict[str, Any], Dict[str, Any], Dict[str, Any]]] = {
    "adaptation": ({"adaptation": ADAPTIVE}, {"trainable": TRAINED[:2] + TRAINED[3:]}, {}),
    "detached": ({"adaptation": {**ADAPTIVE, "detach": True}}, {"reset_gradient": "term"}, {}),
    "all": (
        {"adaptation": ADAPTIVE, "synapse_decay": 0.3},
        {"trainable": TRAINED, "reset": "subtract", "reset_gradient": "none"},
        {},
    ),
    "all of tiles": (
        {"adaptation": ADAPTIVE, "synapse_decay": 0.3},
        {"trainable": TRAINED, "reset": "subtract", "reset_gradient": "term"},
        {},
    ),
    "by filter": ({"decay": BY_FILTER, "threshold": BY_FILTER}, {"reset": "subtract"}, {}),
    "truncated": (
        {"bias": True},
        {"reset": "subtract", "reset_gradient": "term"},
        {"truncate_steps": 3},
    ),
    "no reset": (
        {"synapse_decay": 0.5, "second_threshold": 0.2},
        {"reset": "none", "surrogate": {"name": "table", "values": [0, 0.5, 1, 0.3], "width": 0.7}},
        {},
    ),
    "second threshold": (
        {"synapse_decay": 0.5, "second_threshold": 0.2, "adaptation": ADAPTIVE},
        {},
        {},
    ),
    "capacity": ({"capacity": 3, "second_threshold": 0.2}, {"reset": "subtract"}, {}),
    "highest": ({"capacity": 3, "policy": "top"}, {"trainable": ["decay"]}, {}),
    "standardised": (
        {"standardised": True, "quantisation": {}, "threshold": 0.1},
        {"trainable": ["decay", "threshold"]},
        {},
    ),
}


def both(name: str, **device: Any) -> List[Dict[str, Any]]:
    """A convolution and the dense layer that it is, behind another of the same kind."""
    layer, network, training = CASES[name]
    found: List[Dict[str, Any]] = []
    for kind in ({"kind": "conv2d", "filters": CHANNELS, "kernel_size": 1}, {"neurons": CHANNELS}):
        layers = [{**kind, **layer}, {**kind, **layer}, {"neurons": 6}]
        document = document_of(layers, **device)
        document["network"].update(network)
        document["training"].update(training)
        found.append(document)
    return found


def run(document: Dict[str, Any]) -> Tuple[List[np.ndarray], Dict[str, np.ndarray], Model]:
    """Spike counts and the membrane, and gradients by name, flat."""
    spec = spec_from(document)
    model = Model(spec, 4, 1)
    shapes = start_shapes(spec)
    arrays: Dict[str, np.ndarray] = {}
    for name in [name for name in shapes if name in ("layer_1", "layer_2", "layer_3", "readout")]:
        rng = np.random.default_rng(len(arrays))
        drawn = np.round(rng.normal(0.5, 0.5, int(np.prod(shapes[name]))) * 64) / 64
        arrays[name] = drawn.reshape(shapes[name]).astype(np.float32)
    model.assign(arrays)
    with tf.GradientTape() as tape:
        out = model.net(*batch(), training=True, seed=1)
        steps = np.linspace(-1, 1, STEPS, dtype=np.float32)[:, None, None]
        loss = tf.reduce_sum(out.membrane * steps)
    gradients = tape.gradient(loss, model._variables)
    names = trained_names(spec)
    found = [each.numpy()[..., 0] for each in out.spike_counts]
    found += [each.numpy() for each in out.dropped if np.any(each.numpy())]
    return (
        [*found, out.membrane.numpy()],
        {name: each.numpy().ravel() for name, each in zip(names, gradients)},
        model,
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(1)
def test_they_compute_what_dense_layers_do(name: str) -> None:
    (found, gradients, model), (known, known_gradients, _) = map(run, both(name))
    assert isinstance(model.net.parts[0], ComposedConvolution)
    assert len(found) == len(known)
    for one, other in zip(found, known):
        assert np.any(other)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)
    assert sorted(gradients) == sorted(known_gradients)
    for each, other in known_gradients.items():
        assert np.any(other), each
        limit = 1e-4 * np.abs(other).max()
        np.testing.assert_allclose(gradients[each], other, rtol=1e-3, atol=limit, err_msg=each)


def test_slots_begin_at_the_neuron_of_dense_layers() -> None:
    """The policy cyclic draws the numbers of the first layer of a network."""
    cyclic = {"capacity": 2, "policy": "cyclic"}
    kinds = [{"kind": "conv2d", "filters": CHANNELS, "kernel_size": 1}, {"neurons": CHANNELS}]
    (found, _, _), (known, _, _) = (
        run(document_of([{**kind, **cyclic}, {"neurons": 6}])) for kind in kinds
    )
    assert len(known) == 4  # some spikes are dropped
    for one, other in zip(found, known):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["all of tiles", "second threshold", "truncated", "capacity"])
@pytest.mark.sample(1)
def test_on_tiles_they_are_those_of_the_cpu(name: str) -> None:
    document, _ = both(name)
    known, known_gradients, _ = run(document)
    tiles = {"kind": "emulator", "tiles": 8}
    found, gradients, _ = run({**document, "device": tiles})
    for one, other in zip(found, known):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)
    for each, other in known_gradients.items():
        limit = 1e-4 * np.abs(other).max()
        np.testing.assert_allclose(gradients[each], other, rtol=1e-3, atol=limit, err_msg=each)


def test_their_constants_are_those_of_the_trained_network() -> None:
    document, _ = both("all")
    _, _, model = run(document)
    rng = np.random.default_rng(3)
    arrays = {
        name: array + 0.01 * rng.random(array.shape).astype(np.float32)
        for name, array in model.arrays.items()
    }
    model.assign(arrays)
    made = trained_network(resolve("ExperimentSpec", document), arrays, threads=1)
    membrane = model.forward(*batch()).membrane
    assert np.any(membrane)
    np.testing.assert_array_equal(made(*batch(), training=False).membrane, membrane)
