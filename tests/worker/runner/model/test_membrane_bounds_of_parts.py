"""Bounds of the membranes of layers that run as parts: penalty and gradients of the reference."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.registry.refusals import problems
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_ops.keras.convolutions.conv_network import ConvNetwork
from ipulse_ops.keras.part_network import PartNetwork
from ipulse_ops.keras.trained_network import trained_network
from ipulse_ops.lif.cpu.native import bits_bytes
from ipulse_ops.lif.reference import network_pass
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.profile.memory import saved_for_backward
from tests.worker.runner.model.test_spikes_of_parts import (
    BATCH,
    CHANNELS,
    KINDS,
    STEPS,
    batch,
    document_of,
    model_of,
)
from tests.worker.runner.resolver import resolve

pytestmark = pytest.mark.usefixtures("threads_are_set")

LOW, HIGH, STRENGTH = -0.3, 0.4, 5.0
# Which layers are bounded, and more of the training.
BOUNDS: Dict[str, Tuple[Dict[str, Any], Dict[str, Any]]] = {
    "all": ({"readout": True}, {}),
    "first": ({"layers": [1]}, {}),
    "behind": ({"layers": [2]}, {}),
    "truncated": ({"readout": True}, {"truncate_steps": 5}),
    "equations": ({"layers": [1]}, {}),
}
OVER = f"max(layers[0].membrane - {HIGH}, 0) - max({LOW} - layers[0].membrane, 0)"
PENALTY = {
    "kind": "equations",
    "penalty": f"mean_over_time(mean(square({OVER})))",
    "strength": STRENGTH,
}
LABELS = np.arange(BATCH, dtype=np.int32) % 4
OWN = [name for name in KINDS if name != "dense"]


def document(kind: str, bounds: str, recurrent: bool = False, **changes: Any) -> Dict[str, Any]:
    bound, training = BOUNDS[bounds]
    membranes: Dict[str, Any] = {
        "kind": "membrane",
        "low": LOW,
        "high": HIGH,
        "strength": STRENGTH,
        **bound,
    }
    if bounds == "equations":
        membranes = PENALTY
    return document_of(
        [{**KINDS[kind], "recurrent": recurrent}, {"neurons": 6}],
        training={"epochs": 1, "batch_size": 8, "regularisers": [membranes], **training},
        **changes,
    )


def model(kind: str, bounds: str, recurrent: bool = False, **changes: Any) -> Model:
    return model_of(document(kind, bounds, recurrent, **changes))


def penalised(made: Model) -> Tuple[Any, List[np.ndarray]]:
    """The penalty, and its gradients by all weights, flat."""
    kernels = list(made.net.kernels)
    with tf.GradientTape() as tape:
        out = made.net(*batch(), training=True, seed=7)
        penalty = made._objective.penalty(out, LABELS)
    zeros = [np.zeros(kernel.shape, np.float32) for kernel in kernels]
    gradients = zip(tape.gradient(penalty, kernels), zeros)  # None: the penalty does not read it
    return penalty, [np.ravel(none if each is None else each) for each, none in gradients]


def reference(bounds: str, recurrent: bool = False) -> Tuple[float, List[np.ndarray]]:
    """The same of the dense layer, in float64."""
    known = model("dense", bounds, recurrent)
    network = network_of(known.spec)
    arguments = network, [kernel.numpy() for kernel in known.net.kernels], *batch()
    trace = network_pass.forward(*arguments)
    membranes = [*(each.u for each in trace.layers), trace.membrane]
    bound = BOUNDS[bounds][0]
    bounded = [number - 1 for number in bound.get("layers", (1, 2))]
    bounded += [2] if bound.get("readout") else []
    penalty, grads = 0.0, [np.zeros(each.shape) for each in membranes]
    for at in bounded:
        u = membranes[at]
        over = np.maximum(u - HIGH, 0) - np.maximum(LOW - u, 0)
        penalty += STRENGTH * float(np.square(over).mean())
        grads[at] = 2 * STRENGTH * over / u.size
    found = network_pass.backward(*arguments, trace, grads[-1], grad_u=grads[:-1])
    return penalty, [each.ravel() for each in found.weights]


@pytest.mark.parametrize("device", ["cpu", "emulator"])
@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("kind", OWN)
@pytest.mark.sample(3)
def test_gradients_are_those_of_the_reference(
    kind: str, bounds: str, recurrent: bool, device: str
) -> None:
    on: Dict[str, Any] = {"kind": device, **({"tiles": 8} if device == "emulator" else {})}
    made = model(kind, bounds, recurrent, device=on)
    is_fused = kind == "conv2d" and bounds == "behind" and not recurrent
    assert isinstance(made.net, ConvNetwork if is_fused else PartNetwork)
    penalty, gradients = penalised(made)
    known, known_gradients = reference(bounds, recurrent)
    assert known > 0.01
    np.testing.assert_allclose(penalty, known, rtol=1e-5)
    assert np.abs(known_gradients[0]).max() > 1e-3
    assert len(gradients) == len(known_gradients) == 3 + recurrent
    for one, other in zip(gradients, known_gradients):
        limit = 1e-5 * np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=limit)


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.sample(1)
def test_a_training_step_has_the_penalty_and_an_evaluation_the_same_membrane(kind: str) -> None:
    made = model(kind, "all")
    ids, counts = batch()
    step = made.compute_gradients(ids.astype(np.uint16), counts, LABELS, 1)
    assert step.sums[3] == pytest.approx(BATCH * reference("all")[0], rel=1e-4)
    trained = made.net(ids, counts, training=True, seed=7)
    evaluated = made.forward(ids.astype(np.uint16), counts)
    np.testing.assert_array_equal(trained.membrane, evaluated.membrane)
    resolved = resolve("ExperimentSpec", document(kind, "all"))
    again = trained_network(resolved, made.arrays, threads=1)
    np.testing.assert_array_equal(again(ids, counts, training=False).membrane, trained.membrane)
    # A membrane that is shown has its gradient outside of training, too.
    with tf.GradientTape() as tape:
        out = made.net(ids, counts, training=False)
        loss = tf.reduce_sum(tf.square(out.membranes[0]))
    by_first = tape.gradient(loss, made.net.kernels[0])
    with tf.GradientTape() as tape:
        out = made.net(ids, counts, training=True, seed=7)
        loss = tf.reduce_sum(tf.square(out.membranes[0]))
    assert np.any(by_first)
    np.testing.assert_array_equal(by_first, tape.gradient(loss, made.net.kernels[0]))


@pytest.mark.parametrize(("kind", "states"), [("conv2d", 1), ("equations", 1)])
def test_membranes_are_stored_for_the_backward_pass(kind: str, states: int) -> None:
    """The current, the value of `spike`, the states and the membrane of each step."""
    made = model(kind, "first")
    dense = model("dense", "first")
    fractions = np.ones(2)
    found = saved_for_backward(made.spec, made.limits, fractions)
    without = saved_for_backward(dense.spec, dense.limits, np.array([0.0, 1.0]))
    number = STEPS * 8 * CHANNELS * 4
    of_dense = bits_bytes(STEPS, 8, CHANNELS, CHANNELS, False)
    assert found - without == (3 + states) * number - of_dense


def test_bounds_of_other_layers_run_beside_neurons_without_membranes() -> None:
    digest = "0123456789abcdef" * 4
    op = {"kind": "op", "op": f"pool_op@sha256:{digest}", "neurons": CHANNELS}
    for layers, count in (([2], 0), ([1, 2], 1), (None, 1)):
        bound = {"kind": "membrane", "layers": layers}
        training = {"epochs": 1, "batch_size": 8, "regularisers": [bound]}
        valid = document_of([KINDS["dense"], {"neurons": 6}], training=training)
        resolved = resolve("ExperimentSpec", valid)
        resolved["network"]["layers"][0] = resolve("OpLayerSpec", op)
        pointers = [each.pointer for each in problems(read_spec(resolved))]
        assert pointers == ["/training/regularisers/0/kind"] * count
