"""PyTorch by hand as a user writes it when speed matters: one product per layer over all steps."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.peers.torch_side import Network, leaky_mean, matrices, program, spike
from benchmarks.program import Program
from benchmarks.workload import DECAY, Workload


def lif(currents: torch.Tensor) -> torch.Tensor:
    """Spikes [time, batch, neurons] of a layer; the spike in the reset is a constant."""
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
    """Layer after layer: the products of all steps at once, then `neurons` over time."""

    def network(spikes: torch.Tensor, record: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        layers = []
        for matrix in weights[:-1]:
            spikes = neurons(spikes @ matrix)
            layers.append(spikes)
        return readout(spikes @ weights[-1]), layers if record else []

    return network


def build(work: Workload, threads: int, fused_adam: bool) -> Program:
    """The peer's passes."""
    weights = matrices(work)
    network = network_of(weights, lif, leaky_mean)
    return program(work, network, weights, fused_adam=fused_adam)
