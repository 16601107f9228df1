"""Export of the trained network as a NIR graph, for other simulators.

NIR's neurons are differential equations, tau dv/dt = (v_leak - v) + r I. Solved over one step of
dt with constant input they give our update exactly, with

    decay = exp(-dt / tau)      gain = r      v_leak = v_reset = 0

(the exponential step, not Euler's `decay = 1 - dt / tau`). In a CubaLIF, the synapse is updated
before the membrane. A spike is a current of 1 during one step. The metadata lists properties that
NIR cannot express, such as a capacity or a reset by subtraction, as `left_out`.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Tuple, Union

import numpy as np

from ipulse_core.derived_values import class_count, input_channels, spiking_layers
from ipulse_core.errors import MissingDependency

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec, LeakyReadoutSpec

# exp(-NO_MEMORY) is 0 in double precision. It represents a decay of 0, for which tau would be 0.
NO_MEMORY = 1000.0
RESET = "the reset"  # the begin of what left_out says about it

Metadata = Dict[str, Union[str, float, int]]
Arrays = Mapping[str, np.ndarray]


def require_nir() -> None:
    """Raise MissingDependency if the nir package cannot be imported.

    This is called before training, so that a missing package does not cost hours of training.
    """
    try:
        import nir  # noqa: F401  (only whether it loads)
    except ImportError as error:
        raise MissingDependency(
            f"the nir package, which exports the network, cannot be imported ({error}): install "
            "the worker's requirements, or `pip install nir`, into the runner's environment"
        ) from error


def write_nir(path: Path, spec: ExperimentSpec, arrays: Arrays, dropped_spikes: int) -> None:
    """Write the graph to `path`.

    Args:
        path: of the new file.
        spec: of the training.
        arrays: the trained arrays, as Model.arrays: weights float32 `[N_in, N_out]` of each layer
            and the readout, which NIR stores transposed; recurrent weights, biases and trained
            constants.
        dropped_spikes: on the held-out samples.

    Raises:
        MissingDependency: the nir package cannot be imported.
    """
    require_nir()
    import nir

    step_s = spec.data.step_ms / 1000.0
    graph = Graph(input_channels(spec.data), class_count(spec.data))
    for number, layer in enumerate(spec.network.layers, start=1):
        name = f"layer_{number}"
        graph.append(f"weights_{number}", _weights(arrays, name))
        if layer.synapse_decay is None:
            graph.append(f"lif_{number}", _neurons(layer, layer.neurons, arrays, name, step_s))
        else:
            graph.append(f"lif_{number}", _cuba(layer, layer.neurons, arrays, name, step_s))
        if layer.recurrent:
            graph.loop(f"recurrent_{number}", _weights(arrays, f"{name}_recurrent"))
        if spec.network.delay:
            delay = np.full(layer.neurons, spec.network.delay * step_s)
            graph.append(f"delay_{number}", nir.Delay(delay=delay))
    _append_readout(graph, spec, arrays, step_s)
    write_graph(path, graph.finished(), metadata_of(spec, step_s, dropped_spikes))


def write_graph(path: Path, graph: Any, metadata: Metadata) -> None:
    """Write a graph and its metadata to `path`."""
    import h5py
    import nir

    # HDF5 crashes when a disk becomes full, so it writes to memory.
    memory = BytesIO()
    nir.write(memory, graph)
    # NIR 1.0 writes no metadata. Later releases write it to this group.
    with h5py.File(memory, "a") as file:
        group = file["node"].require_group("metadata")
        for key, value in metadata.items():
            group.create_dataset(key, data=value)
    path.write_bytes(memory.getvalue())


def tau_s(decay: Any, step_s: float) -> np.ndarray:
    """Convert the decay per step of `step_s` seconds to time constants in seconds."""
    decay = np.asarray(decay, dtype=np.float64)
    with np.errstate(divide="ignore"):
        tau: np.ndarray = np.where(decay > 0, -step_s / np.log(decay), step_s / NO_MEMORY)
    return tau


class Graph:
    """A chain of nodes, with loops at the last one."""

    def __init__(self, inputs: int, classes: int) -> None:
        import nir

        self._nodes = {"input": nir.Input(input_type={"input": np.array([inputs])})}
        self._edges: List[Tuple[str, str]] = []
        self._last = "input"
        self._output = nir.Output(output_type={"output": np.array([classes])})

    def append(self, name: str, node: Any) -> None:
        """Add a node behind the last one."""
        self._nodes[name] = node
        self._edges.append((self._last, name))
        self._last = name

    def loop(self, name: str, node: Any) -> None:
        """Add a loop from the last node through this one."""
        self._nodes[name] = node
        self._edges += [(self._last, name), (name, self._last)]

    def finished(self) -> Any:
        """Return the NIR graph, with its output."""
        import nir

        self.append("output", self._output)
        return nir.NIRGraph(nodes=self._nodes, edges=self._edges)


def _append_readout(graph: Graph, spec: ExperimentSpec, arrays: Arrays, step_s: float) -> None:
    import nir

    readout, classes = spec.network.readout, class_count(spec.data)
    graph.append("weights_readout", _weights(arrays, "readout"))
    if readout.kind == "spiking":
        kind = _neurons if readout.synapse_decay is None else _cuba
        graph.append("readout", kind(readout, classes, arrays, "readout", step_s))
        if readout.recurrent:
            graph.loop("recurrent_readout", _weights(arrays, "readout_recurrent"))
        return
    if readout.synapse_decay is not None:
        # NIR 1.0 has no leaky integrator with a synapse: the synapse is a separate node.
        synapse = constant_of(readout, "synapse_decay", classes, arrays, "readout")
        filter_ = nir.LI(tau=tau_s(synapse, step_s), r=np.ones(classes), v_leak=np.zeros(classes))
        graph.append("synapse_readout", filter_)
    graph.append("readout", _integrator(readout, classes, arrays, step_s))


def _weights(arrays: Arrays, name: str) -> Any:
    import nir

    matrix = np.ascontiguousarray(arrays[name].T)
    bias = arrays.get(f"{name}_bias")
    return nir.Linear(weight=matrix) if bias is None else nir.Affine(weight=matrix, bias=bias)


def _integrator(readout: LeakyReadoutSpec, classes: int, arrays: Arrays, step_s: float) -> Any:
    import nir

    return nir.LI(
        tau=tau_s(constant_of(readout, "decay", classes, arrays, "readout"), step_s),
        r=np.full(classes, readout.gain),
        v_leak=np.zeros(classes),
    )


def _neurons(layer: Any, neurons: int, arrays: Arrays, name: str, step_s: float) -> Any:
    import nir

    return nir.LIF(
        tau=tau_s(constant_of(layer, "decay", neurons, arrays, name), step_s),
        r=np.full(neurons, layer.gain),
        v_leak=np.zeros(neurons),
        v_threshold=constant_of(layer, "threshold", neurons, arrays, name),
    )


def _cuba(layer: Any, neurons: int, arrays: Arrays, name: str, step_s: float) -> Any:
    import nir

    return nir.CubaLIF(
        tau_syn=tau_s(constant_of(layer, "synapse_decay", neurons, arrays, name), step_s),
        tau_mem=tau_s(constant_of(layer, "decay", neurons, arrays, name), step_s),
        r=np.full(neurons, layer.gain),
        v_leak=np.zeros(neurons),
        v_threshold=constant_of(layer, "threshold", neurons, arrays, name),
        w_in=np.ones(neurons),
    )


def constant_of(layer: Any, constant: str, neurons: int, arrays: Arrays, name: str) -> np.ndarray:
    """Return a layer's constant for every neuron, with its trained value if it was trained."""
    value = arrays.get(f"{name}_{constant}", getattr(layer, constant))
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (neurons,)))


def metadata_of(spec: ExperimentSpec, step_s: float, dropped_spikes: int) -> Metadata:
    """Return the conventions of the graph, which a reader needs."""
    resets = {
        "zero": "v becomes 0 before the next step",
        "subtract": "v_threshold is subtracted from v before the next step",
        "none": "v is unchanged",
    }
    return {
        "name": spec.name,
        "dt": step_s,
        "time_unit": "s",
        "discretization": "decay = exp(-dt / tau); v = decay * v + (1 - decay) * r * I",
        "synapse": "CubaLIF: s = exp(-dt / tau_syn); i = s * i + (1 - s) * w_in * I, then v with "
        "I = i",
        "input": "a spike is a current of 1 during one step of dt",
        "recurrent": "a layer's own spikes arrive one dt later",
        "spike": f"where v > v_threshold, strictly; {resets[spec.network.reset]}",
        "logits": _LOGITS[spec.training.loss],
        "steps": spec.data.steps,
        "dropped_spikes": dropped_spikes,
        "left_out": "; ".join(left_out(spec)),
    }


_LOGITS = {
    "mean_membrane_cross_entropy": "mean of the readout's v over all steps",
    "max_membrane_cross_entropy": "largest value of the readout's v over all steps",
    "step_cross_entropy": "the readout's v at each step; the class with the largest v most often",
    "spike_count_cross_entropy": "number of the readout's spikes over all steps",
    "spike_count_mse": "number of the readout's spikes over all steps",
}


def left_out(spec: ExperimentSpec) -> List[str]:
    """List the properties of the network that the graph does not express."""
    missing = []
    if spec.network.reset != "zero":
        missing.append(
            f"{RESET}: in the graph v becomes 0 after a spike, and this network's reset is "
            f"{spec.network.reset}, so that a simulator of the graph spikes differently"
        )
    if any(layer.capacity is not None for layer in spiking_layers(spec.network)):
        missing.append("the capacity: NIR does not limit the spikes per step")
    if spec.device.kind == "cpu" and spec.device.weights_dtype != "float32":
        missing.append(f"that runs read the weights rounded to {spec.device.weights_dtype}")
    return missing
