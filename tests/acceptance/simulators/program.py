"""Runs a NIR graph in a simulator of others.

`program.py APART TARGET GRAPH INPUTS OUTPUTS STEP_S RESET`.

APART has SpikingJelly, Sinabs, Rockpool, and the NIR that the last two need.
INPUTS is [time, batch, channels]. OUTPUTS takes the spikes of each node of neurons by
its name, and the readout's membrane as `membrane`. It is a user's program and imports nothing of
IPUlse.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

apart, target, graph_path, inputs_path, outputs_path, step_s, reset = sys.argv[1:]
is_apart = target in ("sinabs", "rockpool")
sys.path.insert(0 if is_apart else len(sys.path), apart)

import nir  # noqa: E402 (which one depends on the target)
import numpy as np  # noqa: E402
import torch  # noqa: E402

# NIR 1.0.8 infers wrong sizes behind kernels that are not square; 1.0.4 infers none.
graph = nir.read(graph_path, **({} if is_apart else {"type_check": False}))
if target == "norse":
    from norse.torch import from_nir
    from norse.torch.functional.reset import reset_subtract, reset_value

    method = reset_subtract if reset == "subtract" else reset_value
    network = from_nir(graph, dt=float(step_s), reset_method=method)
elif target == "spikingjelly":
    from spikingjelly.activation_based.nir_exchange import import_from_nir

    network = import_from_nir(graph, dt=float(step_s))
elif target == "rockpool":
    from rockpool.nn.modules.torch.nir import from_nir

    network = from_nir(graph)
elif target == "sinabs":
    from sinabs.nir import from_nir

    network = from_nir(graph, num_timesteps=len(np.load(inputs_path)))
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


def in_steps(rows: Any) -> Any:
    """Returns [samples * time, neurons] as [time, samples, neurons]."""
    shape = (inputs.shape[1], inputs.shape[0], -1)
    return torch.as_tensor(rows).detach().double().reshape(shape).transpose(0, 1).numpy()


for name, trace in traces.items():
    modules[name].register_forward_hook(partial(keep, trace))

inputs = torch.from_numpy(np.load(inputs_path))
membrane, state = [], None
if target == "sinabs":
    # It takes all steps of a sample, one behind the other.
    output, _ = network(inputs.transpose(0, 1).flatten(0, 1))
    membrane = in_steps(output)
    traces = {name: in_steps(trace[0]) for name, trace in traces.items()}
if target == "rockpool":
    # All steps at once; each layer returns a tuple with its spikes [samples, time, neurons].
    with torch.no_grad():
        network(inputs.transpose(0, 1))
    traces = {name: np.swapaxes(trace[0], 0, 1) for name, trace in traces.items()}
for spikes in [] if is_apart else inputs:
    _, state = network(spikes, state)
    if target == "norse":
        [readout] = state.state["readout"]
        if not hasattr(readout, "v"):
            readout = readout[1]  # behind a synapse
        v = readout.v
    elif target == "spikingjelly":
        names = [name for name, _ in modules["readout"].module.named_memories()]
        v = state["readout"][names.index("v")]
    else:
        v = modules["readout"].mem
    membrane.append(v.detach().double().numpy().copy())
np.savez(outputs_path, membrane=membrane, **{name: np.array(t) for name, t in traces.items()})
