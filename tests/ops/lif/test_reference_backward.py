"""The reference's gradients: against a smooth twin, difference quotients, and by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import List, Optional, Tuple

import numpy as np
import pytest
from hypothesis import given, settings

from ops.lif.network import LIF, LeakyReadout, Network, SuperSpike
from ops.lif.reference import Gradients, Trace, backward, forward
from tests.ops.lif.smooth import twin_derivative, twin_loss
from tests.ops.strategies import Problem, problems, random_problem


def run(problem: Problem) -> Trace:
    return forward(problem.network, problem.weights, problem.ids, problem.counts)


def gradients(problem: Problem, trace: Trace) -> Gradients:
    return backward(
        problem.network,
        problem.weights,
        problem.ids,
        problem.counts,
        trace,
        problem.grad_membrane,
        problem.grad_spikes,
    )


def varied(
    layers: int, reset_gradient: str, delay: int, capacity: Optional[int], gate: bool
) -> Network:
    """Every neuron with its own decay, threshold and gain."""
    rng = np.random.Generator(np.random.PCG64(layers))

    def layer(neurons: int) -> LIF:
        threshold = rng.uniform(0.5, 1.5, neurons)
        return LIF(
            neurons=neurons,
            decay=rng.uniform(0, 0.97, neurons),
            threshold=threshold,
            second_threshold=0.6 * threshold if gate else None,
            capacity=capacity,
            gain=rng.uniform(1, 10, neurons),
        )

    return Network(
        inputs=8,
        layers=tuple(layer(neurons) for neurons in (9, 7, 6)[:layers]),
        readout=LeakyReadout(3, rng.uniform(0, 0.97, 3), rng.uniform(1, 10, 3)),
        reset_gradient=reset_gradient,
        delay=delay,
        surrogate=SuperSpike(slope=4.0),
    )


def error_and_size_in_a_direction(problem: Problem) -> Tuple[float, float]:
    """How far the gradient's component is from the smooth twin's derivative, and its largest part.

    The direction is random, in all weights and input slots; the parts are each array's component,
    which may cancel each other.
    """
    trace = run(problem)
    rng = np.random.Generator(np.random.PCG64([problem.seed, 2]))
    d_weights = [rng.normal(size=weights.shape) for weights in problem.weights]
    d_inputs = rng.normal(size=problem.ids.shape)
    found = gradients(problem, trace)
    parts = [float(np.sum(g * d)) for g, d in zip(found.weights, d_weights)]
    parts.append(float(np.sum(found.inputs * d_inputs)))
    error = abs(sum(parts) - twin_derivative(problem, trace, d_weights, d_inputs))
    return error, max(map(abs, parts))


class TestAgainstTheSmoothTwin:
    """Proves that backward is the exact derivative of the twin, surrogate and resets included.

    The twin's derivative is forward-mode: it is the tangent of the rules "ds = phi du in the
    slots, what is held constant has none". It proves nothing about the choice of the surrogate.
    """

    @pytest.mark.parametrize(
        ("layers", "reset_gradient", "delay", "capacity", "gate"),
        list(product((1, 2, 3), ("mask", "term"), (0, 1), (3, None), (True, False))),
    )
    def test_every_kind_of_network(
        self, layers: int, reset_gradient: str, delay: int, capacity: Optional[int], gate: bool
    ) -> None:
        network = varied(layers, reset_gradient, delay, capacity, gate)
        problem = random_problem(network, seed=layers, steps=8, batch=3)
        trace = run(problem)
        assert all(layer.spike_counts[..., 0].any() for layer in trace.layers)
        assert any(layer.dropped.any() for layer in trace.layers) == (capacity is not None)
        error, size = error_and_size_in_a_direction(problem)
        assert error < 1e-12 * size

    @given(problems(max_neurons=12))
    @settings(max_examples=150, deadline=None)
    def test_every_shape(self, problem: Problem) -> None:
        error, size = error_and_size_in_a_direction(problem)
        # The twin's spikes are rounded, by some 1e-16 each, even where the gradient is zero.
        assert error < 1e-12 * max(size, 0.1)

    @given(problems(max_neurons=12))
    @settings(max_examples=50, deadline=None)
    def test_twin_does_what_the_network_does(self, problem: Problem) -> None:
        """Else its derivative would say nothing about this network."""
        trace = run(problem)
        inputs = np.zeros((*problem.counts.shape, problem.network.inputs))
        for t, b in np.ndindex(*problem.counts.shape):
            np.add.at(inputs[t, b], problem.ids[t, b, : problem.counts[t, b]], 1)
        expected = np.sum(problem.grad_membrane * trace.membrane)
        for layer, grad in zip(trace.layers, problem.grad_spikes):
            spiking = np.arange(grad.shape[2]) < layer.spike_counts[..., :1]
            expected += np.sum(grad.astype(np.float64) * spiking)
        weights = [matrix.astype(np.float64) for matrix in problem.weights]
        loss = twin_loss(problem, trace, weights, inputs)
        assert loss.imag == 0
        assert loss.real == pytest.approx(expected, rel=1e-10, abs=1e-10)


class TestAgainstDifferenceQuotients:
    """Where the network itself is smooth, nothing needs a twin: in the readout's weights.

    In the hidden weights it is not: spikes are constant but for jumps, so that the true gradient
    is zero almost everywhere and a difference quotient could not judge a surrogate gradient.
    """

    @pytest.mark.parametrize("delay", [0, 1])
    def test_quadratic_loss_by_readout_weights(self, delay: int) -> None:
        problem = random_problem(varied(2, "mask", delay, None, True), seed=3, steps=8)
        rng = np.random.Generator(np.random.PCG64(4))
        direction = rng.normal(size=problem.weights[-1].shape)

        def loss(step: float) -> float:
            readout = problem.weights[-1].astype(np.float64) + step * direction
            moved = replace(problem, weights=(*problem.weights[:-1], readout))
            return float(0.5 * np.sum(run(moved).membrane ** 2))

        trace = run(problem)
        found = gradients(replace(problem, grad_membrane=trace.membrane), trace).weights[-1]
        # The loss is quadratic in these weights: a central difference has no error but rounding.
        expected = (loss(1e-3) - loss(-1e-3)) / 2e-3
        assert np.sum(found * direction) == pytest.approx(expected, rel=1e-9)


class TestOneNeuronByHand:
    # u = 0.75, 1.125, 0.75 against threshold 1, as in the forward test; one spike, at step 1.
    # slope 4: phi = 1/4, 4/9, 1/4. Loss = membrane at the last step, whose weight is 1:
    # dL/dI of the readout is 1/4, 1/2, 1 at the three steps.
    @pytest.mark.parametrize(
        ("reset_gradient", "delay", "expected"),
        [
            # phi e = 1/16, 2/9, 1/4
            # lambda = 1/16 + 2/9 / 2, 2/9 + 0 (it was reset), 1/4
            ("mask", 0, 31 / 48),
            # lambda = 1/16 + 25/72 / 2, 2/9 + 1/4 / 2, 1/4
            ("term", 0, 5 / 6),
            # A spike at the last step arrives never: phi e = 1/4 1/2, 4/9 1, 0
            # lambda = 1/8 + 4/9 / 2, 4/9, 0
            ("mask", 1, 57 / 72),
            ("term", 1, 57 / 72),
        ],
    )
    def test_gradients(self, reset_gradient: str, delay: int, expected: float) -> None:
        network = Network(
            inputs=1,
            layers=(LIF(neurons=1, decay=0.5, threshold=1.0, gain=2.0),),
            readout=LeakyReadout(neurons=1, decay=0.5, gain=2.0),
            reset_gradient=reset_gradient,
            delay=delay,
            surrogate=SuperSpike(slope=4.0),
        )
        weights = [np.array([[0.75]]), np.array([[1.0]])]
        ids, counts = np.zeros((3, 1, 1), int), np.ones((3, 1), int)
        trace = forward(network, weights, ids, counts)
        grad_membrane = np.array([[[0.0]], [[0.0]], [[1.0]]])
        found = backward(network, weights, ids, counts, trace, grad_membrane)
        assert found.weights[0].item() == pytest.approx(expected, rel=1e-15)
        assert found.weights[1].item() == (0.5 if delay == 0 else 1.0)
        # The input spikes at every step, so the two gradients sum over the same lambda.
        assert found.inputs.sum() == pytest.approx(0.75 * expected, rel=1e-15)


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

    def test_entries_behind_the_slots_are_not_read(self) -> None:
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
        found = gradients(replace(problem, grad_spikes=nan), replace(trace, layers=(garbage,)))
        for ours, theirs in zip(found.weights, expected.weights):
            assert np.array_equal(ours, theirs)

    def test_input_listed_twice_counts_twice(self) -> None:
        problem, _ = self.one_step(None, None)
        twice = replace(problem, ids=np.zeros((1, 1, 2), np.int32), counts=np.full((1, 1), 2))
        halved = (problem.weights[0] / 2, problem.weights[1])
        found = gradients(twice, run(replace(twice, weights=halved)))
        expected = gradients(problem, run(problem))
        assert np.array_equal(found.weights[0], 2 * expected.weights[0])
        assert found.inputs.tolist() == [[[expected.inputs.item()] * 2]]


class TestReplay:
    @given(problems())
    @settings(max_examples=50, deadline=None)
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
        found, expected = gradients(problem, narrow), gradients(problem, trace)
        for ours, theirs in zip(found.weights, expected.weights):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())

    @given(problems())
    @settings(max_examples=50, deadline=None)
    def test_gradients_are_linear_in_the_losses(self, problem: Problem) -> None:
        trace = run(problem)
        nothing = tuple(np.zeros_like(grad) for grad in problem.grad_spikes)
        by_membrane = gradients(replace(problem, grad_spikes=nothing), trace)
        silent = replace(problem, grad_membrane=np.zeros_like(problem.grad_membrane))
        by_spikes = gradients(silent, trace)
        both = gradients(problem, trace)
        for whole, one, two in zip(both.weights, by_membrane.weights, by_spikes.weights):
            np.testing.assert_allclose(whole, one + two, rtol=1e-10, atol=1e-10)


class TestRefusals:
    def test_wrong_shapes(self) -> None:
        problem = random_problem(varied(2, "mask", 0, 3, True), seed=1)
        trace = run(problem)
        wrong = (problem.grad_spikes[0], problem.grad_spikes[1][:-1])
        with pytest.raises(ValueError, match="grad_spikes must have 2 layers; got 1"):
            gradients(replace(problem, grad_spikes=problem.grad_spikes[:1]), trace)
        with pytest.raises(ValueError, match=r"grad_spikes\[1\] must have shape \(6, 3, 3\)"):
            gradients(replace(problem, grad_spikes=wrong), trace)
        with pytest.raises(ValueError, match=r"grad_membrane must have shape \(6, 3, 3\)"):
            gradients(replace(problem, grad_membrane=problem.grad_membrane[:-1]), trace)

    def test_missing_spike_losses_are_zeros(self) -> None:
        problem = random_problem(varied(2, "mask", 0, 3, True), seed=1)
        trace = run(problem)
        arguments = (problem.network, problem.weights, problem.ids, problem.counts, trace)
        zeros = tuple(np.zeros_like(grad) for grad in problem.grad_spikes)
        for given_zeros in (None, (None, zeros[1])):
            found = backward(*arguments, problem.grad_membrane, given_zeros)
            expected = backward(*arguments, problem.grad_membrane, zeros)
            assert all(map(np.array_equal, found.weights, expected.weights))
