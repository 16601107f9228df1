"""Delays of synapses and of senders: exact adjoint, kernels, the same bits everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.lif.connection_delays import ConnectionDelays, drawn_delays
from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.reference import senders
from ipulse_ops.lif.run_options import RunOptions
from ipulse_ops.lif.tensorflow_op import run_network
from ipulse_ops.lif.unsupported import UnsupportedNetwork
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.reference import connection_delays
from tests.ops.lif.smooth import error_and_size_in_a_direction
from tests.ops.lif.test_mutations import mutated
from tests.ops.lif.variants import delayed_network, eventful, with_gradient_only
from tests.ops.strategies import Problem, random_problem

SEED = 9
PER = ("synapse", "neuron")


def proof_holds(module: Any, problem: Problem) -> bool:
    """The gradients of a module, in place of the reference, are the derivatives of the twin."""
    p = problem
    arguments = (p.network, p.weights, p.ids, p.counts)
    trace = module.forward(*arguments, seed=p.seed, dropout_seed=p.seed)
    gradients = (p.grad_membrane, p.grad_spikes, p.grad_u)
    actual = module.backward(*arguments, trace, *gradients, dropout_seed=p.seed)
    error, size = error_and_size_in_a_direction(p, trace, actual)
    return bool(error < 1e-12 * size)


def eventful_problem(per: str, readout: bool, rate: float) -> Problem:
    network = delayed_network(per, readout, rate, reset_gradient="none")
    return with_gradient_only(eventful(network, drops=False)[0])


@pytest.mark.parametrize("rate", [0.0, 0.2])
@pytest.mark.parametrize("readout", [False, True])
@pytest.mark.parametrize("per", PER)
def test_the_reference_is_the_derivative_of_the_smooth_twin(
    per: str, readout: bool, rate: float
) -> None:
    assert proof_holds(reference, eventful_problem(per, readout, rate))


RULES = "ipulse_ops.reference.connection_delays"


@pytest.mark.parametrize(
    ("per", "before", "after"),
    [
        ("neuron", "(by_tap[1] - by_tap[0])", "(by_tap[0] - by_tap[1])"),
        ("neuron", "(1 - rest) * by_tap[0]", "by_tap[0]"),
        ("neuron", "np.stack([whole, whole + 1])", "np.stack([whole, whole])"),
        ("neuron", "longest - 1)", "longest)"),
        ("synapse", "== tap", ">= tap"),
        ("synapse", "by_taps[delay:, :,", "by_taps[: steps - delay, :,"),
        ("synapse", "gradient[: steps - delay, :, sender] += column", "pass"),
    ],
)
def test_the_proof_notices_mistakes(
    per: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = eventful_problem(per, readout=True, rate=0.0)
    if before == "longest - 1)":  # only the longest delay has another whole part
        network = problem.network
        weights = [
            np.full_like(array, 3.0) if shape.role == "delays" else array
            for array, shape in zip(problem.weights, weight_shapes(network))
        ]
        problem = replace(problem, weights=tuple(weights))
    module = mutated(RULES, before, after)
    for name in ("taps_of", "taps_gradient", "delayed_spikes", "by_senders"):
        monkeypatch.setattr(senders, name, getattr(module, name))
    assert not proof_holds(reference, problem)


def arrays(problem: Problem, seed: Any = SEED, **options: Any) -> List[np.ndarray]:
    """Outputs and gradients by the weights, the trained delays and the input slots."""
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
    gradients = [
        tf.zeros_like(array) if gradient is None else gradient
        for array, gradient in zip([*weights, ids], tape.gradient(loss, [*weights, ids]))
    ]
    return [tensor.numpy() for tensor in [*tf.nest.flatten(out), *gradients]]


@pytest.mark.parametrize("rate", [0.0, 0.2])
@pytest.mark.parametrize("readout", [False, True])
@pytest.mark.parametrize("per", PER)
def test_kernels_equal_the_reference(per: str, readout: bool, rate: float) -> None:
    network = delayed_network(per, readout, rate, reset_gradient="none")
    problem = with_gradient_only(random_problem(network, seed=3, steps=9, batch=6))
    kernels, expected = arrays(problem), arrays(problem, backend="numpy")
    assert len(kernels) == len(expected)
    for found, wanted in zip(kernels, expected):
        size = max(np.abs(wanted).max(initial=0), 1e-6)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=2e-5 * size)


@pytest.mark.parametrize("per", PER)
def test_bits_do_not_depend_on_threads_memory_or_cpu(per: str) -> None:
    network = delayed_network(per, True, 0.2, reset_gradient="none")
    problem = with_gradient_only(random_problem(network, seed=3, steps=9, batch=6))
    expected = arrays(problem, threads=1, arch=0)
    for mask in native.kernels().values():
        for options in ({"threads": 1}, {"threads": 3}, {"memory": "recompute"}):
            found = arrays(problem, arch=mask & native.supported_arch(), **options)
            for one, other in zip(found, expected):
                assert one.tobytes() == other.tobytes(), options


@pytest.mark.parametrize("steps", [1, 4])
def test_equal_delays_of_synapses_are_the_delay_of_the_layer(steps: int) -> None:
    layer = LIF(neurons=9, second_threshold=0.5)
    network = Network(inputs=8, layers=(layer,), readout=LeakyReadout(neurons=3), delay=(steps, 0))
    plain = random_problem(network, seed=2, steps=9, batch=4)
    own = replace(layer, delays=ConnectionDelays(5))
    weights = [plain.weights[0], np.full((8, 9), float(steps), np.float32), plain.weights[1]]
    delayed = replace(plain, network=replace(network, layers=(own,)), weights=tuple(weights))
    expected, found = arrays(plain), arrays(delayed)
    del found[-3]  # the gradient by the delays
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_spike_is_divided_between_two_steps() -> None:
    readout = LIF(
        neurons=1, decay=0.0, gain=1.0, threshold=9.0, delays=ConnectionDelays(4, "neuron")
    )
    network = Network(inputs=1, layers=(), readout=readout)
    ids, counts = np.zeros((6, 1, 1), np.int32), np.array([[1], [0], [0], [0], [0], [0]], np.int32)
    for delay, expected in ((1.25, [0, 0.75, 0.25, 0, 0, 0]), (4.0, [0, 0, 0, 0, 1, 0])):
        weights = [np.ones((1, 1), np.float32), np.array([delay], np.float32)]
        membrane = run_network(network, weights, ids, counts).membrane.numpy()
        assert membrane.ravel().tolist() == expected


def test_lists_of_the_op_equal_the_reference() -> None:
    from ipulse_ops.sparse import delayed_spikes

    rng = np.random.Generator(np.random.PCG64(4))
    ids = rng.integers(0, 5, (7, 3, 4)).astype(np.int32)
    counts = rng.integers(0, 5, (7, 3)).astype(np.int32)
    arrivals = rng.integers(-1, 9, (3, 5)).astype(np.int32)
    expected = connection_delays.delayed_spikes(ids, counts, arrivals)
    for found, wanted in zip(delayed_spikes(ids, counts, arrivals), expected):
        np.testing.assert_array_equal(found.numpy(), wanted)
    with pytest.raises(tf.errors.InvalidArgumentError, match="ids"):
        delayed_spikes(ids + 5, counts, arrivals)


def test_delays_are_drawn_from_the_whole_range() -> None:
    synapses = drawn_delays(ConnectionDelays(3), 1, 0, 50, 41)
    assert sorted(set(synapses.ravel().tolist())) == [0, 1, 2, 3]
    senders = drawn_delays(ConnectionDelays(3, "neuron"), 1, 0, 400, 41)
    assert senders.shape == (400,)
    assert 0 <= senders.min() < 0.1 < 2.9 < senders.max() <= 3
    assert not np.array_equal(synapses, drawn_delays(ConnectionDelays(3), 1, 1, 50, 41))


def test_ipus_refuse_them() -> None:
    readout = LeakyReadout(neurons=3, delays=ConnectionDelays(3))
    network = Network(inputs=4, layers=(LIF(neurons=5),), readout=readout)
    problem = random_problem(network, seed=3, steps=4, batch=2)
    with pytest.raises(UnsupportedNetwork, match="delays"):
        arrays(problem, None, backend="ipu")


@pytest.mark.parametrize(
    "fields", [{"longest": 0}, {"longest": 10_001}, {"longest": 2, "per": "layer"}]
)
def test_fields_out_of_range_are_refused(fields: Any) -> None:
    for make in (lambda: ConnectionDelays(**fields), lambda: LIF(neurons=2, delays=fields)):
        with pytest.raises(ValueError, match=r"longest|per"):
            make()


def test_too_many_senders_are_refused() -> None:
    readout = LIF(neurons=2, delays=ConnectionDelays(10_000))
    with pytest.raises(ValueError, match="senders"):
        Network(inputs=2000, layers=(), readout=readout)
