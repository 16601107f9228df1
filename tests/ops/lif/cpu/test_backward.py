"""The backward pass of every kernel against the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ipulse_ops.lif.cpu import arrays, native
from ipulse_ops.surrogate import Boxcar
from tests.ops.lif.cpu.kernels import (
    TAILS,
    assert_near_reference,
    assert_same_bits,
    every_kernel,
    gradients,
    network_of,
    run,
)
from tests.ops.lif.variants import with_gradient_only
from tests.ops.strategies import Problem, problems, random_problem

CONSTANTS: Any = pytest.mark.parametrize(
    "constants",
    [
        {},
        {"second_threshold": 0.5},
        {"second_threshold": 0.5, "capacity": 3},
        {"capacity": 3},
        {"capacity": 1},
    ],
    ids=["all", "gated", "gated-three-slots", "three-slots", "one-slot"],
)


@every_kernel()
class TestGradients:
    @settings(max_examples=60)
    @given(problem=problems(dyadic=True, variants=True), everything=st.booleans())
    def test_dyadic_problems(self, arch: int, problem: Problem, everything: bool) -> None:
        """The membranes are exact here, so that only the backward pass rounds."""
        problem = with_gradient_only(problem)
        forward = run(problem, arch)
        actual = gradients(problem, forward, arch, everything=everything)
        assert_near_reference(problem, forward, actual)

    @settings(max_examples=60)
    @given(problem=problems(variants=True), everything=st.booleans())
    def test_any_problem(self, arch: int, problem: Problem, everything: bool) -> None:
        # A boxcar is discontinuous, and a rounded membrane may be on the other side of an edge.
        assume(not isinstance(problem.network.surrogate, Boxcar))
        problem = with_gradient_only(problem)
        forward = run(problem, arch)
        actual = gradients(problem, forward, arch, everything=everything)
        assert_near_reference(problem, forward, actual, 1e-4)

    @CONSTANTS
    @pytest.mark.parametrize("neurons", TAILS)
    def test_panel_edges(self, arch: int, neurons: int, constants: Dict[str, Any]) -> None:
        capacity = min(neurons, constants.get("capacity", neurons))
        constants = {**constants, "capacity": capacity}
        network = network_of((neurons, neurons), classes=min(neurons, 40), **constants)
        problem = random_problem(network, seed=neurons, steps=3, batch=2, dyadic=True)
        forward = run(problem, arch)
        assert_near_reference(problem, forward, gradients(problem, forward, arch))

    @CONSTANTS
    @pytest.mark.parametrize("delay", [0, 1])
    @pytest.mark.parametrize("reset_gradient", ["mask", "term"])
    def test_variants_over_many_steps(
        self, arch: int, constants: Dict[str, Any], delay: int, reset_gradient: str
    ) -> None:
        """Longer than a block of rows, wider than a panel, more samples than a block of them."""
        network = network_of(
            (150, 70, 33),
            inputs=50,
            delay=delay,
            reset_gradient=reset_gradient,
            slope=1.0,
            decay=0.9,
            **constants,
        )
        problem = random_problem(network, seed=11, steps=20, batch=9, slots=12)
        forward = run(problem, arch)
        assert all(layer.spike_counts[..., 0].max() > 0 for layer in forward.layers)
        grads = gradients(problem, forward, arch)
        assert_near_reference(problem, forward, grads, 5e-5)
        assert all(np.abs(grad).max() > 0 for grad in grads.weights)

    @pytest.mark.parametrize(("steps", "batch"), [(1, 1), (1, 5), (7, 1), (0, 2), (2, 0)])
    def test_short_and_narrow(self, arch: int, steps: int, batch: int) -> None:
        for delay in (0, 1):
            network = network_of((33, 17), delay=delay)
            problem = random_problem(network, seed=1, steps=steps, batch=batch)
            forward = run(problem, arch)
            assert_near_reference(problem, forward, gradients(problem, forward, arch), 1e-4)

    def test_without_a_loss_on_spikes(self, arch: int) -> None:
        problem = random_problem(network_of((40, 40)), seed=2, steps=4, dyadic=True)
        silent = replace(problem, grad_spikes=tuple(0 * grad for grad in problem.grad_spikes))
        p, forward = problem, run(problem, arch)
        grads = arrays.backward(
            *(p.network, p.weights, p.ids, p.counts, forward, p.grad_membrane), arch=arch
        )
        assert_near_reference(silent, forward, grads)


@every_kernel()
@pytest.mark.parametrize("delay", [0, 1])
def test_gradient_by_the_input_changes_no_other(arch: int, delay: int) -> None:
    """Without it, what the first layer's weights are given is made a few samples at a time."""
    network = network_of((128, 40), delay=delay, second_threshold=0.5)
    p = random_problem(network, seed=7, steps=50, batch=48, dyadic=True)
    silent = replace(p, grad_spikes=tuple(0 * grad for grad in p.grad_spikes))
    forward = run(p, arch)
    arguments = (p.network, p.weights, p.ids, p.counts, forward, p.grad_membrane)
    one = arrays.backward(*arguments, threads=1, arch=arch)
    assert_near_reference(silent, forward, one)
    assert_same_bits(one, arrays.backward(*arguments, threads=2, arch=arch))
    both = arrays.backward(*arguments, inputs=True, arch=arch)
    assert_same_bits(one, replace(both, inputs=None))


class TestLastUse:
    @pytest.mark.parametrize("store", ["membranes", "spikes"])
    @pytest.mark.parametrize("everything", [False, True], ids=["training", "everything"])
    @pytest.mark.parametrize(
        "constants",
        [{}, {"recurrent": True}, {"second_threshold": 0.5}],
        ids=["all", "recurrent", "gated"],
    )
    def test_gives_the_same_bits(
        self, constants: Dict[str, Any], everything: bool, store: str
    ) -> None:
        """dL/dI overwrites the membranes or has its own memory."""
        network = network_of((150, 40), delay=1, decay=0.9, slope=1.0, **constants)
        problem = random_problem(network, seed=6, steps=9, batch=4)
        arch = native.supported_arch()
        forward = run(problem, arch, store=store)
        before = [layer.membranes.copy() for layer in forward.layers]
        arguments = (problem, forward, arch, 2, everything)
        first = gradients(*arguments, store=store)
        for layer, same in zip(forward.layers, before):
            np.testing.assert_array_equal(layer.membranes, same)
        assert_same_bits(first, gradients(*arguments, store=store, last_use=True))
        for layer, same in zip(forward.layers, before):
            written = not np.array_equal(layer.membranes, same)
            assert written == (store == "membranes" and "second_threshold" not in constants)


class TestDeterminism:
    @CONSTANTS
    def test_threads_and_runs_agree_to_the_bit(self, constants: Dict[str, Any]) -> None:
        network = network_of((150, 300), inputs=70, decay=0.9, **constants)
        problem = random_problem(network, seed=9, steps=30, batch=17, slots=20)
        arch = native.supported_arch()
        first = gradients(problem, run(problem, arch, 1), arch, 1)
        for threads in (1, 2, 2, 3, 8):
            other = gradients(problem, run(problem, arch, threads), arch, threads)
            assert_same_bits(first, other)


class TestRecord:
    problem = random_problem(network_of((20,)), seed=0)

    def test_a_run_that_kept_nothing_has_no_gradient(self) -> None:
        p = self.problem
        forward = arrays.forward(p.network, p.weights, p.ids, p.counts, store="nothing")
        assert forward.layers[0].membranes.size == 0
        np.testing.assert_array_equal(forward.membrane, run(p, 0).membrane)
        with pytest.raises(ValueError, match="should have"):
            gradients(p, forward, native.supported_arch())

    def test_wrong_gradients_are_named(self) -> None:
        p, forward = self.problem, run(self.problem, 0)
        with pytest.raises(ValueError, match="grad_membrane must be float32 of shape"):
            gradients(replace(p, grad_membrane=p.grad_membrane[:2]), forward, 0)
        with pytest.raises(ValueError, match=r"grad_spikes\[0\] must be float32 of shape"):
            gradients(replace(p, grad_spikes=(p.grad_spikes[0][:2],)), forward, 0)
