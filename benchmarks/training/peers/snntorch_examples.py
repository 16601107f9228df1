"""snnTorch trained on an example of examples/: its accuracy and time, as a line of JSON.

    python -m benchmarks.training.peers.snntorch_examples SPEC.json DATA.npz --rate 0.005

The network has the example's sizes, decays, thresholds, pools and probabilities of dropout;
optimizer, schedule, clipping, loss, epochs and batches are the example's, too. Learning rate, slope
of the surrogate gradient, scale of the initial weights and, in place of the example's, decay of the
hidden membranes are arguments, which benchmarks.training.example_peers chooses. DATA.npz has what
`data_file` there writes.

Other than ours: neurons do not scale their input by gain (1 - decay); nn.Dropout draws a mask for
each step, not for a sample; an RLeaky has biases in its recurrence, and ignores the input of the
step after its spike; delays are left out, because snnTorch has none.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import snntorch
import torch
from snntorch import surrogate
from torch import nn
from torch.nn.functional import cross_entropy

BITS = 8


class Quantised(nn.Module):
    """Linear weights rounded to 8 bits with one scale per neuron; gradients pass the rounding."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)

    def forward(self, spikes: torch.Tensor) -> torch.Tensor:
        """Return the currents of spikes [batch, inputs], [batch, outputs]."""
        weight, most = self.linear.weight, 2 ** (BITS - 1) - 1
        scale = weight.detach().abs().amax(1).clamp(min=1e-12) / most
        zero = torch.zeros_like(scale, dtype=torch.int32)
        rounded = torch.fake_quantize_per_channel_affine(weight, scale, zero, 0, -most, most)
        return nn.functional.linear(spikes, rounded)


class Adaptive(nn.Module):
    """Recurrent neurons with adaptive thresholds, which snnTorch lacks: written by hand.

    An adaptation a grows by 1 with each spike and decays; the threshold rises by strength * a.
    """

    def __init__(self, layer: dict[str, Any], gradient: Any) -> None:
        super().__init__()
        self.decay, self.threshold = layer["decay"], layer["threshold"]
        self.rule = layer["adaptation"]
        self.gradient = gradient
        self.recurrent = nn.Linear(layer["neurons"], layer["neurons"], bias=False)
        self.reset_mem()

    def reset_mem(self) -> None:
        """Begin a batch of samples."""
        self.spikes: Any = None
        self.membrane: Any = 0.0
        self.adaptation: Any = 0.0

    def forward(self, current: torch.Tensor) -> torch.Tensor:
        """Return the spikes of one step, [batch, neurons]."""
        if self.spikes is not None:
            current = current + self.recurrent(self.spikes)
        self.membrane = self.decay * self.membrane + current
        threshold = self.threshold + self.rule["strength"] * self.adaptation
        self.spikes = self.gradient(self.membrane - threshold)
        self.membrane = self.membrane * (1 - self.spikes.detach())
        self.adaptation = self.rule["decay"] * self.adaptation + self.spikes
        spikes: torch.Tensor = self.spikes
        return spikes


class Network(nn.Module):
    """The example's layers in snnTorch, step by step."""

    def __init__(self, spec: dict[str, Any], channels: int, classes: int, options: Any) -> None:
        super().__init__()
        self.shape = spec["data"].get("shape")
        gradient = surrogate.fast_sigmoid(slope=options.slope)
        linear = Quantised if options.bits == BITS else plain_linear
        sizes = self.shape or [channels]
        self.layers = nn.ModuleList()
        for layer in spec["network"]["layers"]:
            if options.decay is not None:
                layer = {**layer, "decay": options.decay}
            parts: list[nn.Module] = []
            if layer.get("dropout"):
                parts.append(nn.Dropout(layer["dropout"]))
            if layer["kind"] == "conv2d":
                parts.append(
                    nn.Conv2d(sizes[0], layer["filters"], layer["kernel_size"], bias=False)
                )
                pool, outer = layer["pool"]["pool_size"], layer["kernel_size"] - 1
                sizes = [layer["filters"], *((size - outer) // pool for size in sizes[1:])]
            else:
                parts.append(linear(math.prod(sizes), layer["neurons"]))
                sizes = [layer["neurons"]]
            parts.append(neurons_of(layer, gradient, options.adapts))
            if layer["kind"] == "conv2d":
                parts.append(nn.AvgPool2d(pool))
            self.layers.append(nn.Sequential(*parts))
        self.last = linear(math.prod(sizes), classes)
        decay = spec["network"]["readout"]["decay"]
        self.readout = snntorch.Leaky(
            beta=decay, reset_mechanism="none", init_hidden=True, output=True
        )
        with torch.no_grad():
            for parameter in self.parameters():
                parameter *= options.scale

    def forward(self, spikes: torch.Tensor) -> torch.Tensor:
        """Return the mean membranes [batch, classes] for spikes [steps, batch, channels]."""
        for module in self.modules():
            if isinstance(module, (snntorch.Leaky, snntorch.RLeaky, Adaptive)):
                module.reset_mem()
        total: Any = 0.0
        for now in spikes.unbind(0):
            if self.shape:
                now = now.reshape(-1, *self.shape)
            for layer in self.layers:
                now = layer(now)
            _, membrane = self.readout(self.last(now.flatten(1)))
            total = total + membrane
        mean: torch.Tensor = total / len(spikes)
        return mean


def plain_linear(inputs: int, outputs: int) -> nn.Module:
    """Return a matrix of weights without biases."""
    return nn.Linear(inputs, outputs, bias=False)


def neurons_of(layer: dict[str, Any], gradient: Any, adapts: bool) -> nn.Module:
    """Return the neurons of a layer, recurrent or adaptive if they are so in the spec."""
    if adapts and layer.get("adaptation"):
        return Adaptive(layer, gradient)
    common = {
        "beta": layer["decay"],
        "threshold": layer["threshold"],
        "spike_grad": gradient,
        "reset_mechanism": "zero",
        "init_hidden": True,
    }
    if layer.get("recurrent"):
        return snntorch.RLeaky(**common, all_to_all=True, linear_features=layer["neurons"])
    return snntorch.Leaky(**common)


def train(spec: dict[str, Any], data: Any, options: Any) -> float:
    """Train to the end; return the accuracy on the held-out samples."""
    torch.manual_seed(options.seed)
    random = np.random.RandomState(options.seed)
    channels, classes = int(data["channels"]), int(data["labels"].max()) + 1
    network = Network(spec, channels, classes, options)
    settings = spec["training"]
    batch, schedule = settings["batch_size"], settings["schedule"]
    optimizer = torch.optim.Adam(network.parameters(), lr=options.rate)
    training, labels = data["training"], torch.from_numpy(data["labels"].astype(np.int64))
    steps = options.epochs * math.ceil(len(training) / batch)

    def factor(done: int) -> float:
        step, first = done + 1, max(schedule["warmup_steps"], 1)
        if step < first:
            return float(step / first)
        if schedule["shape"] == "constant":
            return 1.0
        progress, least = (step - first) / max(steps - first, 1), float(schedule["final_share"])
        return least + (1 - least) * (1 + math.cos(math.pi * progress)) / 2

    rates = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    clipped = settings["gradient_clipping"]["global_norm"]

    def spikes(samples: np.ndarray) -> torch.Tensor:
        dense = np.unpackbits(data["spikes"][samples], axis=2, count=channels)
        return torch.from_numpy(dense.transpose(1, 0, 2).astype(np.float32))

    for _ in range(options.epochs):
        order = random.permutation(training)
        for first in range(0, len(order), batch):
            chosen = order[first : first + batch]
            optimizer.zero_grad(set_to_none=True)
            cross_entropy(network(spikes(chosen)), labels[chosen]).backward()
            if clipped:
                nn.utils.clip_grad_norm_(network.parameters(), clipped)
            optimizer.step()
            rates.step()
    network.eval()
    held, right = data["held"], 0
    with torch.no_grad():
        for first in range(0, len(held), batch):
            chosen = held[first : first + batch]
            right += int((network(spikes(chosen)).argmax(1) == labels[chosen]).sum())
    return right / len(held)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help="learning rate")
    parser.add_argument("--slope", type=float, default=25.0, help="of the surrogate gradient")
    parser.add_argument("--scale", type=float, default=1.0, help="of the initial weights")
    parser.add_argument("--decay", type=float, help="of hidden membranes; else the example's")
    parser.add_argument("--bits", type=int, choices=(BITS, 32), default=32)
    parser.add_argument("--adapts", action="store_true", help="adaptive thresholds")
    options = parser.parse_args()
    spec = json.loads(options.spec.read_text())
    began, busy = time.perf_counter(), time.process_time()
    accuracy = train(spec, dict(np.load(options.data)), options)
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    print(json.dumps({"accuracy": accuracy, "seconds": seconds, "processor_seconds": busy}))


if __name__ == "__main__":
    main()
