"""Runs a NIR graph in a simulator of others: `program.py TARGET GRAPH INPUTS OUTPUTS STEP_S RESET`.

INPUTS is [time, batch, channels]. OUTPUTS takes the spikes of each node of neurons by
its name, and the readout's membrane as `membrane`. It is a user's program and imports nothing of
IPUlse.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import nir
import numpy as np
import torch

target, graph_path, inputs_path, outputs_path, step_s, reset = sys.argv[1:]
graph = nir.read(graph_path)
if target == "norse":
    from norse.torch import from_nir
    from norse.torch.functional.reset import reset_subtract, reset_value

    method = reset_subtract if reset == "subtract" else reset_value
    network = from_nir(graph, dt=float(step_s), reset_method=method)
else:
    from snntorch.import_nir import import_from_nir

    network = import_from_nir(graph)

modules = dict(network.named_modules())
traces: dict[str, list[Any]] = {
    name: [] for name, node in graph.nodes.items() if isinstance(node, (nir.LIF, nir.CubaLIF))
}


def keep(trace: list[Any], _module: Any, _inputs: Any, output: Any) -> None:
    spikes = output[0] if isinstance(output, tuple) else output
    trace.append(spikes.detach().double().numpy())


for name, trace in traces.items():
    modules[name].register_forward_hook(partial(keep, trace))

membrane, state = [], None
for spikes in torch.from_numpy(np.load(inputs_path)):
    _, state = network(spikes, state)
    if target == "norse":
        [readout] = state.state["readout"]
        if not hasattr(readout, "v"):
            readout = readout[1]  # behind a synapse
        v = readout.v
    else:
        v = modules["readout"].mem
    membrane.append(v.detach().double().numpy().copy())
np.savez(outputs_path, membrane=membrane, **{name: np.array(t) for name, t in traces.items()})
