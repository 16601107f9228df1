"""Counts the operations of networks with NeuroBench.

`neurobench_program.py APART NETWORKS INPUTS OUTPUTS`.

NETWORKS is a JSON file of a list: the steps' `reset` and the `layers` of each network. INPUTS is an
.npz file with its arrays and its spikes, named `NUMBER/NAME`. OUTPUTS takes what NeuroBench says of
each network as JSON. It is a user's program and imports nothing of IPUlse.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

apart, networks_path, inputs_path, outputs_path = sys.argv[1:]
sys.path.append(apart)

import numpy as np  # noqa: E402 (it may be in APART)
import torch  # noqa: E402
from neurobench.benchmarks import Benchmark  # noqa: E402
from neurobench.metrics.static import ConnectionSparsity, ParameterCount  # noqa: E402
from neurobench.metrics.workload import ActivationSparsity, SynapticOperations  # noqa: E402
from neurobench.models import TorchModel  # noqa: E402
from torch import nn  # noqa: E402

Arrays = dict[str, np.ndarray]


class Neurons(nn.Module):
    """Neurons that integrate, leak and fire; those of a readout do not fire."""

    def __init__(self, reset: str, fires: bool) -> None:
        super().__init__()
        self.reset, self.fires = reset, fires
        self.membrane = torch.zeros(())

    def forward(self, current: torch.Tensor) -> torch.Tensor:
        reached = 0.5 * self.membrane + current
        spikes = ((reached > 1) & self.fires).to(reached)
        self.membrane = reached * (1 - spikes) if self.reset == "zero" else reached - spikes
        return spikes


class Layer(nn.Module):
    """Connections, neurons and a pool; spikes arrive `delay` steps later."""

    def __init__(self, layer: dict[str, Any], arrays: Arrays, reset: str) -> None:
        super().__init__()
        name = layer["name"]
        weights, bias = arrays[name], arrays.get(f"{name}_bias")
        if layer["conv"] is None:
            self.connections: nn.Module = _linear(weights, bias)
        else:
            kernel = torch.tensor(weights).permute(3, 2, 0, 1)
            filters, channels, *size = kernel.shape
            channels *= layer["conv"]["groups"]
            self.connections = nn.Conv2d(
                channels, filters, size, bias=bias is not None, **layer["conv"]
            )
            _set(self.connections, kernel, bias)
        own = arrays.get(f"{name}_recurrent")
        self.recurrent = None if own is None else _linear(own, None)
        self.neurons = Neurons(reset, fires=name != "readout")
        self.pool, self.delay, self.is_flat = layer["pool"], layer["delay"], layer["conv"] is None

    def start(self) -> None:
        self.neurons.membrane = torch.zeros((), dtype=torch.float64)
        self.before: torch.Tensor | None = None
        self.arriving: list[torch.Tensor] = []

    def forward(self, spikes: torch.Tensor) -> torch.Tensor:
        if self.is_flat and spikes.dim() == 4:
            spikes = spikes.permute(0, 2, 3, 1).flatten(1)
        self.arriving.append(spikes)
        late = len(self.arriving) <= self.delay
        spikes = torch.zeros_like(spikes) if late else self.arriving[-1 - self.delay]
        current = self.connections(spikes)
        if self.recurrent is not None:
            before = torch.zeros_like(current) if self.before is None else self.before
            current = current + self.recurrent(before)
        self.before = sent = self.neurons(current)
        if self.pool != [1, 1]:
            sent = nn.functional.avg_pool2d(sent, self.pool, divisor_override=1)
        return sent


class Network(nn.Module):
    def __init__(self, network: dict[str, Any], arrays: Arrays) -> None:
        super().__init__()
        made = (Layer(layer, arrays, network["reset"]) for layer in network["layers"])
        self.layers = nn.ModuleList(made)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            layer.start()
        for step in range(batch.shape[1]):
            spikes = batch[:, step]
            for layer in self.layers:
                spikes = layer(spikes)
        return self.layers[-1].neurons.membrane


def _linear(weights: np.ndarray, bias: np.ndarray | None) -> nn.Linear:
    """`weights` are [senders, receivers]."""
    made = nn.Linear(*weights.shape, bias=bias is not None)
    _set(made, torch.tensor(weights).T, bias)
    return made


def _set(layer: Any, weights: torch.Tensor, bias: np.ndarray | None) -> None:
    layer.weight.data = weights.to(torch.float64).contiguous()
    if bias is not None:
        layer.bias.data = torch.tensor(bias, dtype=torch.float64)


def measured(network: dict[str, Any], arrays: Arrays) -> dict[str, float]:
    """Run each sample by itself: one value of 2 makes all operations of a batch MACs."""
    model = TorchModel(Network(network, arrays))
    model.add_activation_module(Neurons)
    spikes = torch.tensor(arrays["spikes"], dtype=torch.float64)
    samples = torch.utils.data.TensorDataset(spikes, torch.zeros(len(spikes)))
    loader = torch.utils.data.DataLoader(samples, batch_size=1)
    metrics = [[ParameterCount, ConnectionSparsity], [ActivationSparsity, SynapticOperations]]
    with torch.no_grad():
        found: dict[str, Any] = Benchmark(model, loader, [], [], metrics).run(quiet=True)
    found |= found.pop("SynapticOperations")
    return {name: float(value) for name, value in found.items()}


networks = json.loads(Path(networks_path).read_text())
with np.load(inputs_path) as file:
    every = [
        {name.partition("/")[2]: file[name] for name in file if name.startswith(f"{number}/")}
        for number in range(len(networks))
    ]
counts = [measured(network, arrays) for network, arrays in zip(networks, every, strict=True)]
Path(outputs_path).write_text(json.dumps(counts))
