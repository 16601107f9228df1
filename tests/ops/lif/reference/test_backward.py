"""The reference's gradients: against a smooth twin, difference quotients, and by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import List, Optional, Tuple

import numpy as np
import pytest
from hypothesis import given

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import Gradients, Trace, backward, forward
from ipulse_ops.surrogate import SuperSpike, Surrogate
from tests.ops.lif.smooth import error_and_size_in_a_direction, twin_loss
from tests.ops.lif.variants import (
    RESETS,
    eventful,
    residual_network,
    run,
    varied,
    with_gradient_only,
)
from tests.ops.repeated import examples, taken
from tests.ops.strategies import SURROGATES, Problem, problems, random_problem


def gradients(problem: Problem, trace: Trace) -> Gradients:
    return backward(
        problem.network,
        problem.weights,
        problem.ids,
        problem.counts,
        trace,
        problem.grad_membrane,
        problem.grad_spikes,
        problem.grad_u,
        dropout_seed=problem.seed,
    )


# Policies and capacities; 3 slots are too few for every layer below.
SLOTS = ((None, "index"), (3, "index"), (3, "cyclic"), (3, "top"))


class TestAgainstTheSmoothTwin:
    """Proves that backward is the exact derivative of the twin, surrogate and resets included.

    The twin's derivative is forward-mode: it is the tangent of the rules "ds = phi (du -
    dthreshold) in the slots, what is held constant has none". It proves nothing about the choice
    of the surrogate.
    """

    @pytest.mark.parametrize("delay", [0, 1])
    @pytest.mark.parametrize(("reset", "reset_on", "reset_gradients"), RESETS)
    @pytest.mark.same_on_every_python
    def test_every_variant(
        self, reset: str, reset_on: str, reset_gradients: Tuple[str, ...], delay: int
    ) -> None:
        """The full product with the layers' variants; surrogates take turns."""
        product_of_layers = product(SLOTS, *([(False, True)] * 6))
        for number, (slots, gate, spiking_readout, *switches) in taken(product_of_layers):
            fields = dict(zip(("recurrent", "bias", "synapse", "adapts"), switches))
            if fields["adapts"]:
                if number % 3:
                    continue
                fields["detaches"] = number // 6 % 2 == 1
            network = varied(
                2,
                gate,
                spiking_readout,
                {"capacity": slots[0], "policy": slots[1], **fields},
                reset=reset,
                reset_on=reset_on,
                delay=delay,
                surrogate=SURROGATES[number % len(SURROGATES)],
            )
            problem, trace = eventful(network, drops=slots[0] is not None, steps=4)
            for reset_gradient in reset_gradients:  # which the forward pass knows nothing of
                p = replace(problem, network=replace(network, reset_gradient=reset_gradient))
                error, size = error_and_size_in_a_direction(p, trace, gradients(p, trace))
                assert error < 1e-12 * size, p

    @pytest.mark.parametrize("delay", [0, 1])
    @pytest.mark.parametrize("spiking_readout", [False, True])
    def test_dropout(self, spiking_readout: bool, delay: int) -> None:
        fields = {"recurrent": True, "bias": True, "synapse": True}
        network = varied(2, True, spiking_readout, fields, reset_gradient="none", delay=delay)
        layers = tuple(replace(layer, dropout=0.3) for layer in network.layers)
        network = replace(network, layers=layers, readout=replace(network.readout, dropout=0.5))
        problem, trace = eventful(network, drops=False)
        problem = with_gradient_only(problem)
        error, size = error_and_size_in_a_direction(problem, trace, gradients(problem, trace))
        assert error < 1e-12 * size

    @pytest.mark.parametrize("delay", [0, 1])
    @pytest.mark.parametrize("spiking_readout", [False, True])
    def test_residual_additions(self, spiking_readout: bool, delay: int) -> None:
        network = residual_network(spiking_readout, delay=delay, reset_gradient="none")
        problem, trace = eventful(network, drops=False)
        problem = with_gradient_only(problem)
        error, size = error_and_size_in_a_direction(problem, trace, gradients(problem, trace))
        assert error < 1e-12 * size

    @pytest.mark.parametrize("surrogate", SURROGATES, ids=lambda s: type(s).__name__)
    @pytest.mark.parametrize("reset_gradient", ["mask", "term", "none"])
    @pytest.mark.parametrize("layers", [1, 2, 3])
    def test_every_surrogate_and_depth(
        self, layers: int, reset_gradient: str, surrogate: Surrogate
    ) -> None:
        fields = {"capacity": 3, "recurrent": True, "bias": True, "synapse": True}
        network = varied(
            layers, True, True, fields, reset_gradient=reset_gradient, surrogate=surrogate
        )
        problem = random_problem(network, seed=layers, steps=12, batch=3)
        trace = run(problem)
        actual = gradients(problem, trace)
        error, size = error_and_size_in_a_direction(problem, trace, actual)
        assert error < 1e-12 * size

    @given(problems(variants=True, max_neurons=12))
    @examples(200)
    @pytest.mark.same_on_every_python
    def test_every_shape(self, problem: Problem) -> None:
        problem = with_gradient_only(problem)
        trace = run(problem)
        actual = gradients(problem, trace)
        error, size = error_and_size_in_a_direction(problem, trace, actual)
        # The twin's spikes are rounded, by some 1e-16 each, even where the gradient is zero.
        assert error < 1e-12 * max(size, 0.1)

    @given(problems(variants=True, max_neurons=12))
    @examples(100)
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
        for layer, grad in zip(trace.layers, problem.grad_u):
            expected += np.sum(grad * layer.u)
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
        problem = random_problem(varied(2, delay=delay), seed=3, steps=8)
        rng = np.random.Generator(np.random.PCG64(4))
        direction = rng.normal(size=problem.weights[-1].shape)

        def loss(step: float) -> float:
            readout = problem.weights[-1].astype(np.float64) + step * direction
            moved = replace(problem, weights=(*problem.weights[:-1], readout))
            return float(0.5 * np.sum(run(moved).membrane ** 2))

        trace = run(problem)
        actual = gradients(replace(problem, grad_membrane=trace.membrane), trace).weights[-1]
        # The loss is quadratic in these weights: a central difference has no error but rounding.
        expected = (loss(1e-3) - loss(-1e-3)) / 2e-3
        assert np.sum(actual * direction) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("name", ["decay", "synapse_decay"])
    def test_quadratic_loss_by_readout_constants(self, name: str) -> None:
        problem = random_problem(varied(2, fields={"synapse": True}), seed=3, steps=8)
        readout = problem.network.readout
        direction = np.random.Generator(np.random.PCG64(4)).normal(size=readout.neurons)
        # A decay of 1 has another scale than those below, and none above it exist.
        direction[np.equal(getattr(readout, name), 1)] = 0

        def loss(step: float) -> float:
            moved = replace(readout, **{name: getattr(readout, name) + step * direction})
            network = replace(problem.network, readout=moved)
            return float(0.5 * np.sum(run(replace(problem, network=network)).membrane ** 2))

        trace = run(problem)
        direct = replace(
            problem,
            grad_membrane=trace.membrane,
            grad_spikes=tuple(map(np.zeros_like, problem.grad_spikes)),
            grad_u=tuple(map(np.zeros_like, problem.grad_u)),
        )
        actual = getattr(gradients(direct, trace).constants[-1], name)
        # Central differences at 1e-4 and 2e-4, combined to be wrong by their fourth power only.
        near, far = ((loss(h) - loss(-h)) / (2 * h) for h in (1e-4, 2e-4))
        assert np.sum(actual * direction) == pytest.approx((4 * near - far) / 3, rel=1e-9)


class TestOneNeuronByHand:
    # u = 0.75, 1.125, 0.75 against threshold 1, as in the forward test; one spike, at step 1.
    # slope 4: phi = 1/4, 4/9, 1/4. Loss = membrane at the last step, with weight 1:
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
        actual = backward(network, weights, ids, counts, trace, grad_membrane)
        assert actual.weights[0].item() == pytest.approx(expected, rel=1e-15)
        assert actual.weights[1].item() == (0.5 if delay == 0 else 1.0)
        # The input spikes at every step, so the two gradients sum over the same lambda.
        assert actual.inputs.sum() == pytest.approx(0.75 * expected, rel=1e-15)


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
    @examples(50)
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
    @examples(50)
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
