"""Gradients of losses on the mean membrane of the readout."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_ops.lif.cpu import arrays
from tests.ops.lif.cpu.kernels import (
    assert_near_reference,
    assert_same_bits,
    every_kernel,
    gradients,
    network_of,
    run,
)
from tests.ops.strategies import random_problem


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
