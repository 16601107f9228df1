"""snnTorch: snn.Leaky, step by step."""

from __future__ import annotations

import snntorch
import torch
from snntorch import surrogate

from benchmarks.training.peers.torch_common import linears, plain_linear, program
from benchmarks.training.program import Program
from benchmarks.training.workload import DECAY, SLOPE, Workload


def build(work: Workload, threads: int) -> Program:
    """Build the peer. Leaky does not scale its input, so the weights do."""
    gain = 1 - DECAY
    first, second, last = modules = linears(work, plain_linear, gain)

    def hidden() -> snntorch.Leaky:
        return snntorch.Leaky(
            beta=DECAY,
            threshold=1.0,
            spike_grad=surrogate.fast_sigmoid(slope=SLOPE),
            reset_mechanism="zero",
        )

    one, two = hidden(), hidden()
    readout = snntorch.Leaky(beta=DECAY, reset_mechanism="none")

    def network(spikes: torch.Tensor, record: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        u1, u2, u3 = one.reset_mem(), two.reset_mem(), readout.reset_mem()
        membranes = []
        seen: tuple[list[torch.Tensor], list[torch.Tensor]] = ([], [])
        for now in spikes.unbind(0):
            s1, u1 = one(first(now), u1)
            s2, u2 = two(second(s1), u2)
            _, u3 = readout(last(s2), u3)
            membranes.append(u3)
            if record:
                seen[0].append(s1)
                seen[1].append(s2)
        return torch.stack(membranes).mean(0), [torch.stack(layer) for layer in seen if layer]

    parameters = [module.weight for module in modules]
    return program(work, network, parameters, transposed=True, gain=gain)
