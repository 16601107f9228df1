"""The reference's forward pass: by hand, by plain loops, at its edges, and by its properties."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, List, Optional, Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import LayerTrace, Trace, forward
from tests.ops.lif.loops import simulate
from tests.ops.lif.variants import assert_equal, one_neuron, rises, run, varied
from tests.ops.repeated import examples
from tests.ops.strategies import Problem, problems, random_problem


def driven(currents: Sequence[float], layer: LIF, steps: int = 1) -> LayerTrace:
    """Run one layer; neuron n receives the current currents[n] at every step."""
    network = Network(inputs=1, layers=(layer,), readout=LeakyReadout(neurons=1))
    weights = [np.array([currents]), np.zeros((layer.neurons, 1))]
    ids, counts = np.zeros((steps, 1, 1), dtype=np.int32), np.ones((steps, 1), dtype=np.int32)
    return forward(network, weights, ids, counts).layers[0]


class TestOneNeuronByHand:
    # Spikes of the only input: one at steps 0, 1 and 2, none at 3, two at once at 4, none at 5.
    ids = np.zeros((6, 1, 2), dtype=np.int32)
    counts = np.array([[1], [1], [1], [0], [2], [0]], dtype=np.int32)

    def test_membrane_decays_spikes_and_starts_again_from_zero(self) -> None:
        layer = forward(*one_neuron(), self.ids, self.counts).layers[0]
        # 0.75 | 0.375 + 0.75 spikes | 0 + 0.75 | 0.375 | 0.1875 + 2 * 0.75 spikes | 0
        assert layer.u[:, 0, 0].tolist() == [0.75, 1.125, 0.75, 0.375, 1.6875, 0.0]
        assert layer.reset[:, 0, 0].tolist() == [False, True, False, False, True, False]
        assert layer.spike_counts[:, 0, 0].tolist() == [0, 1, 0, 0, 1, 0]
        # slope 10 at |u - 1| = 0.25, 0.125, 0.25, 0.625, 0.6875, 1
        expected = [(10 * x + 1) ** -2 for x in (0.25, 0.125, 0.25, 0.625, 0.6875, 1.0)]
        assert layer.surrogate[:, 0, 0].tolist() == pytest.approx(expected, rel=1e-15)

    @pytest.mark.parametrize(
        ("delay", "expected"),
        [(0, [0, 1, 0.5, 0.25, 1.125, 0.5625]), (1, [0, 0, 1, 0.5, 0.25, 1.125])],
    )
    def test_readout_integrates_spikes_of_delay_steps_ago(
        self, delay: int, expected: List[float]
    ) -> None:
        membrane = forward(*one_neuron(delay), self.ids, self.counts).membrane
        assert membrane[:, 0, 0].tolist() == expected

    def test_delay_holds_between_layers_and_never_on_the_input(self) -> None:
        chain = tuple(LIF(neurons=1, decay=0.0, threshold=0.5, gain=1.0) for _ in range(3))
        network = Network(inputs=1, layers=chain, readout=LeakyReadout(1, 0.0, 1.0), delay=1)
        counts = np.array([[1], [0], [0], [0], [0]])
        trace = forward(network, [np.ones((1, 1))] * 4, np.zeros((5, 1, 1), int), counts)
        arrivals = [layer.spike_counts[:, 0, 0].tolist() for layer in trace.layers]
        assert arrivals == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
        assert trace.membrane[:, 0, 0].tolist() == [0, 0, 0, 1, 0]

    def test_membrane_at_the_threshold_does_not_spike(self) -> None:
        layer = driven([1.0, np.nextafter(1.0, 2.0)], LIF(2, decay=0.0, gain=1.0))
        assert layer.spike_counts[0, 0].tolist() == [1, 2]
        assert layer.spike_ids[0, 0].tolist() == [1, 0]


class TestVariantsByHand:
    """Membranes of one neuron: scale 1, decay 1/2, threshold 1, a current of 3/4 per spike."""

    ids, counts = TestOneNeuronByHand.ids, TestOneNeuronByHand.counts

    def u(self, **changed: Any) -> List[float]:
        network, weights = one_neuron()
        layer = replace(network.layers[0], **changed.pop("layer", {}))
        network = replace(network, layers=(layer,), **changed)
        trace = forward(network, changed_weights(layer, weights), self.ids, self.counts)
        return [float(u) for u in trace.layers[0].u[:, 0, 0]]

    def test_subtract_keeps_what_is_above_the_threshold(self) -> None:
        assert self.u(reset="subtract") == [0.75, 1.125, 0.8125, 0.40625, 1.703125, 0.3515625]

    def test_no_reset_lets_it_spike_again(self) -> None:
        assert self.u(reset="none") == [0.75, 1.125, 1.3125, 0.65625, 1.828125, 0.9140625]

    def test_bias_is_a_current_at_every_step(self) -> None:
        # 0.25 of its own at every step
        expected = [1.0, 0.5 + 1.0, 1.0, 0.5 + 0.25, 0.375 + 1.75, 0.25]
        assert self.u(layer={"bias": True}) == expected

    def test_synapse_spreads_a_spike_over_time(self) -> None:
        # i = 3/8, 9/16, 21/32, 21/64, 21/128 + 3/4, 117/256
        u = self.u(layer={"synapse_decay": 0.5, "threshold": 9.0})
        assert u[:4] == [0.375, 0.75, 0.375 + 0.65625, 0.515625 + 0.328125]

    def test_own_spikes_come_back_after_one_step(self) -> None:
        layer = LIF(2, decay=0.5, gain=2.0, recurrent=True)
        network = Network(1, (layer,), LeakyReadout(1), delay=1)
        recurrent = np.array([[0.0, 1.25], [-0.5, 0.0]])  # 0 excites 1, 1 inhibits 0
        weights = [np.array([[2.0, 0.0]]), recurrent, np.zeros((2, 1))]
        trace = forward(network, weights, np.zeros((4, 1, 1), int), np.array([[1], [0], [0], [0]]))
        assert trace.layers[0].u[:, 0].tolist() == [[2, 0], [0, 1.25], [-0.5, 0], [-0.25, 0]]

    def test_thresholds_rise_with_spikes_and_fall_between(self) -> None:
        layer = {"threshold": 0.5, "adaptation_strength": 0.5, "adaptation_decay": 0.5}
        network, weights = one_neuron()
        network = replace(network, layers=(replace(network.layers[0], **layer),))
        trace = forward(network, weights, self.ids, self.counts).layers[0]
        assert trace.u[:, 0, 0].tolist() == [0.75, 0.75, 1.125, 0.0, 1.5, 0.0]
        assert trace.reset[:, 0, 0].tolist() == [True, False, True, False, True, False]
        theta = [0.5, 1.0, 0.75, 0.5 + 0.625, 0.5 + 0.3125, 0.5 + 0.65625]
        expected = [(10 * abs(u - x) + 1) ** -2 for u, x in zip(trace.u[:, 0, 0], theta)]
        assert trace.surrogate[:, 0, 0].tolist() == pytest.approx(expected, rel=1e-15)

    def test_subtract_takes_the_raised_threshold(self) -> None:
        layer = {"threshold": 0.5, "adaptation_strength": 0.25, "adaptation_decay": 0.5}
        # 3/4 spikes, 1/4 is left | 7/8 over 3/4, 1/8 is left | 13/16 under 7/8 | 13/32 | ...
        u = self.u(layer=layer, reset="subtract")
        assert u[:4] == [0.75, 0.875, 0.8125, 0.40625]

    def test_dropped_spike_waits_for_a_slot_if_reset_by_emission(self) -> None:
        layer = LIF(2, decay=0.5, gain=2.0, capacity=1)
        network = Network(1, (layer,), LeakyReadout(2, 0.0, 1.0), reset_on="emission")
        weights = [np.array([[2.0, 3.0]]), np.eye(2)]
        trace = forward(network, weights, np.zeros((3, 1, 1), int), np.array([[1], [0], [0]]))
        assert trace.layers[0].u[:, 0].tolist() == [[2, 3], [0, 1.5], [0, 0]]
        assert trace.layers[0].reset[:, 0].tolist() == [[1, 0], [0, 1], [0, 0]]
        assert trace.layers[0].dropped[:, 0].tolist() == [1, 0, 0]
        assert trace.membrane[:, 0].tolist() == [[1, 0], [0, 1], [0, 0]]

    @pytest.mark.parametrize("delay", [0, 1])
    def test_spiking_readout_is_one_more_layer(self, delay: int) -> None:
        network, weights = one_neuron(delay)
        readout = LIF(1, decay=0.5, threshold=0.75, gain=2.0)
        network = replace(network, readout=readout)
        trace = forward(network, weights, self.ids, self.counts)
        # It gets a current of 1 at each spike of the first layer, and is reset every time.
        expected = [0, 1, 0, 0, 1, 0] if delay == 0 else [0, 0, 1, 0, 0, 1]
        assert trace.membrane[:, 0, 0].tolist() == expected
        assert trace.layers[1].u is trace.membrane
        assert trace.layers[1].spike_counts[:, 0, 0].tolist() == expected

    def test_seed_moves_the_cyclic_slots_only(self) -> None:
        layer = LIF(5, decay=0.0, gain=1.0, capacity=2, policy="cyclic")
        network = Network(1, (layer,), LeakyReadout(1))
        weights = [np.full((1, 5), 2.0), np.zeros((5, 1))]
        arguments = (network, weights, np.zeros((20, 2, 1), int), np.ones((20, 2), int))
        first, again, other = (forward(*arguments, seed=seed).layers[0] for seed in (1, 1, 2))
        assert np.array_equal(first.spike_ids, again.spike_ids)
        assert not np.array_equal(first.spike_ids, other.spike_ids)
        assert np.array_equal(first.u, other.u)


def changed_weights(layer: LIF, weights: List[np.ndarray]) -> List[np.ndarray]:
    return [weights[0], np.array([0.25]), weights[1]] if layer.bias else weights


class TestSlots:
    currents = (0.2, 1.5, 0.7, 1.1, 0.6, 2.0)  # neurons 1, 3, 5 spike; 2 and 4 are above 0.5

    @pytest.mark.parametrize(
        ("second", "capacity", "ids", "counts", "dropped"),
        [
            (0.5, None, [1, 3, 5, 2, 4, 0], [3, 5], 0),
            (0.5, 6, [1, 3, 5, 2, 4, 0], [3, 5], 0),
            (0.5, 4, [1, 3, 5, 2], [3, 4], 0),
            (0.5, 3, [1, 3, 5], [3, 3], 0),
            (0.5, 2, [1, 3], [2, 2], 1),
            (0.5, 1, [1], [1, 1], 2),
            (0.6, None, [1, 3, 5, 2, 0, 0], [3, 4], 0),  # neuron 4 is at 0.6, not above
            (1.0, None, [1, 3, 5, 0, 0, 0], [3, 3], 0),
            (None, None, [1, 3, 5, 0, 2, 4], [3, 6], 0),
            (None, 4, [1, 3, 5, 0], [3, 4], 0),
            (None, 1, [1], [1, 1], 2),
        ],
    )
    def test_spikes_then_gradient_only_each_ascending(
        self,
        second: Optional[float],
        capacity: Optional[int],
        ids: List[int],
        counts: List[int],
        dropped: int,
    ) -> None:
        layer = LIF(6, decay=0.0, gain=1.0, second_threshold=second, capacity=capacity)
        trace = driven(self.currents, layer)
        assert trace.spike_ids[0, 0].tolist() == ids
        assert trace.spike_counts[0, 0].tolist() == counts
        assert trace.dropped[0, 0] == dropped
        assert (trace.surrogate[0, 0] > 0).tolist() == [k < counts[1] for k in range(len(ids))]
        assert trace.spike_ids.dtype == trace.spike_counts.dtype == trace.dropped.dtype == np.int32

    def test_dropped_spike_resets_its_neuron_and_does_not_travel(self) -> None:
        layers = (LIF(2, decay=0.5, gain=2.0, capacity=1),)
        network = Network(inputs=1, layers=layers, readout=LeakyReadout(2, 0.0, 1.0))
        weights = [np.array([[2.0, 3.0]]), np.eye(2)]
        trace = forward(network, weights, np.zeros((2, 1, 1), int), np.array([[1], [0]]))
        assert trace.layers[0].dropped[:, 0].tolist() == [1, 0]
        assert trace.membrane[0, 0].tolist() == [1.0, 0.0]
        assert trace.layers[0].u[1, 0].tolist() == [0.0, 0.0]

    def test_silent_network_has_gradient_slots_and_no_spikes(self) -> None:
        trace = driven([0.0, 0.0], LIF(2), steps=3)
        assert trace.spike_counts.tolist() == [[[0, 2]]] * 3
        gated = driven([0.0, 0.0], LIF(2, second_threshold=0.5), steps=3)
        assert gated.spike_counts.tolist() == [[[0, 0]]] * 3
        assert not gated.surrogate.any()

    def test_saturated_layer_spikes_everywhere_at_every_step(self) -> None:
        trace = driven([9.0] * 4, LIF(4, decay=0.5, gain=2.0, second_threshold=0.5), steps=3)
        assert trace.spike_counts.tolist() == [[[4, 4]]] * 3
        assert trace.u.tolist() == [[[9.0] * 4]] * 3
        assert trace.dropped.tolist() == [[0]] * 3

    def test_neuron_without_memory_sees_the_present_only(self) -> None:
        network, weights = one_neuron()
        network = replace(network, layers=(LIF(1, decay=0.0, gain=1.0),))
        counts = np.array([[1], [0], [2]])
        u = forward(network, weights, np.zeros((3, 1, 2), int), counts).layers[0].u
        assert u[:, 0, 0].tolist() == [0.75, 0.0, 1.5]


class TestProperties:
    @given(problems(variants=True, max_neurons=12))
    @examples(300)
    @pytest.mark.same_on_every_python
    def test_equals_plain_loops_to_the_bit(self, problem: Problem) -> None:
        assert_same_as_loops(problem, run(problem))

    @given(problems(variants=True))
    @examples(150)
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
    @examples(50)
    def test_samples_are_independent(self, problem: Problem, random: Random) -> None:
        for layer in problem.network.spiking:
            assume(layer.policy != "cyclic")  # its offsets know the sample's number
        order = list(range(problem.counts.shape[1]))
        random.shuffle(order)
        shuffled = replace(problem, ids=problem.ids[:, order], counts=problem.counts[:, order])
        assert_equal(run(shuffled), run(problem), lambda array: array[:, order])

    @given(problems(variants=True), st.integers(1, 4))
    @examples(50)
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
    @examples(50)
    def test_slots_after_the_counts_are_not_read(self, problem: Problem) -> None:
        behind = np.arange(problem.ids.shape[2]) >= problem.counts[..., None]
        garbage = replace(problem, ids=np.where(behind, -7, problem.ids).astype(np.int32))
        assert_equal(run(garbage), run(problem), lambda array: array)

    @given(problems(variants=True, dyadic=True))
    @examples(300)
    def test_dyadic_problems_are_exact_in_float32(self, problem: Problem) -> None:
        """No sum is rounded, so that float32 kernels must be equal to the bit."""
        trace = run(problem)
        for array in [trace.membrane, *(layer.u for layer in trace.layers)]:
            assert np.array_equal(array.astype(np.float32), array)

    @given(problems(variants=True, dyadic=True, max_neurons=10))
    @examples(100)
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
