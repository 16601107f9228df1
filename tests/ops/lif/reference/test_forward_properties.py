"""Properties of the forward pass that hold for any network."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import Trace, forward
from tests.ops.lif.loops import simulate
from tests.ops.lif.variants import assert_equal, one_neuron, rises, run, varied
from tests.ops.strategies import Problem, problems, random_problem


class TestProperties:
    @given(problems(variants=True, max_neurons=12))
    @settings(max_examples=150)
    def test_equals_plain_loops_to_the_bit(self, problem: Problem) -> None:
        assert_same_as_loops(problem, run(problem))

    @given(problems(variants=True))
    @settings(max_examples=150)
    def test_spike_ids_are_above_the_threshold_and_ascend(self, problem: Problem) -> None:
        for layer, trace in zip(problem.network.spiking, run(problem).layers):
            raised = rises(layer, trace)
            for t, b in np.ndindex(*problem.counts.shape):
                n_s, n_g = trace.spike_counts[t, b]
                ids = trace.spike_ids[t, b]
                u, theta = trace.u[t, b], layer.threshold + raised[t, b]
                assert 0 <= n_s <= n_g <= layer.slots == ids.size
                assert np.all(u[ids[:n_s]] > theta[ids[:n_s]])
                assert np.all(np.diff(ids[:n_s]) > 0)
                assert np.all(np.diff(ids[n_s:n_g]) > 0)
                assert len(set(ids[:n_g])) == n_g
                assert np.sum(u > theta) == n_s + trace.dropped[t, b]
                if layer.second_threshold is not None:
                    second = layer.second_threshold + raised[t, b]
                    assert np.all(u[ids[:n_g]] > second[ids[:n_g]])
                expected = problem.network.surrogate.phi((u - theta)[ids[:n_g]])
                np.testing.assert_allclose(trace.surrogate[t, b, :n_g], expected, rtol=1e-15)
                assert not trace.surrogate[t, b, n_g:].any()

    @given(problems(variants=True), st.randoms(use_true_random=False))
    @settings(max_examples=50)
    def test_samples_are_independent(self, problem: Problem, random: Random) -> None:
        for layer in problem.network.spiking:
            assume(layer.policy != "cyclic")  # its offsets know the sample's number
        order = list(range(problem.counts.shape[1]))
        random.shuffle(order)
        shuffled = replace(problem, ids=problem.ids[:, order], counts=problem.counts[:, order])
        assert_equal(run(shuffled), run(problem), lambda array: array[:, order])

    @given(problems(variants=True), st.integers(1, 4))
    @settings(max_examples=50)
    def test_later_silence_changes_nothing_before_it(self, problem: Problem, more: int) -> None:
        steps = len(problem.counts)
        longer = replace(
            problem,
            ids=np.concatenate([problem.ids, np.zeros_like(problem.ids[:1].repeat(more, 0))]),
            counts=np.concatenate(
                [problem.counts, np.zeros_like(problem.counts[:1].repeat(more, 0))]
            ),
        )
        assert_equal(run(problem), run(longer), lambda array: array[:steps])

    @given(problems(variants=True))
    @settings(max_examples=50)
    def test_slots_after_the_counts_are_not_read(self, problem: Problem) -> None:
        behind = np.arange(problem.ids.shape[2]) >= problem.counts[..., None]
        garbage = replace(problem, ids=np.where(behind, -7, problem.ids).astype(np.int32))
        assert_equal(run(garbage), run(problem), lambda array: array)

    @given(problems(variants=True, dyadic=True))
    @settings(max_examples=150)
    def test_dyadic_problems_are_exact_in_float32(self, problem: Problem) -> None:
        """No sum is rounded, so that float32 kernels must be equal to the bit."""
        trace = run(problem)
        for array in [trace.membrane, *(layer.u for layer in trace.layers)]:
            assert np.array_equal(array.astype(np.float32), array)

    @given(problems(variants=True, dyadic=True, max_neurons=10))
    @settings(max_examples=100)
    def test_dyadic_problems_do_not_depend_on_arithmetic_or_order(self, problem: Problem) -> None:
        """In float32, and with the input's slots summed backwards."""
        trace = run(problem)
        backwards = np.zeros_like(problem.ids)
        for t, b in np.ndindex(*problem.counts.shape):
            n = problem.counts[t, b]
            backwards[t, b, :n] = problem.ids[t, b, :n][::-1]
        assert_same_as_loops(replace(problem, ids=backwards), trace, np.float32)


class TestEdges:
    """In every variant, against plain loops; the strategies reach the other edges of shape."""

    @pytest.mark.parametrize("drive", [-1.0, 1.0], ids=["silent", "saturated"])
    @pytest.mark.parametrize("policy", ["index", "cyclic", "top"])
    @pytest.mark.parametrize("reset_on", ["state", "emission"])
    @pytest.mark.parametrize("reset", ["zero", "subtract", "none"])
    def test_silent_and_saturated(
        self, reset: str, reset_on: str, policy: str, drive: float
    ) -> None:
        fields = {"capacity": 3, "policy": policy, "recurrent": True, "bias": True}
        network = varied(2, True, True, fields, reset=reset, reset_on=reset_on)
        problem = random_problem(network, seed=1, steps=5, batch=2)
        weights = [drive * (np.abs(array) + 9) for array in problem.weights]
        problem = replace(problem, weights=tuple(weights))
        trace = run(problem)
        spiking = {"silent": 0, "saturated": 3}["silent" if drive < 0 else "saturated"]
        for layer in trace.layers:
            assert np.all(layer.spike_counts[..., 0] == spiking)
            assert np.all((layer.dropped > 0) == (spiking > 0))
        assert_same_as_loops(problem, trace)

    @pytest.mark.parametrize(("steps", "batch"), [(0, 2), (2, 0), (1, 1)])
    @pytest.mark.parametrize("delay", [0, 1])
    @pytest.mark.parametrize("policy", ["index", "cyclic", "top"])
    def test_nothing_to_do_and_little(
        self, policy: str, delay: int, steps: int, batch: int
    ) -> None:
        fields = {"capacity": 2, "policy": policy, "recurrent": True, "synapse": True}
        network = varied(2, True, True, fields, delay=delay)
        problem = random_problem(network, seed=1, steps=steps, batch=batch)
        trace = run(problem)
        assert trace.membrane.shape == (steps, batch, 5)
        assert_same_as_loops(problem, trace)

    @pytest.mark.parametrize("neurons", [1, 6])
    @pytest.mark.parametrize("policy", ["index", "cyclic", "top"])
    def test_a_slot_per_neuron_is_no_capacity(self, policy: str, neurons: int) -> None:
        """Then no policy has anything to choose."""
        network = Network(4, (LIF(neurons, recurrent=True, policy=policy),), LeakyReadout(2))
        problem = random_problem(network, seed=3)
        full = replace(network, layers=(replace(network.layers[0], capacity=neurons),))
        plain = replace(network, layers=(replace(network.layers[0], policy="index"),))
        for other in (full, plain):
            assert_equal(run(replace(problem, network=other)), run(problem), lambda array: array)


def assert_same_as_loops(problem: Problem, trace: Trace, number: Any = float) -> None:
    membrane, u, slots = simulate(problem, number)
    assert np.array_equal(trace.membrane, membrane)
    assert len(trace.layers) == len(u)
    for place, layer in enumerate(trace.layers):
        assert np.array_equal(layer.u, u[place])
        for t, b in np.ndindex(*problem.counts.shape):
            n_s, n_g = layer.spike_counts[t, b]
            expected = slots[place, t, b]
            assert layer.spike_ids[t, b, :n_s].tolist() == expected.spiking
            assert layer.spike_ids[t, b, n_s:n_g].tolist() == expected.gradient_only
            assert layer.dropped[t, b] == len(expected.dropped)
            assert not layer.spike_ids[t, b, n_g:].any()


class TestRefusals:
    def test_wrong_number_of_weights(self) -> None:
        network, weights = one_neuron()
        with pytest.raises(ValueError, match="needs 2 weights; got 1"):
            forward(network, weights[:1], np.zeros((1, 1, 1), int), np.ones((1, 1), int))

    def test_wrong_shape_of_weights(self) -> None:
        network, weights = one_neuron()
        weights[1] = np.zeros((2, 1))
        with pytest.raises(
            ValueError, match=r"weights\[1\] must have shape \(1, 1\); got \(2, 1\)"
        ):
            forward(network, weights, np.zeros((1, 1, 1), int), np.ones((1, 1), int))

    def test_input_beyond_the_network(self) -> None:
        network, weights = one_neuron()
        with pytest.raises(ValueError, match=r"ids\[0, 0, 0\] is 1; it must be 0 to 0"):
            forward(network, weights, np.ones((1, 1, 1), int), np.ones((1, 1), int))
