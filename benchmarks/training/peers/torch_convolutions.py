"""A convolutional network in PyTorch: the times of its forward pass and step, as a line of JSON.

    python -m benchmarks.training.peers.torch_convolutions CONFIG.json compiled
    python -m benchmarks.training.peers.torch_convolutions CONFIG.json snntorch

CONFIG.json has the fields of ConvConfig in benchmarks.training.layers.conv_network. compiled: a
loop over time with a compiled step; snntorch: Conv2d and AvgPool2d of PyTorch, and snn.Leaky, not
compiled. Both compute on dense spikes, so that their times do not depend on rates.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import snntorch
import torch
from snntorch import surrogate
from torch import nn
from torch.nn.functional import cross_entropy

from benchmarks.training.child import memory
from benchmarks.training.peers.torch_common import spike
from benchmarks.training.workload import DECAY, SLOPE

PLANES = ("height", "width", "channels")


class Leaky(nn.Module):
    """Leaky neurons that are set to zero by a spike; returns spikes and the next membrane."""

    def forward(self, current: torch.Tensor, membrane: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the spikes and the membrane of one step."""
        membrane = DECAY * membrane + current
        spikes = spike(membrane)
        return spikes, membrane * (1 - spikes.detach())


def _pair(value: Any) -> tuple[int, int]:
    return (int(value[0]), int(value[1]))


class Network(nn.Module):
    """The layers of a configuration; `step` computes one time step from the membranes."""

    def __init__(self, config: dict[str, Any], neurons: Callable[[], nn.Module]) -> None:
        super().__init__()
        height, width, channels = (config["planes"][name] for name in PLANES)
        self.weights, self.neurons, self.pools = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for layer in config["layers"]:
            kernel, strides = _pair(layer["kernel"]), _pair(layer.get("strides", (1, 1)))
            padding = "same" if layer.get("padding") == "same" else 0
            pool = _pair(layer.get("pool", (1, 1)))
            filters = layer["filters"]
            self.weights.append(nn.Conv2d(channels, filters, kernel, strides, padding, bias=False))
            self.neurons.append(neurons())
            self.pools.append(nn.AvgPool2d(pool) if pool != (1, 1) else nn.Identity())
            lost = (0, 0) if padding else (kernel[0] - 1, kernel[1] - 1)
            height = ((height - lost[0] - 1) // strides[0] + 1) // pool[0]
            width = ((width - lost[1] - 1) // strides[1] + 1) // pool[1]
            channels = filters
        sizes = [height * width * channels]
        if config["neurons"]:
            sizes.append(config["neurons"])
            self.weights.append(nn.Sequential(nn.Flatten(), nn.Linear(*sizes, bias=False)))
            self.neurons.append(neurons())
            self.pools.append(nn.Identity())
        self.last = nn.Linear(sizes[-1], config["classes"], bias=False)

    def step(self, now: torch.Tensor, states: list[Any], readout: Any) -> tuple[Any, list[Any]]:
        """Return the readout's membrane and the membranes of the layers after one step."""
        after = []
        for weights, neurons, pool, membrane in zip(
            self.weights, self.neurons, self.pools, states, strict=True
        ):
            spikes, membrane = neurons(weights(now), membrane)
            after.append(membrane)
            now = pool(spikes)
        return DECAY * readout + self.last(now.flatten(1)), after

    def begin(self, first: torch.Tensor) -> tuple[Any, list[Any]]:
        """Return zeros for every membrane."""
        states = []
        for weights, pool in zip(self.weights, self.pools, strict=True):
            current = weights(first)
            states.append(torch.zeros_like(current).contiguous())
            first = pool(current)
        return torch.zeros_like(self.last(first.flatten(1))), states


def programs(config: dict[str, Any], system: str) -> dict[str, Callable[[], Any]]:
    """Return the forward pass and the training step."""
    torch.manual_seed(1)
    height, width, channels = (config["planes"][name] for name in PLANES)
    spikes = torch.rand(config["steps"], config["batch"], channels, height, width)
    spikes = (spikes < config["rate"]).float()
    labels = torch.randint(0, config["classes"], (config["batch"],))

    def leaky() -> nn.Module:
        if system == "compiled":
            return Leaky()
        gradient = surrogate.fast_sigmoid(slope=SLOPE)
        return snntorch.Leaky(beta=DECAY, spike_grad=gradient, reset_mechanism="zero")

    network = Network(config, leaky)
    step = torch.compile(network.step) if system == "compiled" else network.step
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-6)
    with torch.no_grad():
        zeros = network.begin(spikes[0])

    def mean() -> torch.Tensor:
        readout, states = zeros
        total: Any = 0.0
        for now in spikes.unbind(0):
            readout, states = step(now, states, readout)
            total = total + readout
        result: torch.Tensor = total / len(spikes)
        return result

    def forward() -> float:
        with torch.no_grad():
            return float(mean().sum())

    def train() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(mean(), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return {"forward": forward, "step": train}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("system", choices=("compiled", "snntorch"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found: dict[str, tuple[list[float], list[float]]] = {}
    for name, run in programs(json.loads(options.config.read_text()), options.system).items():
        run(), run()  # compiles, and warms up
        times, processor = [], []
        for _ in range(options.repeats):
            began, spent = time.perf_counter(), time.process_time()
            run()
            times.append(1e3 * (time.perf_counter() - began))
            processor.append(1e3 * (time.process_time() - spent))
        found[name] = (times, processor)
    print(json.dumps({"programs": found, "peak_mib": round(memory()["peak_mib"])}))


if __name__ == "__main__":
    main()
