"""Norse: LIFBoxCell lifted over time."""

from __future__ import annotations

import norse.torch
import torch
from norse.torch.functional.leaky_integrator_box import LIBoxParameters
from norse.torch.module.leaky_integrator_box import LIBoxCell

from benchmarks.peers.torch_side import linears, plain_linear, program
from benchmarks.program import Program
from benchmarks.workload import DECAY, SLOPE, Workload


def build(work: Workload, threads: int, fused_adam: bool) -> Program:
    """The peer's passes."""
    rate = torch.tensor(1 - DECAY)  # 1 / tau, per step
    constants = norse.torch.LIFBoxParameters(
        tau_mem_inv=rate, method="super", alpha=torch.tensor(SLOPE)
    )
    first, second, last = modules = linears(work, plain_linear)
    one, two = (norse.torch.Lift(norse.torch.LIFBoxCell(constants, dt=1.0)) for _ in range(2))
    readout = norse.torch.Lift(LIBoxCell(LIBoxParameters(tau_mem_inv=rate), dt=1.0))

    def network(spikes: torch.Tensor, record: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        s1, _ = one(first(spikes))
        s2, _ = two(second(s1))
        membranes, _ = readout(last(s2))
        return membranes.mean(0), [s1, s2] if record else []

    parameters = [module.weight for module in modules]
    return program(work, network, parameters, fused_adam=fused_adam, transposed=True)
