"""Networks with dropout and residual additions: kernels, reference, the same bits everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.run_options import RunOptions
from ipulse_ops.lif.tensorflow_op import run_network
from ipulse_ops.lif.unsupported import UnsupportedNetwork
from tests.ops.lif.variants import residual_network, varied, with_gradient_only
from tests.ops.strategies import Problem, random_problem

SEED = 9
FIELDS: Dict[str, Dict[str, Any]] = {
    "plain": {},
    "everything": {"recurrent": True, "bias": True, "synapse": True, "adapts": True},
    "capacity": {"capacity": 4, "policy": "top"},
}


def dropping(network: Network, rates: Any = (0.25, 0.5, 0.5)) -> Network:
    first, *others = network.layers
    return replace(
        network,
        layers=(replace(first, dropout=rates[0]), *(replace(x, dropout=rates[1]) for x in others)),
        readout=replace(network.readout, dropout=rates[2]),
    )


def problem_of(
    fields: str = "plain", readout: bool = False, rates: Any = (0.25, 0.5, 0.5), **network: Any
) -> Problem:
    made = varied(2, True, readout, FIELDS[fields], reset_gradient="none", **network)
    return with_gradient_only(random_problem(dropping(made, rates), seed=3, steps=9, batch=6))


def arrays(problem: Problem, seed: Optional[int] = SEED, **options: Any) -> List[np.ndarray]:
    """Outputs and gradients by the weights and the input slots."""
    weights = [tf.constant(array) for array in problem.weights]
    ids = tf.constant(problem.ids, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch([*weights, ids])
        out = run_network(
            *(problem.network, weights, ids, problem.counts),
            RunOptions(dropout_seed=seed, **options),
        )
        loss = tf.reduce_sum(out.membrane * problem.grad_membrane)
        for slots, grad in zip(out.spike_ids, problem.grad_spikes):
            loss += tf.reduce_sum(slots * grad)
        for membranes, grad in zip(out.membranes, problem.grad_u):
            loss += tf.reduce_sum(membranes * grad)
    found = [*tf.nest.flatten(out), *tape.gradient(loss, [*weights, ids])]
    return [tensor.numpy() for tensor in found]


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("readout", [False, True])
@pytest.mark.parametrize("fields", FIELDS)
def test_kernels_equal_the_reference(fields: str, readout: bool, delay: int) -> None:
    problem = problem_of(fields, readout, delay=delay)
    kernels = arrays(problem, return_membranes=True)
    reference = arrays(problem, return_membranes=True, backend="numpy")
    assert len(kernels) == len(reference)
    for found, expected in zip(kernels, reference):
        size = max(np.abs(expected).max(initial=0), 1e-6)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-5 * size)


@pytest.mark.parametrize("rates", [(0, 0, 0, 0), (0.2, 0, 0.5, 0.3)], ids=["whole", "dropout"])
@pytest.mark.parametrize("readout", [False, True])
@pytest.mark.parametrize("delay", [0, 1])
def test_residual_additions_equal_the_reference(
    delay: int, readout: bool, rates: Tuple[float, ...]
) -> None:
    network = residual_network(readout, rates, delay=delay, reset_gradient="none")
    problem = with_gradient_only(random_problem(network, seed=3, steps=9, batch=6))
    kernels = arrays(problem, return_membranes=True)
    reference = arrays(problem, return_membranes=True, backend="numpy")
    for found, expected in zip(kernels, reference):
        size = max(np.abs(expected).max(initial=0), 1e-6)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-5 * size)
    for threads in (1, 3):
        for found, wanted in zip(arrays(problem, threads=threads, arch=0), arrays(problem)):
            assert found.tobytes() == wanted.tobytes()


def test_rounded_weights_equal_the_reference() -> None:
    kernels = arrays(problem_of(), weights_dtype="bfloat16")
    reference = arrays(problem_of(), weights_dtype="bfloat16", backend="numpy")
    np.testing.assert_allclose(kernels[0], reference[0], rtol=1e-3, atol=1e-4)


def test_bits_do_not_depend_on_threads_memory_or_cpu() -> None:
    problem = problem_of("everything", readout=True)
    expected = arrays(problem, threads=1, arch=0)
    for options in (
        *(
            {"threads": threads, "arch": mask}
            for mask in native.kernels().values()
            for threads in (1, 3)
        ),
        {"memory": "recompute"},
    ):
        if "arch" in options:
            options["arch"] &= native.supported_arch()
        for found, wanted in zip(arrays(problem, **options), expected):
            assert found.tobytes() == wanted.tobytes(), options


def test_layers_that_keep_every_spike_learn_as_without_dropout() -> None:
    """The readout drops; gradients by the layers before differ, their spikes do not."""
    problem = problem_of(rates=(0.0, 0.0, 0.5))
    plain = replace(problem, network=dropping(problem.network, (0.0, 0.0, 0.0)))
    whole, found = arrays(plain), arrays(problem)
    assert not np.array_equal(found[0], whole[0])
    for number in (1, 2, 3, 4):
        np.testing.assert_array_equal(found[number], whole[number])


def test_a_dropped_neuron_is_not_heard_and_the_rest_is_louder() -> None:
    """Two channels spike once; the membrane shows which of them were kept."""
    network = Network(
        inputs=2,
        layers=(),
        readout=LIF(neurons=1, decay=0.5, gain=2.0, threshold=100.0, dropout=0.5),
    )
    ids = np.tile(np.arange(2, dtype=np.int32), (1, 200, 1))
    counts = np.full((1, 200), 2, np.int32)
    weights = [np.array([[1.0], [10.0]], np.float32)]
    dropped = run_network(
        network, weights, ids, counts, RunOptions(dropout_seed=1)
    ).membrane.numpy()
    assert set(dropped.ravel()) == {0.0, 2.0, 20.0, 22.0}
    evaluated = run_network(network, weights, ids, counts).membrane.numpy()
    assert set(evaluated.ravel()) == {11.0}


def test_layers_draw_different_offsets() -> None:
    """Two equal layers with the policy cyclic, each run by itself."""
    layer = LIF(neurons=30, decay=0.0, threshold=0.5, capacity=1, policy="cyclic", dropout=0.01)
    network = Network(inputs=30, layers=(layer, layer), readout=LeakyReadout(neurons=1))
    ids, counts = np.zeros((20, 4, 1), np.int32), np.ones((20, 4), np.int32)
    weights = [np.ones((30, 30), np.float32)] * 2 + [np.ones((30, 1), np.float32)]
    out = run_network(network, weights, ids, counts, RunOptions(dropout_seed=0))
    first, second = (np.asarray(slots) for slots in out.spike_ids)
    assert not np.array_equal(first, second)
    again = run_network(network, weights, ids, counts, RunOptions(dropout_seed=0))
    np.testing.assert_array_equal(second, again.spike_ids[1])


def test_ipus_refuse_it() -> None:
    problem = problem_of()
    with pytest.raises(UnsupportedNetwork, match="dropped on ipu"):
        arrays(problem, backend="ipu")


@pytest.mark.parametrize("rate", [-0.1, 1.0, True])
def test_rates_out_of_range_are_refused(rate: Any) -> None:
    for kind in (LIF, LeakyReadout):
        with pytest.raises(ValueError, match="dropout"):
            kind(neurons=2, dropout=rate)
