"""Writes a NIR file with a simulator of others, and what it simulates.

`writer.py APART KIND GRAPH OUTPUTS`. KIND is a simulator and its settings, with commas. OUTPUTS
takes `inputs` [time, batch, channels] and the spikes of both layers, `hidden` and `readout`. It is
a user's program and imports nothing of IPUlse.
"""

from __future__ import annotations

import sys
from typing import Any

apart, written_by, graph_path, outputs_path = sys.argv[1:]
target, *settings = written_by.split(",")
sys.path.insert(0 if target == "sinabs" else len(sys.path), apart)

import nir  # noqa: E402 (which one depends on the target)
import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

SEED, STEPS, SAMPLES, SIZES = 3, 100, 16, (12, 20, 5)
torch.manual_seed(SEED)
inputs = (torch.rand(STEPS, SAMPLES, SIZES[0]) < 0.3).float()


def linear(number: int, std: float) -> nn.Linear:
    layer = nn.Linear(SIZES[number], SIZES[number + 1], bias=number == 0 or target == "sinabs")
    with torch.no_grad():
        layer.weight.normal_(0, std)
    return layer


def ones(neurons: int) -> torch.Tensor:
    return torch.ones(neurons)


hidden, classes = SIZES[1:]
if target == "snntorch":
    import snntorch
    from snntorch.export_nir import export_to_nir

    cells, mechanism, delay = settings
    options = {
        "init_hidden": True,
        "reset_mechanism": mechanism,
        "reset_delay": delay == "later",
    }

    def cell(kind: str, size: int, beta: float) -> Any:
        common = {"beta": beta * ones(size), "threshold": ones(size), **options}
        if kind.startswith("R"):
            common["linear_features"] = size
        if kind.endswith("Synaptic"):
            common["alpha"] = 0.5 * ones(size)
        return getattr(snntorch, kind)(**common)

    kinds = cells.split("+")
    neurons = [cell(kinds[0], hidden, 0.9), cell(kinds[-1], classes, 0.8)]
    network = nn.Sequential(linear(0, 0.5), neurons[0], linear(1, 0.8), neurons[1])
    graph = export_to_nir(network, inputs[0, 0])
    for part in neurons:
        for state in ("spk", "syn", "mem"):
            if hasattr(part, state):
                setattr(part, state, torch.zeros(0))
elif target == "norse":
    import norse.torch
    from norse.torch import SequentialState
    from norse.torch.utils.export_nir import to_nir

    [cells] = settings

    def parameters(size: int, rate: float) -> Any:
        zeros = torch.zeros(size)
        constants = {"tau_mem_inv": torch.full((size,), rate), "v_th": ones(size)}
        if cells == "LIFCell":
            constants["tau_syn_inv"] = torch.full((size,), 200.0)
        made = getattr(norse.torch, cells.replace("Cell", "Parameters"))
        return made(**constants, v_leak=zeros, v_reset=zeros)

    module = getattr(norse.torch, cells)
    neurons = [
        module(parameters(hidden, 100.0), dt=1e-3),
        module(parameters(classes, 200.0), dt=1e-3),
    ]
    scale = 0.3 if cells == "LIFCell" else 1.0
    network = SequentialState(
        linear(0, 4.0 * scale), neurons[0], linear(1, 5.0 * scale), neurons[1]
    )
    graph = to_nir(network, inputs[0, 0], dt=1e-3)
elif target == "spikingjelly":
    from spikingjelly.activation_based import layer, neuron
    from spikingjelly.activation_based.nir_exchange import export_to_nir

    neurons = [
        neuron.LIFNode(tau=10.0, decay_input=False, v_reset=0.0),
        neuron.LIFNode(tau=4.0, v_reset=0.0),
    ]
    weights = [layer.Linear(*SIZES[:2]), layer.Linear(*SIZES[1:], bias=False)]
    with torch.no_grad():
        weights[0].weight.normal_(0, 0.5)
        weights[1].weight.normal_(0, 3.0)
    network = nn.Sequential(weights[0], neurons[0], weights[1], neurons[1])
    graph = export_to_nir(network, inputs[0], dt=1e-3)
else:
    from sinabs.activation import SingleSpike
    from sinabs.layers import IAFSqueeze, LIFSqueeze
    from sinabs.nir import to_nir

    [cells] = settings
    options = {"num_timesteps": STEPS, "spike_fn": SingleSpike}
    if cells == "IAF":
        neurons = [IAFSqueeze(**options), IAFSqueeze(**options)]
    else:
        options["norm_input"] = cells == "norm_input"
        neurons = [LIFSqueeze(tau_mem=10.0, **options), LIFSqueeze(tau_mem=5.0, **options)]
    scale = 30.0 if cells == "norm_input" else 1.0
    network = nn.Sequential(
        linear(0, 0.06 * scale), neurons[0], linear(1, 0.15 * scale), neurons[1]
    )
    blank = torch.zeros(SAMPLES * STEPS, SIZES[0])
    network(blank)
    graph = to_nir(network, blank)
    for part in neurons:
        part.reset_states()

traces: list[list[Any]] = [[], []]
for trace, part in zip(traces, neurons, strict=True):
    part.register_forward_hook(
        lambda _module, _inputs, output, trace=trace: trace.append(
            (output[0] if isinstance(output, tuple) else output).detach().numpy()
        )
    )
if target == "sinabs":
    network(inputs.transpose(0, 1).flatten(0, 1))
    shape = (SAMPLES, STEPS, -1)
    spikes = [trace[0].reshape(shape).transpose(1, 0, 2) for trace in traces]
else:
    state = None
    for step in inputs:
        if target == "norse":
            _, state = network(step, state)
        else:
            network(step)
    spikes = [np.array(trace) for trace in traces]
nir.write(graph_path, graph)
np.savez(outputs_path, inputs=inputs.numpy(), hidden=spikes[0], readout=spikes[1])
