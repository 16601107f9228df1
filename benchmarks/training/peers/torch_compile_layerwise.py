"""One product per layer over all steps; the recurrence compiled in unrolled blocks of steps."""

from __future__ import annotations

import torch

from benchmarks.training.peers.torch_common import matrices, program, spike
from benchmarks.training.peers.torch_layerwise import network_of
from benchmarks.training.program import Program
from benchmarks.training.workload import DECAY, Workload

BLOCK = 25  # steps; longer blocks take minutes to compile


def lif_block(
    currents: torch.Tensor, membrane: torch.Tensor, spikes: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the spikes of a block's steps and the state after it."""
    emitted = []
    for current in currents.unbind(0):
        membrane = DECAY * membrane * (1 - spikes.detach()) + (1 - DECAY) * current
        spikes = spike(membrane)
        emitted.append(spikes)
    return torch.stack(emitted), membrane, spikes


def readout_block(
    currents: torch.Tensor, membrane: torch.Tensor, total: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the readout's membrane and its sum after a block."""
    for current in currents.unbind(0):
        membrane = DECAY * membrane + (1 - DECAY) * current
        total = total + membrane
    return membrane, total


def build(work: Workload, threads: int) -> Program:
    """Build the peer."""
    weights = matrices(work)
    compiled_lif = torch.compile(lif_block, dynamic=False)
    compiled_readout = torch.compile(readout_block, dynamic=False)

    def lif(currents: torch.Tensor) -> torch.Tensor:
        membrane = spikes = torch.zeros_like(currents[0])
        blocks = []
        for block in currents.split(BLOCK):
            emitted, membrane, spikes = compiled_lif(block, membrane, spikes)
            blocks.append(emitted)
        return torch.cat(blocks)

    def leaky_mean(currents: torch.Tensor) -> torch.Tensor:
        membrane = total = torch.zeros_like(currents[0])
        for block in currents.split(BLOCK):
            membrane, total = compiled_readout(block, membrane, total)
        return total / len(currents)

    network = network_of(weights, lif, leaky_mean)
    return program(work, network, weights)
