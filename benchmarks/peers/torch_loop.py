"""PyTorch by hand, step by step: what a tutorial's loop does."""

from __future__ import annotations

import torch

from benchmarks.peers.torch_side import matrices, program, spike
from benchmarks.program import Program
from benchmarks.workload import CLASSES, DECAY, Workload


def build(work: Workload, threads: int, fused_adam: bool) -> Program:
    """The peer's passes."""
    weights = matrices(work)
    first, second, readout = weights
    batch, neurons = work.config.batch, work.config.neurons

    def network(spikes: torch.Tensor, record: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        u1 = s1 = u2 = s2 = spikes.new_zeros(batch, neurons)
        membrane = total = spikes.new_zeros(batch, CLASSES)
        seen: tuple[list[torch.Tensor], list[torch.Tensor]] = ([], [])
        for now in spikes.unbind(0):
            u1 = DECAY * u1 * (1 - s1.detach()) + (1 - DECAY) * (now @ first)
            s1 = spike(u1)
            u2 = DECAY * u2 * (1 - s2.detach()) + (1 - DECAY) * (s1 @ second)
            s2 = spike(u2)
            membrane = DECAY * membrane + (1 - DECAY) * (s2 @ readout)
            total = total + membrane
            if record:
                seen[0].append(s1)
                seen[1].append(s2)
        return total / len(spikes), [torch.stack(layer) for layer in seen if layer]

    return program(work, network, weights, fused_adam=fused_adam)
