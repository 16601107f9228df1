"""The reference's gradients: against a smooth twin, difference quotients, and by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Tuple

import numpy as np
import pytest
from hypothesis import given, settings

from ipulse_ops.lif.reference.network_pass import Gradients, Trace, backward
from ipulse_ops.surrogate import Surrogate
from tests.ops.lif.smooth import error_and_size_in_a_direction, twin_loss
from tests.ops.lif.variants import (
    RESETS,
    eventful,
    residual_network,
    run,
    varied,
    with_gradient_only,
)
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

    @pytest.mark.parametrize(("reset", "reset_on", "reset_gradients"), RESETS)
    def test_every_variant(
        self, reset: str, reset_on: str, reset_gradients: Tuple[str, ...]
    ) -> None:
        """The full product with the layers' variants; surrogates and delays take turns."""
        product_of_layers = product(SLOTS, *([(False, True)] * 6))
        for number, (slots, gate, spiking_readout, *switches) in enumerate(product_of_layers):
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
                delay=number // 3 % 2,
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

    @pytest.mark.parametrize("steps", [1, 3, 5, 11, 12, 20])
    @pytest.mark.parametrize("reset", ["zero", "subtract", "none"])
    @pytest.mark.parametrize("spiking_readout", [False, True])
    def test_truncated_gradients_take_states_for_constants(
        self, spiking_readout: bool, reset: str, steps: int
    ) -> None:
        """The twin drops the derivatives of all states at every window's first step."""
        fields = {"capacity": 4, "recurrent": True, "bias": True, "synapse": True, "adapts": True}
        options = {"reset": reset, "reset_gradient": "none"}
        network = varied(2, True, spiking_readout, fields, **options)
        problem = random_problem(replace(network, truncate=steps), seed=3, steps=12, batch=3)
        trace = run(problem)
        actual = gradients(problem, trace)
        error, size = error_and_size_in_a_direction(problem, trace, actual)
        assert error < 1e-12 * size
        whole = gradients(replace(problem, network=network), trace)
        same = [np.array_equal(a, b) for a, b in zip(actual.weights, whole.weights)]
        assert all(same) if steps >= 12 else not any(same)

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
    @settings(max_examples=100)
    def test_every_shape(self, problem: Problem) -> None:
        problem = with_gradient_only(problem)
        trace = run(problem)
        actual = gradients(problem, trace)
        error, size = error_and_size_in_a_direction(problem, trace, actual)
        # The twin's spikes are rounded, by some 1e-16 each, even where the gradient is zero.
        assert error < 1e-12 * max(size, 0.1)

    @given(problems(variants=True, max_neurons=12))
    @settings(max_examples=100)
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
