"""A backward pass from spikes alone takes long samples in groups, with the same bits."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np
import pytest

from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.network import LIF, LeakyReadout, Network, SuperSpike
from tests.ops.lif.cpu.kernels import assert_same_bits, gradients, run
from tests.ops.strategies import random_problem

# Seven samples of 2.4 MB in a layer: groups of six and one.
STEPS, SAMPLES, NEURONS = 6000, 7, 100
SEED = 4
LAYERS: Dict[str, Dict[str, Any]] = {
    "plain": {},
    "gated": {"second_threshold": 0.5},
    "few slots": {"second_threshold": 0.5, "capacity": 60},
    "recurrent": {"recurrent": True, "bias": True},
    "adaptive": {
        "adaptation_strength": 0.25,
        "adaptation_decay": 0.75,
        "synapse_decay": 0.5,
        "bias": True,
    },
}
NETWORKS: Dict[str, Dict[str, Any]] = {
    "truncated": {"truncate": 50},
    "delayed": {"delay": 3},
}


def network_with(layer: Dict[str, Any], **more: Any) -> Network:
    return Network(
        inputs=12,
        layers=(LIF(NEURONS, decay=0.75, gain=2.0, **layer), LIF(33, decay=0.75, gain=2.0)),
        readout=LeakyReadout(5, decay=0.5, gain=2.0, bias=True),
        surrogate=SuperSpike(10.0),
        **more,
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [*LAYERS, *NETWORKS])
def test_gradients_have_the_bits_of_stored_membranes(name: str) -> None:
    network = network_with(LAYERS.get(name, {}), **NETWORKS.get(name, {}))
    problem = random_problem(network, seed=SEED, steps=STEPS, batch=SAMPLES, slots=6)
    arch = native.supported_arch()
    for everything in (False, True):
        found = [
            gradients(
                problem,
                run(problem, arch, threads=2, store=store),
                arch,
                threads=2,
                everything=everything,
                store=store,
            )
            for store in ("membranes", "spikes")
        ]
        assert_same_bits(*found)
        assert all(np.abs(grad).max() > 0 for grad in found[0].weights)


@pytest.mark.sample(0)
def test_layers_that_are_cut_otherwise_where_they_are_long() -> None:
    """More than 64 MiB of membranes: narrower panels of the whole batch, not of its groups."""
    network = Network(
        inputs=8,
        layers=(LIF(20, decay=0.75, second_threshold=0.5), LIF(256, decay=0.75, gain=2.0)),
        readout=LeakyReadout(3, decay=0.5),
        surrogate=SuperSpike(10.0),
    )
    problem = random_problem(network, seed=SEED, steps=9000, batch=8, slots=3)
    stores, arch = ("membranes", "spikes"), native.supported_arch()
    forwards = [run(problem, arch, threads=2, store=store) for store in stores]
    assert_same_bits(
        *(
            gradients(problem, forward, arch, threads=2, store=store)
            for forward, store in zip(forwards, stores)
        )
    )
