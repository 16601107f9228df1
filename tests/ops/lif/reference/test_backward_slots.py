"""Gradients of neurons in slots, and the replay of a forward pass."""

from __future__ import annotations

from dataclasses import replace
from typing import List, Optional, Tuple

import numpy as np
import pytest
from hypothesis import given, settings

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import Trace, backward
from tests.ops.lif.reference.test_backward import gradients
from tests.ops.lif.variants import run, varied
from tests.ops.strategies import Problem, problems, random_problem


class TestSlots:
    def one_step(self, capacity: Optional[int], second: Optional[float]) -> Tuple[Problem, Trace]:
        layer = LIF(4, decay=0.0, gain=1.0, capacity=capacity, second_threshold=second)
        network = Network(inputs=1, layers=(layer,), readout=LeakyReadout(1, 0.0, 1.0))
        problem = random_problem(network, seed=1, steps=1, batch=1)
        problem = replace(
            problem,
            weights=(np.array([[0.2, 0.8, 1.2, 1.4]]), np.ones((4, 1))),
            ids=np.zeros((1, 1, 1), np.int32),
            counts=np.ones((1, 1), np.int32),
            grad_u=(np.zeros((1, 1, 4)),),
        )
        return problem, run(problem)

    @pytest.mark.parametrize(
        ("capacity", "second", "flows"),
        [
            (None, None, [True, True, True, True]),
            (None, 0.5, [False, True, True, True]),
            (3, None, [True, False, True, True]),
            (2, 0.5, [False, False, True, True]),
            (1, 0.5, [False, False, True, False]),
        ],
    )
    def test_gradient_flows_through_filled_slots_only(
        self, capacity: Optional[int], second: Optional[float], flows: List[bool]
    ) -> None:
        problem, trace = self.one_step(capacity, second)
        assert (gradients(problem, trace).weights[0][0] != 0).tolist() == flows

    def test_only_spikes_reach_the_next_weights(self) -> None:
        problem, trace = self.one_step(3, 0.5)
        grad = gradients(problem, trace).weights[1][:, 0]
        assert (grad != 0).tolist() == [False, False, True, True]

    def test_entries_after_the_counts_are_not_read(self) -> None:
        problem, trace = self.one_step(None, 0.5)
        layer = trace.layers[0]
        behind = np.arange(4) >= layer.spike_counts[0, 0, 1]
        assert behind.any()
        garbage = replace(
            layer,
            spike_ids=np.where(behind, 99, layer.spike_ids),
            surrogate=np.where(behind, np.inf, layer.surrogate),
        )
        nan = tuple(np.where(behind, np.nan, grad) for grad in problem.grad_spikes)
        expected = gradients(problem, trace)
        actual = gradients(replace(problem, grad_spikes=nan), replace(trace, layers=(garbage,)))
        for ours, theirs in zip(actual.weights, expected.weights):
            assert np.array_equal(ours, theirs)

    def test_input_listed_twice_counts_twice(self) -> None:
        problem, _ = self.one_step(None, None)
        twice = replace(problem, ids=np.zeros((1, 1, 2), np.int32), counts=np.full((1, 1), 2))
        halved = (problem.weights[0] / 2, problem.weights[1])
        actual = gradients(twice, run(replace(twice, weights=halved)))
        expected = gradients(problem, run(problem))
        assert np.array_equal(actual.weights[0], 2 * expected.weights[0])
        assert actual.inputs.tolist() == [[[expected.inputs.item()] * 2]]


class TestReplay:
    @given(problems(variants=True))
    @settings(max_examples=50)
    def test_reads_slots_and_surrogates_of_another_backend(self, problem: Problem) -> None:
        """Float32 surrogates of a kernel give gradients as near as float32 is."""
        trace = run(problem)
        narrow = replace(
            trace,
            layers=tuple(
                replace(
                    layer,
                    surrogate=layer.surrogate.astype(np.float32),
                    u=layer.u.astype(np.float32),
                )
                for layer in trace.layers
            ),
        )
        actual, expected = gradients(problem, narrow), gradients(problem, trace)
        # A surrogate's slope and the subtraction of what nearly cancels enlarge the rounding.
        for ours, theirs in zip(actual.weights, expected.weights):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * np.abs(theirs).max())

    @given(problems(variants=True))
    @settings(max_examples=50)
    def test_gradients_are_linear_in_the_losses(self, problem: Problem) -> None:
        trace = run(problem)
        silent = replace(
            problem,
            grad_membrane=np.zeros_like(problem.grad_membrane),
            grad_spikes=tuple(map(np.zeros_like, problem.grad_spikes)),
            grad_u=tuple(map(np.zeros_like, problem.grad_u)),
        )
        losses = [
            replace(silent, **{name: getattr(problem, name)})
            for name in ("grad_membrane", "grad_spikes", "grad_u")
        ]
        whole = gradients(problem, trace)
        parts = [gradients(loss, trace) for loss in losses]
        for number, array in enumerate(whole.weights):
            by_part = sum(part.weights[number] for part in parts)
            np.testing.assert_allclose(array, by_part, rtol=1e-10, atol=1e-10)
        assert not any(array.any() for array in gradients(silent, trace).weights)


class TestRefusals:
    def test_wrong_shapes(self) -> None:
        problem = random_problem(varied(2, fields={"capacity": 3}), seed=1)
        trace = run(problem)
        wrong = (problem.grad_spikes[0], problem.grad_spikes[1][:-1])
        with pytest.raises(ValueError, match="grad_spikes must have 2 layers; got 1"):
            gradients(replace(problem, grad_spikes=problem.grad_spikes[:1]), trace)
        with pytest.raises(ValueError, match=r"grad_spikes\[1\] must have shape \(6, 3, 3\)"):
            gradients(replace(problem, grad_spikes=wrong), trace)
        with pytest.raises(ValueError, match="grad_u must have 2 layers; got 1"):
            gradients(replace(problem, grad_u=problem.grad_u[:1]), trace)
        shifted = (problem.grad_u[1], problem.grad_u[0])
        with pytest.raises(ValueError, match=r"grad_u\[1\] must have shape \(6, 3, 7\)"):
            gradients(replace(problem, grad_u=shifted), trace)
        with pytest.raises(ValueError, match=r"grad_membrane must have shape \(6, 3, 3\)"):
            gradients(replace(problem, grad_membrane=problem.grad_membrane[:-1]), trace)

    def test_missing_spike_losses_are_zeros(self) -> None:
        problem = random_problem(varied(2, fields={"capacity": 3}), seed=1)
        trace = run(problem)
        arguments = (problem.network, problem.weights, problem.ids, problem.counts, trace)
        zeros = tuple(np.zeros_like(grad) for grad in problem.grad_spikes)
        for given_zeros in (None, (None, zeros[1])):
            actual = backward(*arguments, problem.grad_membrane, given_zeros)
            expected = backward(*arguments, problem.grad_membrane, zeros)
            assert all(map(np.array_equal, actual.weights, expected.weights))
