"""Compare states of half on the emulator with the reference and its states rounded to float16."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Iterator
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.attributes import Wanted
from ipulse_ops.lif.reference import dynamics
from tests.ops.lif.poplar.variants import (
    assert_bit_equal,
    assert_gradients,
    compiled,
    op_problems,
    run_both,
    run_reference,
)
from tests.ops.strategies import Problem, random_problem

HALF = Wanted(membranes=True, states="half")
RANDOM = Wanted(membranes=True, states="half_stochastic")


@contextmanager
def states_of_half() -> Iterator[None]:
    """Let the reference round membranes, synapses and what a reset leaves to float16."""

    def rounding(function: Any) -> Any:
        return lambda *given: function(*given).astype(np.float16).astype(float)

    names = ("membrane", "synaptic_current", "after_reset")
    changed = {name: rounding(getattr(dynamics, name)) for name in names}
    with mock.patch.multiple(dynamics, **changed):
        yield


def network_of(**fields: Any) -> Network:
    """Return a layer with membranes of more digits than float16 has."""
    layer = LIF(neurons=9, decay=0.8125, gain=2.0, **fields)
    return Network(inputs=11, layers=(layer,), readout=LeakyReadout(neurons=4, decay=0.6875))


@settings(max_examples=25)
@given(problem=op_problems(dyadic=True))
def test_any_network_is_the_rounded_reference(problem: Problem) -> None:
    p = problem
    with compiled(problem, wanted=HALF) as op, states_of_half():
        assert_bit_equal(op.forward(p.weights, p.ids, p.counts, p.seed), run_reference(problem))


@pytest.mark.parametrize("reset", ["zero", "subtract"])
def test_states_are_rounded_and_gradients_are_those_of_the_rounded(reset: str) -> None:
    network = replace(network_of(synapse_decay=0.4375, second_threshold=0.5), reset=reset)
    problem = random_problem(network, seed=3, steps=9, batch=7, dyadic=True)
    with compiled(problem, wanted=HALF) as op, states_of_half():
        run, trace = run_both(op, problem)
        assert_gradients(op, problem, trace)
    (layer,) = run.layers
    for states in (run.membrane, layer.membrane):
        np.testing.assert_array_equal(states, states.astype(np.float16))
    with compiled(problem, wanted=Wanted(membranes=True)) as op:
        exact = op.forward(problem.weights, problem.ids, problem.counts)
    assert (exact.layers[0].membrane != layer.membrane).mean() > 0.5


def readout_of(problem: Problem, seed: int, mapping: str) -> np.ndarray:
    """The first step's membranes of the readout's neurons, rounded at random."""
    with compiled(problem, Placement(mapping), wanted=RANDOM) as op:
        return op.forward(problem.weights, problem.ids, problem.counts, seed).membrane


def test_stochastic_rounding_has_no_bias_and_its_bits_depend_on_the_seed_alone() -> None:
    network = Network(11, (LIF(6, decay=0.5),), LeakyReadout(64, decay=0.9))
    problem = random_problem(network, seed=5, steps=6, batch=32)
    first, moved = (readout_of(problem, 1, mapping) for mapping in ("capacity", "linear"))
    np.testing.assert_array_equal(first, moved)
    assert (readout_of(problem, 2, "capacity") != first).any()
    with compiled(problem, wanted=Wanted(membranes=True)) as op:
        exact = op.forward(problem.weights, problem.ids, problem.counts)
    with compiled(problem, wanted=HALF) as op:
        nearest = op.forward(problem.weights, problem.ids, problem.counts)
    # Spikes of the hidden layer may differ from those of float32 later on, not in the first steps.
    active = exact.membrane[0] != 0
    assert active.any()
    ulp = np.spacing(np.abs(exact.membrane[0]).astype(np.float16)).astype(float)
    errors = ((first[0] - exact.membrane[0]) / ulp)[active]
    assert np.abs(errors).max() < 1.001
    assert (first[0] != nearest.membrane[0])[active].any()
    assert abs(errors.mean()) < 5 / np.sqrt(12 * errors.size) + 0.02
