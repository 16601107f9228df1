"""Recurrent convolutions in jobs: on an image of one pixel they are recurrent dense layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.spec.start_weights import start_shapes
from ipulse_ops.keras.trained_network import trained_network
from ipulse_ops.lif.reference.tensorflow_op import run_reference
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.training.synaptic_operations import OperationCounter
from tests.equations import lif
from tests.worker.runner.attempts import attempt
from tests.worker.runner.model.test_equations import weights
from tests.worker.runner.model.test_spikes_of_parts import (
    KINDS,
    STEPS,
    batch,
    document_of,
    model_of,
)
from tests.worker.runner.resolver import resolve
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")
KERNELS = {"conv2d": 1, "conv2d of equations": 3}


def document(kind: str, **changes: Any) -> Dict[str, Any]:
    """Behind a kernel of one tap, or of nine of which one meets the image."""
    slots = {name: changes.pop(name) for name in ("capacity", "policy") if name in changes}
    layer = {**KINDS[kind], "recurrent": True, "bias": True, **slots}
    if kind in KERNELS:
        layer.update(kernel_size=KERNELS[kind], padding="same")
    return document_of([layer, {"neurons": 6}], **changes)


def model(kind: str, **changes: Any) -> Model:
    """The model with the weights of the dense layer, and any where no tap meets the image."""
    made = model_of(document(kind, **changes))
    known = model_of(document("dense")).arrays
    shapes = start_shapes(made.spec)
    for name in ("layer_1", "layer_1_recurrent"):
        array = np.full(shapes[name], 7.0, np.float32)
        middle = [side // 2 for side in shapes[name][:-2]]
        array[tuple(middle)] = known[name]
        made.assign({name: array})
    made.assign({"layer_1_bias": known["layer_1_bias"]})
    return made


def results(made: Model) -> List[np.ndarray]:
    """Spike counts, the membrane, and the gradients of the taps that meet the image."""
    kernels = list(made.net.kernels)
    with tf.GradientTape() as tape:
        out = made.net(*batch(), training=True, seed=7)
        steps = np.linspace(-1, 1, STEPS, dtype=np.float32)[:, None, None]
        loss = tf.reduce_sum(out.membrane * steps)
    found = [*(each.numpy()[..., 0] for each in out.spike_counts), out.membrane.numpy()]
    for gradient in tape.gradient(loss, kernels):
        array = gradient.numpy()
        while array.ndim > 2:
            rest = np.delete(array, len(array) // 2, axis=0)
            assert not np.any(rest)
            array = array[len(array) // 2]
        found.append(array)
    return found


def reference() -> List[np.ndarray]:
    """Outputs and gradients of the dense layer in float64."""
    made = model("dense")
    arrays = [tf.Variable(kernel) for kernel in made.net.kernels]
    with tf.GradientTape() as tape:
        out = run_reference(network_of(made.spec), arrays, *batch())
        steps = np.linspace(-1, 1, STEPS, dtype=np.float32)[:, None, None]
        loss = tf.reduce_sum(out.membrane * steps)
    gradients = [each.numpy() for each in tape.gradient(loss, arrays)]
    return [*(each.numpy()[..., 0] for each in out.spike_counts), out.membrane.numpy(), *gradients]


@pytest.mark.parametrize("device", ["cpu", "emulator"])
@pytest.mark.parametrize("kind", KERNELS)
def test_on_one_pixel_gradients_are_those_of_the_reference(kind: str, device: str) -> None:
    on: Dict[str, Any] = {"kind": device, **({"tiles": 8} if device == "emulator" else {})}
    for one, other in zip(results(model(kind, device=on)), reference()):
        assert np.any(other)
        limit = 1e-5 * np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=limit)


@pytest.mark.parametrize("policy", ["index", "cyclic", "top"])
@pytest.mark.parametrize("kind", [*KERNELS, "equations"])
@pytest.mark.sample(3)
def test_with_a_capacity_only_spikes_in_slots_are_received(kind: str, policy: str) -> None:
    """As in recurrent dense layers, of which the fused kernel is compared with the reference."""
    slots = {"capacity": 2, "policy": policy}
    found, known = (results(model(each, **slots)) for each in (kind, "dense"))
    assert not np.array_equal(known[0], results(model("dense"))[0])
    for one, other in zip(found, known):
        assert np.any(other)
        limit = 1e-5 * np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=limit)


@pytest.mark.parametrize("neuron", [None, lif()])
def test_a_job_trains_the_kernel_and_its_network_is_a_keras_layer(
    neuron: Any, tmp_path: Path
) -> None:
    data = {"kind": "digits", "samples": 64, "steps": 12}
    layer = {"kind": "conv2d", "filters": 3, "kernel_size": 3, "recurrent": True, "neuron": neuron}
    pool = {"kind": "sum", "pool_size": 2}
    written = {**document_of([{**layer, "pool": pool}, {"neurons": 8}]), "data": data}
    arrays = weights(attempt(tmp_path / "job", written))
    assert arrays["layer_1_recurrent"].shape == (3, 3, 3, 3)
    made = trained_network(resolve("ExperimentSpec", written), arrays, threads=1)
    whole = Model(spec_from(written), 9, 1)
    whole.assign(arrays)
    ids = np.random.default_rng(4).integers(0, 64, (12, 3, 9)).astype(np.uint16)
    counts = np.full((12, 3), 9, np.int32)
    found = whole.forward(ids, counts)
    assert np.any(found.spike_counts[0])
    np.testing.assert_array_equal(made(ids, counts, training=False).membrane, found.membrane)


def test_operations_count_the_taps_within_the_image() -> None:
    data = {"kind": "digits", "samples": 64, "steps": 12}
    layer = {"kind": "conv2d", "filters": 2, "kernel_size": 3, "recurrent": True, "pool": {}}
    counter = OperationCounter(spec_from({**document_of([layer]), "data": data}))
    (own,) = [each for each in counter.connections if each.matrix == "layer_1_recurrent"]
    planes = own.fan_out.reshape(6, 6, 2)
    assert (planes[0, 0] == 4 * 2).all()
    assert (planes[0, 1] == 6 * 2).all()
    assert (planes[3, 3] == 9 * 2).all()
    # The last neuron spikes once, and nothing else does.
    ids, counts = np.zeros((12, 1, 1), np.int64), np.zeros((12, 1), np.int64)
    sent = counts.copy()
    sent[3] = 1
    counter.add([(ids, counts), (np.full_like(ids, 71), sent)])
    assert own.by_step.tolist() == [0, 0, 0, 0, 4 * 2, *[0] * 7]
