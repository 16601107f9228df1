"""Every kernel yields the same bits for any number of threads, and those of one written order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Tuple

import numpy as np
import pytest

from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from tests.ops.flushing import flushing_to_zero, needs_flushing
from tests.ops.lif.cpu import canonical
from tests.ops.lif.cpu.kernels import (
    as_words,
    assert_same_bits,
    assert_same_on_every_kernel,
    every_kernel,
    gradients,
    masks,
    network_of,
    run,
)
from tests.ops.strategies import Problem, random_problem

EDGES = (1, 15, 16, 17, 127, 128, 129, 255, 256, 257)
FLAGS = (False, True)


def problem_of(sizes: Tuple[int, ...], gate: bool, seed: int = 0, **more: Any) -> Problem:
    shape = {"steps": more.pop("steps", 5), "batch": more.pop("batch", 3)}
    network = network_of(sizes, second_threshold=0.5 if gate else None, **more)
    return random_problem(network, seed=seed, **shape)


@pytest.mark.parametrize("gate", FLAGS)
@pytest.mark.parametrize("neurons", EDGES)
def test_layers_of_every_width(neurons: int, gate: bool) -> None:
    """Around the edges of lanes, chunks and blocks, of general floats."""
    assert_same_on_every_kernel(problem_of((33, neurons), gate, classes=neurons), threads=(1, 2))
    problem = problem_of((neurons, 700), gate, steps=2, seed=1)
    assert_same_on_every_kernel(problem, everything=True)


@pytest.mark.parametrize("gate", FLAGS)
def test_recurrent_layers_of_several_chunks(gate: bool) -> None:
    problem = problem_of((150, 200), gate, recurrent=True)
    assert_same_on_every_kernel(problem, threads=(1, 3), everything=True)


def test_products_of_strassen() -> None:
    """An odd number of rows, and a sample without a pair."""
    problem = problem_of((512, 512), gate=False, steps=3, batch=3)
    assert_same_on_every_kernel(problem, threads=(1, 2))


@pytest.mark.parametrize("gate", FLAGS)
def test_one_to_sixteen_threads(gate: bool) -> None:
    problem = problem_of((300, 260), gate, steps=7, batch=9)
    assert_same_on_every_kernel(problem, threads=(1, 2, 3, 4, 8, 16))


def scaled(problem: Problem, scale: float) -> Problem:
    """The problem with a loss of another scale."""
    return replace(
        problem,
        grad_membrane=(problem.grad_membrane * scale).astype(np.float32),
        grad_spikes=tuple((g * scale).astype(np.float32) for g in problem.grad_spikes),
    )


@pytest.mark.parametrize("gate", FLAGS)
def test_tiny_and_huge_gradients(gate: bool) -> None:
    """Sums that are subnormal, and terms that cancel."""
    for scale in (1e-38, 1e-42, 1e30):
        found = assert_same_on_every_kernel(scaled(problem_of((40, 130), gate), scale))
        assert all(np.isfinite(grad).all() for grad in found.weights)
        if scale < 1e-37:
            smallest = np.finfo(np.float32).tiny
            assert np.any((found.weights[0] != 0) & (np.abs(found.weights[0]) < smallest))


def one_step(neurons: int, gate: bool) -> Tuple[Problem, np.ndarray, np.ndarray]:
    """A network with one product as the gradient of its first weights.

    All membranes end at the threshold, where the surrogate is 1, and every scale is 1. Returns the
    problem, dL/dI of the readout and the weights that it is multiplied by.
    """
    hidden = 21
    network = Network(
        inputs=1,
        layers=(
            LIF(hidden, decay=0.0, gain=1.0, threshold=1.0, second_threshold=0.5 if gate else None),
        ),
        readout=LeakyReadout(neurons, decay=0.0, gain=1.0),
    )
    rng = np.random.Generator(np.random.PCG64(neurons))
    scales = np.exp2(rng.integers(-12, 12, neurons))  # so that every order rounds differently
    current = (rng.normal(size=neurons) * scales).astype(np.float32)
    weights = rng.normal(size=(hidden, neurons)).astype(np.float32)
    problem = Problem(
        network=network,
        seed=0,
        weights=(np.ones((1, hidden), np.float32), weights),
        ids=np.zeros((1, 1, 1), np.int32),
        counts=np.ones((1, 1), np.int32),
        grad_membrane=current.reshape(1, 1, -1),
        grad_spikes=(np.zeros((1, 1, hidden), np.float32),),
        grad_u=(np.zeros((1, 1, hidden), np.float32),),
    )
    return problem, current, weights


@every_kernel()
@pytest.mark.parametrize("gate", FLAGS)
def test_products_have_the_written_order(arch: int, gate: bool) -> None:
    product = canonical.sampled_product if gate else canonical.dense_product
    for neurons in (*EDGES, 700, 2500):
        problem, current, weights = one_step(neurons, gate)
        found = gradients(problem, run(problem, arch), arch).weights[0][0]
        np.testing.assert_array_equal(as_words(found), as_words(product(current, weights)))


@needs_flushing
@pytest.mark.parametrize("gate", FLAGS)
def test_callers_that_flush_small_numbers(gate: bool) -> None:
    problem = scaled(problem_of((40, 130), gate), 1e-38)
    smallest = np.float32(np.finfo(np.float32).tiny)
    for arch in masks():
        exact = gradients(problem, run(problem, arch), arch)
        with flushing_to_zero():
            assert smallest / np.float32(2) == 0  # it is set,
            for threads in (1, 2, 3):
                forward = run(problem, arch, threads)
                assert_same_bits(gradients(problem, forward, arch, threads), exact)
            assert smallest / np.float32(2) == 0  # and restored
        assert smallest / np.float32(2) != 0


def test_every_kernel_of_this_machine_was_compared() -> None:
    assert native.description()["cpu_mask"] in masks()
    assert len(masks()) > 1
