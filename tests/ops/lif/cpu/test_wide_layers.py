"""Gradients of wide layers, which need fewer products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipulse_ops.lif.cpu import arrays, native
from tests.ops.lif.cpu.kernels import (
    assert_near_reference,
    assert_same_bits,
    every_kernel,
    gradients,
    network_of,
    run,
)
from tests.ops.strategies import Problem, random_problem


@every_kernel()
class TestStrassen:
    """Gradients of layers that are wide enough for Strassen's multiplication."""

    @pytest.mark.sample(1)
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


@pytest.mark.verify
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
@pytest.mark.sample(1)
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
