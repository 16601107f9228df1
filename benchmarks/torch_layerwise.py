"""The peer: the same training step as a PyTorch user would write it when speed matters.

One matrix product per layer over all steps, the recurrence step by step, autograd, Adam. Runs in an
environment of its own as a child of benchmarks/peers.py: reads one command per line, answers each
with one line of JSON.

    python torch_layerwise.py WORKLOAD.npz CONFIG THREADS
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).resolve().parent))

from workload import CONFIGS, DECAY, LEARNING_RATE, SLOPE, load


class Spike(torch.autograd.Function):
    """1 where the membrane is above 1, with the SuperSpike surrogate as its derivative."""

    @staticmethod
    def forward(ctx: Any, membrane: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(membrane)
        return (membrane > 1).to(membrane.dtype)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (membrane,) = ctx.saved_tensors
        return grad / (SLOPE * (membrane - 1).abs() + 1) ** 2


def lif(currents: torch.Tensor) -> torch.Tensor:
    """Spikes [time, batch, neurons] of a layer; the spike in the reset is a constant."""
    membrane = torch.zeros_like(currents[0])
    spikes = torch.zeros_like(membrane)
    emitted = []
    for current in currents.unbind(0):
        membrane = DECAY * membrane * (1 - spikes.detach()) + (1 - DECAY) * current
        spikes = Spike.apply(membrane)
        emitted.append(spikes)
    return torch.stack(emitted)


def logits_of(spikes: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    """Mean over time of the readout's membrane [batch, classes]."""
    for matrix in weights[:-1]:
        spikes = lif(spikes @ matrix)
    membrane = torch.zeros(spikes.shape[1], weights[-1].shape[1])
    total = torch.zeros_like(membrane)
    for current in (spikes @ weights[-1]).unbind(0):
        membrane = DECAY * membrane + (1 - DECAY) * current
        total = total + membrane
    return total / len(spikes)


def main(path: str, name: str, threads: str) -> None:
    """Answers `forward`, `train` and `gradients FILE` until the input ends."""
    torch.set_num_threads(int(threads))
    work = load(Path(path), CONFIGS[name])
    spikes, labels = torch.from_numpy(work.spikes), torch.from_numpy(work.labels)
    weights = [torch.from_numpy(matrix).requires_grad_() for matrix in work.weights]
    optimizer = torch.optim.Adam(weights, lr=LEARNING_RATE)

    def loss_and_gradients() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(logits_of(spikes, weights), labels)
        loss.backward()
        return loss

    print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        command, *arguments = line.split()
        start, cpu = time.perf_counter(), time.process_time()
        if command == "forward":
            with torch.no_grad():
                loss = cross_entropy(logits_of(spikes, weights), labels)
        else:
            loss = loss_and_gradients()
            if command == "train":
                optimizer.step()
        answer = {
            "loss": loss.item(),
            "ms": 1e3 * (time.perf_counter() - start),
            "cpu_ms": 1e3 * (time.process_time() - cpu),
        }
        if command == "gradients":
            np.savez(arguments[0], *(matrix.grad.numpy() for matrix in weights))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
