"""Sinabs: layers.LIF and layers.ExpLeak, batch first."""

from __future__ import annotations

import math
from typing import Any

import torch
from sinabs import activation, layers

from benchmarks.peers.torch_side import linears, plain_linear, program
from benchmarks.program import Program
from benchmarks.workload import DECAY, SLOPE, Workload

TAU = -1 / math.log(DECAY)  # steps


def surrogate(membrane: torch.Tensor, threshold: float) -> torch.Tensor:
    """The benchmark's surrogate, called by Sinabs with both values."""
    return 1 / (SLOPE * (membrane - threshold).abs() + 1) ** 2


def build(work: Workload, threads: int, fused_adam: bool) -> Program:
    """The peer's passes."""

    def hidden() -> Any:
        return layers.LIF(
            tau_mem=TAU,
            spike_fn=activation.SingleSpike,
            reset_fn=activation.MembraneReset(),
            surrogate_grad_fn=surrogate,
            norm_input=True,
        )

    first, second, last = modules = linears(work, plain_linear)
    one, two = hidden(), hidden()
    readout = layers.ExpLeak(tau_mem=TAU, norm_input=True)
    for stateful in (one, two, readout):
        for constant in stateful.parameters():
            constant.requires_grad_(False)

    def reset() -> None:
        for stateful in (one, two, readout):
            if stateful.is_state_initialised():
                stateful.reset_states()

    def network(spikes: torch.Tensor, record: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        s1 = one(first(spikes))
        s2 = two(second(s1))
        return readout(last(s2)).mean(1), [s1, s2] if record else []

    return program(
        work,
        network,
        [module.weight for module in modules],
        fused_adam=fused_adam,
        transposed=True,
        batch_first=True,
        reset=reset,
    )
