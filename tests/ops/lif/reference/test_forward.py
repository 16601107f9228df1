"""The reference's forward pass: by hand, by plain loops, at its edges, and by its properties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List, Optional, Sequence

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import LayerTrace, forward
from tests.ops.lif.variants import one_neuron


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
