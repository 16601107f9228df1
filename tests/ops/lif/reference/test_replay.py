"""The reference on another run's slots: its own, and those of a backend that rounded otherwise."""

from __future__ import annotations

from typing import Any, List

import numpy as np
import pytest
from hypothesis import given, settings

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import forward
from tests.ops.lif.variants import assert_equal, one_neuron, run
from tests.ops.strategies import Problem, problems


class TestReplay:
    @given(problems(variants=True))
    @settings(max_examples=150)
    def test_own_slots_give_the_same_run(self, problem: Problem) -> None:
        trace = run(problem)
        slots = [(layer.spike_ids, layer.spike_counts) for layer in trace.layers]
        arguments = (problem.network, problem.weights, problem.ids, problem.counts)
        again = forward(*arguments, slots, problem.seed)
        assert_equal(again, trace, lambda array: array)

    def test_another_backends_spike_resets_and_travels(self) -> None:
        """It rounded 1.0 to just above the threshold where this one has 1.0."""
        network, weights = one_neuron()
        ids, counts = np.zeros((2, 1, 2), int), np.array([[1], [0]])
        weights[0] = np.array([[1.0]])
        assert forward(network, weights, ids, counts).layers[0].u[:, 0, 0].tolist() == [1.0, 0.5]
        slots = (np.zeros((2, 1, 1), np.int32), np.array([[[1, 1]], [[0, 1]]], np.int32))
        replayed = forward(network, weights, ids, counts, [slots])
        assert replayed.layers[0].u[:, 0, 0].tolist() == [1.0, 0.0]
        assert replayed.layers[0].reset[:, 0, 0].tolist() == [True, False]
        assert replayed.membrane[:, 0, 0].tolist() == [1.0, 0.5]

    def test_another_backends_silence_keeps_the_membrane(self) -> None:
        network, weights = one_neuron()
        ids, counts = np.zeros((2, 1, 2), int), np.array([[2], [0]])
        assert forward(network, weights, ids, counts).layers[0].u[:, 0, 0].tolist() == [1.5, 0.0]
        slots = (np.zeros((2, 1, 1), np.int32), np.array([[[0, 1]], [[0, 1]]], np.int32))
        replayed = forward(network, weights, ids, counts, [slots])
        assert replayed.layers[0].u[:, 0, 0].tolist() == [1.5, 0.75]

    def test_full_slots_leave_higher_ids_to_their_membrane(self) -> None:
        layer = LIF(4, decay=0.5, gain=2.0, capacity=1)
        network = Network(inputs=1, layers=(layer,), readout=LeakyReadout(1))
        weights = [np.array([[2.0, 2.0, 2.0, 0.5]]), np.zeros((4, 1))]
        ids, counts = np.zeros((1, 1, 1), int), np.ones((1, 1), int)
        # That backend's neuron 0 did not spike, its neuron 1 did and filled the only slot.
        slots = (np.array([[[1]]]), np.array([[[1, 1]]]))
        replayed = forward(network, weights, ids, counts, [slots]).layers[0]
        assert replayed.reset[0, 0].tolist() == [False, True, True, False]
        assert replayed.dropped[0, 0] == 1

    def test_of_emission_reset_leaves_no_doubt(self) -> None:
        """Only an emitted spike resets; dropped spikes are counted, too."""
        layer = LIF(3, decay=0.5, gain=2.0, capacity=1)
        network = Network(1, (layer,), LeakyReadout(1), reset_on="emission")
        weights = [np.array([[2.0, 2.0, 0.5]]), np.zeros((3, 1))]
        ids, counts = np.zeros((1, 1, 1), int), np.ones((1, 1), int)
        slots = (np.array([[[0]]]), np.array([[[1, 1]]]))
        replayed = forward(network, weights, ids, counts, [slots]).layers[0]
        assert replayed.reset[0, 0].tolist() == [True, False, False]
        assert replayed.dropped[0, 0] == 1

    @pytest.mark.parametrize(
        ("ids", "counts", "message"),
        [
            ([[[0, 0]]], [[[1, 2]]], "at most once per step"),
            ([[[0, 4]]], [[[1, 2]]], r"ids\[0, 0, 1\] is 4; it must be 0 to 3"),
            ([[[0, 1]]], [[[2, 1]]], "spikes, filled slots"),
            ([[[0, 1]]], [[[1, 3]]], r"counts\[0, 0\] is 3; it must be 0 to 2"),
            ([[[0]]], [[[1, 1]]], r"spike_ids must have shape \(1, 1, 2\)"),
            ([[[0, 1]]], [[1]], r"spike_counts must have shape \(1, 1, 2\)"),
        ],
    )
    def test_impossible_slots_are_refused(
        self, ids: List[Any], counts: List[Any], message: str
    ) -> None:
        network = Network(1, (LIF(4, capacity=2),), LeakyReadout(1))
        weights = [np.zeros((1, 4)), np.zeros((4, 1))]
        one = np.ones((1, 1), int)
        with pytest.raises(ValueError, match=message):
            forward(network, weights, one[..., None] * 0, one, [(np.array(ids), np.array(counts))])

    def test_needs_the_slots_of_every_layer(self) -> None:
        network, weights = one_neuron()
        with pytest.raises(ValueError, match="replay must have 1 layers; got 0"):
            forward(network, weights, np.zeros((1, 1, 1), int), np.ones((1, 1), int), [])
