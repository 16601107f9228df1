"""SpikingJelly: LIFNode over all steps at once, PyTorch backend."""

from __future__ import annotations

from typing import Any

import torch
from spikingjelly.activation_based import functional, layer, neuron

from benchmarks.peers.torch_side import Spike, linears, program
from benchmarks.program import Program
from benchmarks.workload import DECAY, Workload

TAU = 1 / (1 - DECAY)  # steps


def surrogate(distance: torch.Tensor) -> torch.Tensor:
    """The benchmark's surrogate: SpikingJelly hands over u - threshold."""
    result: torch.Tensor = Spike.apply(distance)
    return result


def build(work: Workload, threads: int, fused_adam: bool) -> Program:
    """The peer's passes."""

    def linear(inputs: int, outputs: int) -> Any:
        return layer.Linear(inputs, outputs, bias=False, step_mode="m")

    def hidden() -> Any:
        return neuron.LIFNode(
            tau=TAU,
            decay_input=True,
            v_threshold=1.0,
            v_reset=0.0,
            surrogate_function=surrogate,
            detach_reset=True,
            step_mode="m",
        )

    first, second, last = modules = linears(work, linear)
    one, two = hidden(), hidden()
    readout = neuron.NonSpikingLIFNode(tau=TAU, decode="mean-mem")
    stateful = torch.nn.ModuleList([one, two, readout])

    def network(spikes: torch.Tensor, record: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        s1 = one(first(spikes))
        s2 = two(second(s1))
        return readout(last(s2)), [s1, s2] if record else []

    return program(
        work,
        network,
        [module.weight for module in modules],
        fused_adam=fused_adam,
        transposed=True,
        reset=lambda: functional.reset_net(stateful),
    )
