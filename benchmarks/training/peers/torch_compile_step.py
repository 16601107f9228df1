"""torch.compile of one time step of the whole network, called in a loop."""

from __future__ import annotations

import torch

from benchmarks.training.peers.torch_common import matrices, program, spike
from benchmarks.training.program import Program
from benchmarks.training.workload import CLASSES, DECAY, Workload

State = tuple[torch.Tensor, ...]


def step(now: torch.Tensor, state: State, weights: list[torch.Tensor]) -> State:
    """Advance membranes and spikes of both layers, the readout's membrane and its sum by a step."""
    u1, s1, u2, s2, membrane, total = state
    u1 = DECAY * u1 * (1 - s1.detach()) + (1 - DECAY) * (now @ weights[0])
    s1 = spike(u1)
    u2 = DECAY * u2 * (1 - s2.detach()) + (1 - DECAY) * (s1 @ weights[1])
    s2 = spike(u2)
    membrane = DECAY * membrane + (1 - DECAY) * (s2 @ weights[2])
    return u1, s1, u2, s2, membrane, total + membrane


def build(work: Workload, threads: int) -> Program:
    """Build the peer."""
    weights = matrices(work)
    batch, neurons = work.config.batch, work.config.neurons
    compiled = torch.compile(step, dynamic=False)

    def network(spikes: torch.Tensor, record: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        hidden = (spikes.new_zeros(batch, neurons) for _ in range(4))
        state = (*hidden, *(spikes.new_zeros(batch, CLASSES) for _ in range(2)))
        seen: tuple[list[torch.Tensor], list[torch.Tensor]] = ([], [])
        for now in spikes.unbind(0):
            state = compiled(now, state, weights)
            if record:
                seen[0].append(state[1])
                seen[1].append(state[3])
        return state[5] / len(spikes), [torch.stack(layer) for layer in seen if layer]

    return program(work, network, weights)
