"""The compiled kernel of equations, compared with their evaluation in NumPy."""

from __future__ import annotations

from random import Random
from typing import Optional

import numpy as np
import pytest

from ipulse_core.equations.neuron import NeuronEquations
from ipulse_ops.equations.kernel import EquationsKernel, stacked
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.reference import equations_adjoint, run_equations
from ipulse_ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Surrogate
from tests.equations import lif, neuron_document, neuron_of, random_neuron
from tests.ops.flushing import flushing_to_zero, needs_flushing


def check(
    neuron: NeuronEquations,
    surrogate: Surrogate = SuperSpike(),
    truncate: int = 0,
    seed: int = 0,
    is_recurrent: bool = False,
    gate: Optional[float] = None,
) -> None:
    layer = LayerEquations(neuron, 3, surrogate, truncate or None, is_recurrent, gate)
    rng = np.random.default_rng(seed)
    current = rng.normal(0.5, 1.5, (9, 5, 3)).astype(np.float32)
    by_spikes = rng.normal(size=current.shape).astype(np.float32)
    # Each neuron receives one number at most: sums of two have one rounding in any order.
    sent = np.zeros((3, 3), np.float32)
    sent[[0, 1, 2], [1, 2, 0]] = rng.normal(size=3)
    own = [sent] if is_recurrent else []
    values = layer.values()
    wanted = run_equations(layer, values, current, recurrent=sent if is_recurrent else None)
    grads = equations_adjoint(layer, values, wanted, by_spikes, *own)
    for threads, cpu in ((1, None), (3, "scalar")):
        kernel = EquationsKernel(layer, threads, cpu)
        parameters = stacked(layer, values)
        found = kernel.forward(parameters, current, True, *own)
        assert found.first_bad_step == -1
        # exp and tanh are rounded from float64 in both: these are equal bits.
        np.testing.assert_array_equal(found.x, wanted.x)
        np.testing.assert_array_equal(found.states.transpose(0, 2, 1, 3), wanted.states)
        np.testing.assert_array_equal(found.current, wanted.current)
        by_current, sums, bad = kernel.backward(
            parameters, found.current, found.states, by_spikes, *own
        )
        assert bad == -1
        np.testing.assert_array_equal(by_current, grads.current)
        for parameter, total in zip(neuron.trained, sums):
            expected = grads.parameters[parameter.name]
            total = total if parameter.is_per_neuron else total.sum(keepdims=True)
            np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-12)
        listed = kernel.spikes(parameters, current, True, *own)
        carries = wanted.x > (-np.inf if gate is None else np.float32(gate))
        rank = np.where(wanted.x > 0, 0, np.where(carries, 1, 2))
        order = np.argsort(rank, axis=2, kind="stable")
        filled = np.arange(3) < carries.sum(axis=2)[..., None]
        np.testing.assert_array_equal(listed.ids, np.where(filled, order, 0))
        np.testing.assert_array_equal(listed.counts[..., 1], carries.sum(axis=2))
        assert gate is None or 0 < carries.mean() < 1
        np.testing.assert_array_equal(listed.counts[..., 0], (wanted.x > 0).sum(axis=2))
        by_slots = np.take_along_axis(by_spikes, order, axis=2)
        given = [parameters, listed.current, listed.states, by_slots, *(own or [None])]
        by_slots_current, _, _ = kernel.backward(*given, (listed.ids, listed.counts))
        np.testing.assert_array_equal(by_slots_current, by_current)
        without = kernel.forward(parameters, current, False, *own)
        np.testing.assert_array_equal(without.x, wanted.x)


def test_a_random_neuron_to_the_bit() -> None:
    check(random_neuron(Random(0)))


@pytest.mark.parametrize("gate", [-0.4, 0.0])
@pytest.mark.sample(1)
def test_neurons_below_the_gate_carry_no_gradient(gate: float) -> None:
    neuron = neuron_of(lif("subtract", gain=0.5, decay=True, theta=True))
    check(neuron, gate=gate)
    check(neuron, truncate=4, is_recurrent=True, gate=gate)


def test_random_neurons_that_send_to_each_other() -> None:
    check(random_neuron(Random(1)), truncate=4, is_recurrent=True)


@pytest.mark.verify
def test_many_random_neurons_to_the_bit() -> None:
    for seed in range(10, 60):
        check(random_neuron(Random(seed)), truncate=seed % 4, seed=seed, is_recurrent=seed % 3 == 1)


@pytest.mark.verify
@pytest.mark.parametrize("surrogate", [ArcTan(), Boxcar(), Exponential()])
def test_surrogates(surrogate: Surrogate) -> None:
    check(neuron_of(lif("subtract")), surrogate, truncate=4)


def test_functions_at_their_ends() -> None:
    document = neuron_document(
        [
            {"name": "u", "update": "exp(min(I, 80))"},
            {"name": "a", "update": "tanh(I)"},
            {"name": "b", "update": "tanh(0.001 * I) + sqrt(abs(I)) + exp(max(-100, -abs(I)))"},
        ],
        "u - a * b",
    )
    layer = LayerEquations(neuron_of(document), 2000)
    current = np.linspace(-120, 120, 2000, dtype=np.float32)[None, None]
    wanted = run_equations(layer, {}, current)
    found = EquationsKernel(layer).forward(stacked(layer, {}), current)
    np.testing.assert_array_equal(found.x, wanted.x)
    whole = current[0, 0].astype(np.float64)
    exact = np.exp(np.minimum(whole, 80))
    np.testing.assert_array_equal(found.states[1, 0, 0], exact.astype(np.float32))
    np.testing.assert_array_equal(found.states[1, 0, 1], np.tanh(whole).astype(np.float32))


def test_the_first_value_that_is_not_finite_has_its_step() -> None:
    document = neuron_document([{"name": "u", "initial": 2.0, "update": "u * u + 0 * I"}], "u - 9")
    layer = LayerEquations(neuron_of(document), 4)
    kernel = EquationsKernel(layer)
    current = np.zeros((9, 3, 4), np.float32)
    assert kernel.forward(stacked(layer, {}), current).first_bad_step == 6  # 2 ^ (2 ^ 7)


@needs_flushing
def test_callers_that_flush_small_numbers() -> None:
    """A neuron just above 0 spikes on TensorFlow's threads, too, and is reset."""
    document = neuron_document(
        [{"name": "u", "update": "0.5 * u + p * I", "reset": "where(r, 0, u)"}],
        "u",
        [{"name": "p", "value": 1.0, "trainable": True}],
    )
    layer = LayerEquations(neuron_of(document), 3)
    current = np.full((4, 5, 3), 1e-40, np.float32)
    parameters, small = stacked(layer, layer.values()), np.float32(1e-40)
    for threads in (1, 3):
        kernel = EquationsKernel(layer, threads)
        with flushing_to_zero():
            found = kernel.forward(parameters, current)
            grads = kernel.backward(parameters, current, found.states, current)
            assert small / np.float32(2) == 0  # as before
        np.testing.assert_array_equal(found.states[1:], 0.0)
        np.testing.assert_array_equal(found.x, current)
        np.testing.assert_array_equal(grads[0], current)


def test_a_gradient_of_a_parameter_that_is_not_finite_has_its_step() -> None:
    document = neuron_document(
        [{"name": "u", "update": "0.5 * u + I + sqrt(p)"}],
        "u",
        [{"name": "p", "value": 0.0, "trainable": True}],
    )
    layer = LayerEquations(neuron_of(document), 3)
    kernel, current = EquationsKernel(layer), np.ones((6, 2, 3), np.float32)
    parameters = stacked(layer, layer.values())
    states = kernel.forward(parameters, current).states
    by_spikes = np.zeros_like(current)
    by_spikes[4] = 1.0
    by_current, _, bad = kernel.backward(parameters, current, states, by_spikes)
    assert np.isfinite(by_current).all()
    assert bad == 5  # 0 / 0: nothing came back through the root of 0
