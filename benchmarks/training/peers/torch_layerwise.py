"""PyTorch by hand, written for speed: one matrix product per layer over all steps."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.training.peers.torch_common import Network, leaky_mean, matrices, program, spike
from benchmarks.training.program import Program
from benchmarks.training.workload import DECAY, Workload


def lif(currents: torch.Tensor) -> torch.Tensor:
    """Return the spikes [time, batch, neurons] of a layer; the reset passes no gradient."""
    membrane = spikes = torch.zeros_like(currents[0])
    emitted = []
    for current in ((1 - DECAY) * currents).unbind(0):
        membrane = DECAY * membrane * (1 - spikes.detach()) + current
        spikes = spike(membrane)
        emitted.append(spikes)
    return torch.stack(emitted)


def network_of(
    weights: list[torch.Tensor],
    neurons: Callable[[torch.Tensor], torch.Tensor],
    readout: Callable[[torch.Tensor], torch.Tensor],
) -> Network:
    """Return a network that multiplies all steps at once, then runs `neurons` over time."""

    def network(spikes: torch.Tensor, record: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        layers = []
        for matrix in weights[:-1]:
            spikes = neurons(spikes @ matrix)
            layers.append(spikes)
        return readout(spikes @ weights[-1]), layers if record else []

    return network


def build(
    work: Workload, threads: int, fused_adam: bool = False, bfloat16: bool = False
) -> Program:
    """Build the peer, with PyTorch's fused Adam or with products in bfloat16 if asked."""
    weights = matrices(work)
    network = network_of(weights, lif, leaky_mean)
    plain = program(work, network, weights, fused_adam=fused_adam)
    if not bfloat16:
        return plain
    narrow = torch.autocast("cpu", dtype=torch.bfloat16)
    return Program(
        narrow(plain.forward), narrow(plain.train), narrow(plain.gradients), narrow(plain.rates)
    )
