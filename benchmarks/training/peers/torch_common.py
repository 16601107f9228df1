"""Parts that the PyTorch peers share: surrogate gradient, optimizer, and the passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from benchmarks.training.program import Program
from benchmarks.training.workload import DECAY, LEARNING_RATE, SLOPE, Workload

# Input spikes -> logits [batch, classes] and the spikes of both hidden layers, or None for those.
Network = Callable[[torch.Tensor, bool], tuple[torch.Tensor, list[torch.Tensor]]]


class Spike(torch.autograd.Function):
    """Spike where the membrane exceeds its threshold, with SuperSpike as the derivative."""

    @staticmethod
    def forward(ctx: Any, distance: torch.Tensor) -> torch.Tensor:
        """Return the spikes."""
        ctx.save_for_backward(distance)
        return (distance > 0).to(distance.dtype)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the surrogate gradient."""
        (distance,) = ctx.saved_tensors
        return grad / (SLOPE * distance.abs() + 1) ** 2


def spike(membrane: torch.Tensor) -> torch.Tensor:
    """Return the spikes of a membrane with threshold 1."""
    result: torch.Tensor = Spike.apply(membrane - 1)
    return result


def matrices(work: Workload) -> list[torch.Tensor]:
    """Return the workload's weights [N_in, N_out] as leaves of the graph."""
    return [torch.from_numpy(matrix.copy()).requires_grad_() for matrix in work.weights]


def linears(
    work: Workload, factory: Callable[[int, int], torch.nn.Module], gain: float = 1.0
) -> list[Any]:
    """Return a linear module per matrix, with the workload's weights times `gain`."""
    modules = []
    for matrix in work.weights:
        module: Any = factory(*matrix.shape)
        with torch.no_grad():
            module.weight.copy_(torch.from_numpy(matrix * np.float32(gain)).t())
        modules.append(module)
    return modules


def plain_linear(inputs: int, outputs: int) -> torch.nn.Module:
    """Return the layer that most libraries put before their neurons."""
    return torch.nn.Linear(inputs, outputs, bias=False)


def leaky_mean(currents: torch.Tensor) -> torch.Tensor:
    """Return the mean over time of a leaky readout's membrane; currents [time, batch, classes]."""
    membrane = total = torch.zeros_like(currents[0])
    for current in ((1 - DECAY) * currents).unbind(0):
        membrane = DECAY * membrane + current
        total = total + membrane
    return total / len(currents)


def program(
    work: Workload,
    network: Network,
    parameters: list[torch.Tensor],
    *,
    fused_adam: bool = False,
    transposed: bool = False,
    gain: float = 1.0,
) -> Program:
    """Return the passes of a network.

    transposed: the parameters are [N_out, N_in].
    gain: the parameters are the workload's weights times it.
    """
    spikes, labels = torch.from_numpy(work.spikes), torch.from_numpy(work.labels)
    optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE, fused=True if fused_adam else None)

    def loss_with_gradients() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(network(spikes, False)[0], labels)
        loss.backward()
        return loss

    def forward() -> float:
        with torch.no_grad():
            return cross_entropy(network(spikes, False)[0], labels).item()

    def train() -> float:
        loss = loss_with_gradients()
        optimizer.step()
        return loss.item()

    def gradients() -> list[np.ndarray]:
        loss_with_gradients()
        found = [parameter.grad for parameter in parameters]
        assert all(grad is not None for grad in found)
        return [
            (grad.t() if transposed else grad).float().numpy() * np.float32(gain)
            for grad in found
            if grad is not None
        ]

    def rates() -> list[float]:
        with torch.no_grad():
            return [float(layer.mean()) for layer in network(spikes, True)[1]]

    return Program(forward, train, gradients, rates)
