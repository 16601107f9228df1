"""The backward pass of every kernel against the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict

import numpy as np
import pytest
from hypothesis import assume, given
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
from tests.ops.repeated import examples
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
    @examples(60)
    @given(problem=problems(dyadic=True, variants=True), everything=st.booleans())
    def test_dyadic_problems(self, arch: int, problem: Problem, everything: bool) -> None:
        """The membranes are exact here, so that only the backward pass rounds."""
        problem = with_gradient_only(problem)
        forward = run(problem, arch)
        actual = gradients(problem, forward, arch, everything=everything)
        assert_near_reference(problem, forward, actual)

    @examples(60)
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
@pytest.mark.same_on_every_python
class TestStrassen:
    """Gradients of layers that are wide enough for Strassen's multiplication."""

    @pytest.mark.parametrize(
        ("neurons", "batch", "steps", "delay", "is_used"),
        [
            *[((512, 512), 3, 130, delay, True) for delay in (0, 1)],
            *[((1024, 1024), 21, 3, delay, True) for delay in (0, 1)],
            ((512, 1024), 20, 2, 0, True),
            ((1024, 1024, 1024), 5, 5, 1, True),
            ((2048, 2048), 13, 3, 0, False),
        ],
        ids=[
            *("long", "long, delay", "several samples", "several samples, delay"),
            *("other widths", "two products", "too much memory"),
        ],
    )
    def test_gradients(
        self,
        arch: int,
        neurons: tuple[int, ...],
        batch: int,
        steps: int,
        delay: int,
        is_used: bool,
    ) -> None:
        """An odd batch leaves one sample for the plain product."""
        network = network_of(neurons, inputs=30, delay=delay, decay=0.9, slope=1.0)
        problem = random_problem(network, seed=sum(neurons), steps=steps, batch=batch, slots=12)
        forward = run(problem, arch)
        assert all(layer.spike_counts[..., 0].max() > 0 for layer in forward.layers)
        native.clock_phases(True)
        try:
            actual = gradients(problem, forward, arch)
            sums = sum(native.phases()["add_blocks"])
        finally:
            native.clock_phases(False)
        assert (sums > 0) is is_used
        assert_near_reference(problem, forward, actual, 5e-6)
        for threads in (2, 3):
            assert_same_bits(actual, gradients(problem, forward, arch, threads))


@pytest.mark.same_on_every_python
def test_gradients_of_long_layers_add_up_over_samples() -> None:
    """The gradient of 33 samples is the sum of those of 17 and 16.

    Only the membranes of the 33 take more than 64 MiB, so that the panels have another width.
    """
    arch = native.supported_arch()
    network = network_of((1024, 1024), inputs=30, decay=0.9, slope=1.0)
    problem = random_problem(network, seed=3, steps=500, batch=33, slots=12)
    assert 500 * 33 * 1024 * 4 > 64 << 20 > 500 * 17 * 1024 * 4
    forward = run(problem, arch)
    actual = gradients(problem, forward, arch)
    for threads in (2, 3):
        assert_same_bits(actual, gradients(problem, forward, arch, threads))
    halves = [samples_of(problem, samples) for samples in (slice(17), slice(17, None))]
    parts = [gradients(half, run(half, arch), arch).weights for half in halves]
    for whole, some, others in zip(actual.weights, *parts):
        np.testing.assert_allclose(whole, some + others, rtol=0, atol=1e-5 * np.abs(whole).max())


def samples_of(problem: Problem, samples: slice) -> Problem:
    """The same problem with some of its samples."""
    return replace(
        problem,
        ids=problem.ids[:, samples],
        counts=problem.counts[:, samples],
        grad_membrane=problem.grad_membrane[:, samples],
        grad_spikes=tuple(grad[:, samples] for grad in problem.grad_spikes),
        grad_u=tuple(grad[:, samples] for grad in problem.grad_u),
    )


@every_kernel()
@pytest.mark.parametrize("store", ["membranes", "spikes"])
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize(
    "constants",
    [{}, {"second_threshold": -0.25}, {"second_threshold": 0.5}, {"capacity": 6}],
    ids=["all", "many", "few", "six slots"],
)
class TestLossOnTheMeanOfTheReadout:
    """Gradients of a loss with the same derivative at all steps."""

    def test_gradients(self, arch: int, store: str, delay: int, constants: Dict[str, Any]) -> None:
        network = network_of((90, 70), classes=21, delay=delay, **constants)
        problem = random_problem(network, seed=4, steps=9, batch=6)
        mean = np.broadcast_to(problem.grad_membrane[:1], problem.grad_membrane.shape).copy()
        silent = tuple(0 * grad for grad in problem.grad_spikes)
        p = replace(problem, grad_membrane=mean, grad_spikes=silent)
        forward = run(p, arch, store=store)

        def actual(threads: int) -> arrays.KernelGradients:
            arguments = (p.network, p.weights, p.ids, p.counts, forward, p.grad_membrane)
            return arrays.backward(*arguments, store=store, threads=threads, arch=arch)

        one = actual(1)
        assert_near_reference(p, forward, one)
        for threads in (2, 3):
            assert_same_bits(one, actual(threads))

    def test_readouts_with_a_decay_per_neuron(
        self, arch: int, store: str, delay: int, constants: Dict[str, Any]
    ) -> None:
        network = network_of((40,), classes=5, delay=delay, **constants)
        decay = np.linspace(0.1, 0.9, 5)
        network = replace(network, readout=replace(network.readout, decay=decay))
        problem = random_problem(network, seed=4, steps=9, batch=2)
        mean = np.broadcast_to(problem.grad_membrane[:1], problem.grad_membrane.shape).copy()
        p = replace(problem, grad_membrane=mean)
        forward = run(p, arch, store=store)
        assert_near_reference(p, forward, gradients(p, forward, arch, store=store))


@every_kernel()
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("gate", [{}, {"second_threshold": 0.5}, {"capacity": 6}])
@pytest.mark.parametrize(
    "variant",
    [{"recurrent": True}, {"bias": True}, {"reset": "subtract"}, {"loss on spikes": True}],
    ids=lambda variant: next(iter(variant)),
)
def test_losses_on_the_mean_in_other_networks(
    arch: int, delay: int, gate: Dict[str, Any], variant: Dict[str, Any]
) -> None:
    """A loss on the mean of a readout with a bias, after layers of other kinds."""
    network = network_of((40, 70), classes=21, delay=delay, **gate)
    hidden, last = network.layers
    flags = {name: variant[name] for name in ("recurrent", "bias") if name in variant}
    network = replace(
        network,
        layers=(hidden, replace(last, **flags)),
        readout=replace(network.readout, bias=True),
        reset=variant.get("reset", "zero"),
    )
    problem = random_problem(network, seed=8, steps=9, batch=6)
    mean = np.broadcast_to(problem.grad_membrane[:1], problem.grad_membrane.shape).copy()
    p = replace(problem, grad_membrane=mean)
    if not variant.get("loss on spikes"):
        p = replace(p, grad_spikes=tuple(0 * grad for grad in p.grad_spikes))
    forward = run(p, arch)
    one = gradients(p, forward, arch)
    assert_near_reference(p, forward, one)
    for threads in (2, 3):
        assert_same_bits(one, gradients(p, forward, arch, threads))


@every_kernel()
def test_more_slots_than_are_multiplied_at_once(arch: int) -> None:
    """Every neuron has a slot, so that the samples are multiplied in several runs.

    The gradients are those of a network without a second threshold.
    """
    network = network_of((1024, 1024), inputs=10, slope=1.0, second_threshold=-1e6)
    p = random_problem(network, seed=3, steps=40, batch=25, slots=4)
    exact = replace(p, network=network_of((1024, 1024), inputs=10, slope=1.0))
    slots, dense = (
        arrays.backward(
            *(q.network, q.weights, q.ids, q.counts, run(q, arch, 2), q.grad_membrane),
            threads=2,
            arch=arch,
        ).weights
        for q in (p, exact)
    )
    for a, b in zip(slots, dense):
        assert np.abs(a - b).max() <= 1e-5 * np.abs(a).max()


@every_kernel()
@pytest.mark.parametrize("store", ["membranes", "spikes"])
@pytest.mark.parametrize("delay", [0, 1])
def test_many_neurons_in_slots(arch: int, store: str, delay: int) -> None:
    """Between two fifths and all of the neurons are in slots."""
    network = network_of((200, 40), delay=delay, second_threshold=-0.25)
    problem = random_problem(network, seed=5, steps=7, batch=3, dyadic=True)
    silent = replace(problem, grad_spikes=tuple(0 * grad for grad in problem.grad_spikes))
    p, forward = problem, run(problem, arch, store=store)
    kept = forward.layers[0].spike_counts[..., 1].mean() / 200
    assert 0.4 < kept < 0.95
    arguments = (p.network, p.weights, p.ids, p.counts, forward, p.grad_membrane)
    one = arrays.backward(*arguments, store=store, arch=arch)
    assert_near_reference(silent, forward, one)
    assert_same_bits(one, arrays.backward(*arguments, store=store, threads=2, arch=arch))


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
