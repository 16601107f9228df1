"""Turns a NIR graph into the network of an experiment spec and its initial weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ipulse_worker.nir.errors import NirInvalid, at_node
from ipulse_worker.nir.hdf5_file import Graph, read_graph
from ipulse_worker.nir.linear_maps import LinearMap, numbers
from ipulse_worker.nir.neurons import SOLVERS, Neurons, Solver, neurons_of, without_decay
from ipulse_worker.nir.structure import Path as Way
from ipulse_worker.nir.structure import Unit, chain_of

GAINS = (1e-6, 1e4)  # others are multiplied into the weights; a spec has gains up to 1e4
STEP_S = 1e-3  # where neither the file nor the user says it
_EULER = "decay = 1 - dt / tau"
_UNSCALED = "v = decay * v + I"
_SUBTRACTED = "is subtracted from v"


@dataclass(frozen=True)
class Options:
    """What a NIR file does not say; None takes the metadata of IPUlse's files, or a default."""

    solver: Optional[str] = None
    step_s: Optional[float] = None
    reset: Optional[str] = None  # of LIF and CubaLIF


@dataclass(frozen=True)
class ImportedNetwork:
    """The result of an import."""

    network: Dict[str, Any]  # of a spec, without `initial`
    weights: Dict[str, np.ndarray]  # float32, by the names of weights.npz
    inputs: int
    classes: int
    step_ms: float
    metadata: Dict[str, Any]  # numbers and text of the file
    notes: List[str]  # what was assumed, and what the spec expresses by other means


@dataclass
class _Layer:
    fields: Dict[str, Any]
    reset: Optional[str]  # None for neurons that do not spike
    delay: int


def import_network(path: Path, options: Options) -> ImportedNetwork:
    """Read a NIR file.

    Raises:
        NirInvalid: the file or a node cannot be imported; the message names the node.
    """
    graph = read_graph(path)
    return _Importer(graph, options).network()


class _Importer:
    def __init__(self, graph: Graph, options: Options) -> None:
        self._graph = graph
        self.notes: List[str] = []
        text = graph.metadata.get("discretization")
        rule = text if isinstance(text, str) else ""
        found = "euler" if rule.startswith(_EULER) else "exact"
        if rule.endswith(_UNSCALED):
            found = "unscaled"
        name = options.solver or found
        if name not in SOLVERS:
            raise NirInvalid(f"the solver is {name!a}; known are {', '.join(SOLVERS)}")
        step = graph.metadata.get("dt")
        step_s = STEP_S if step is None or isinstance(step, str) else float(np.ravel(step)[0])
        if step is None and options.step_s is None and name != "unscaled":
            self.notes.append(f"the file has no time step: {STEP_S * 1000:g} ms are assumed")
        self._in_steps = name == "unscaled" and options.step_s is None and step is None
        self.step_s = options.step_s or (1.0 if self._in_steps else step_s)
        if not (math.isfinite(self.step_s) and self.step_s > 0):
            raise NirInvalid(f"the time step of {self.step_s:g} s is not above 0")
        self._solver = Solver(name, self.step_s)
        text = graph.metadata.get("spike")
        found = "subtract" if isinstance(text, str) and _SUBTRACTED in text else "zero"
        self._reset = options.reset or found
        self._weights: Dict[str, np.ndarray] = {}

    def network(self) -> ImportedNetwork:
        start, chain, onward = chain_of(self._graph)
        if not chain:
            raise NirInvalid("the graph has no neurons")
        shape = self._input_shape(start, chain[0])
        inputs = math.prod(shape)
        layers: List[_Layer] = []
        for number, unit in enumerate(chain, start=1):
            is_last = unit is chain[-1]
            name = "readout" if is_last else f"layer_{number}"
            layer, shape = self._layer(unit, name, shape, is_last)
            if number == 1 and layer.delay:
                raise at_node(unit.name, "its input is delayed: only spikes of layers may be")
            layers.append(layer)
        self._check_end(chain[-1], onward, shape)
        if len(layers) < 2:
            raise at_node(
                chain[0].name, "it is the only layer: IPUlse needs a hidden layer and a readout"
            )
        delays = {layer.delay for layer in layers[1:]}
        if len(delays) > 1 or max(delays) > 1:
            raise NirInvalid(
                f"delays between layers are {sorted(delays)} steps; all must be 0, or all 1"
            )
        resets = {layer.reset for layer in layers if layer.reset is not None}
        if len(resets) > 1:
            raise NirInvalid(f"layers differ in their reset ({', '.join(sorted(resets))})")
        network: Dict[str, Any] = {
            "layers": [layer.fields for layer in layers[:-1]],
            "readout": {
                "kind": "leaky" if layers[-1].reset is None else "spiking",
                **{key: v for key, v in layers[-1].fields.items() if key != "neurons"},
            },
            "delay": max(delays),
        }
        if resets:
            network["reset"] = resets.pop()
        return ImportedNetwork(
            network=network,
            weights=self._weights,
            inputs=inputs,
            classes=math.prod(shape),
            step_ms=1.0 if self._in_steps or self._solver.name == "unscaled" else self._step_ms(),
            metadata={
                key: value if isinstance(value, str) else np.ravel(value)[0].item()
                for key, value in self._graph.metadata.items()
                if isinstance(value, str) or np.size(value) == 1
            },
            notes=self.notes,
        )

    def _step_ms(self) -> float:
        return float(f"{self.step_s * 1000:.12g}")

    def _input_shape(self, start: str, first: Unit) -> Tuple[int, ...]:
        node = self._graph.nodes[start]
        shape = tuple(int(size) for size in np.ravel(numbers(node, "shape")))
        if not shape or min(shape) < 1 or math.prod(shape) > 2**24:
            raise at_node(start, f"its shape {list(shape)} is empty or too large")
        return shape

    def _layer(
        self, unit: Unit, name: str, shape: Tuple[int, ...], is_last: bool
    ) -> Tuple[_Layer, Tuple[int, ...]]:
        mapped = self._sum(unit.inputs, shape)
        size = math.prod(mapped.shape)
        neurons = self._neurons(unit, size)
        spikes = neurons.threshold is not None
        if not spikes and not is_last:
            raise at_node(
                unit.name, "it passes its membrane on: only the last layer may, others spike"
            )
        recurrent, reset = self._loops(unit, neurons, mapped.shape)
        neurons = without_decay(neurons)
        fields: Dict[str, Any] = {"neurons": size, "decay": _compact(neurons.decay)}
        if neurons.synapse_decay is not None:
            fields["synapse_decay"] = _compact(neurons.synapse_decay)
        if neurons.threshold is not None:
            if not (neurons.threshold.min() > 0 and neurons.threshold.max() <= 1e6):
                raise at_node(
                    unit.name,
                    f"thresholds are {neurons.threshold.min():g} to {neurons.threshold.max():g}; "
                    "they must be above 0 and at most 1e6",
                )
            fields["threshold"] = _compact(neurons.threshold)
        gain, factor = _gain(neurons.gain)
        fields["gain"] = gain
        self._weights[name] = _float32(unit, mapped.dense * factor, mapped.dense, factor)
        bias = mapped.bias
        if neurons.current is not None:
            bias = neurons.current + (0.0 if bias is None else np.ravel(bias))
            self.notes.append(f"{unit.name}: v_leak is a bias of {name}")
        if bias is not None:
            fields["bias"] = True
            self._weights[f"{name}_bias"] = _float32(unit, np.ravel(bias) * factor)
        if recurrent is not None:
            fields["recurrent"] = True
            self._weights[f"{name}_recurrent"] = _float32(unit, recurrent * factor)
        if mapped.unrolled:
            self.notes.append(f"{unit.name}: its convolution is {name}, a dense matrix")
        return _Layer(fields, reset, self._steps(unit, mapped.delay_s)), mapped.shape

    def _sum(self, ways: List[Way], shape: Tuple[int, ...]) -> LinearMap:
        """Return the sum of parallel paths."""
        total: Optional[LinearMap] = None
        for way in ways:
            mapped = LinearMap(math.prod(shape), shape)
            for node in way.through:
                mapped = mapped.then(node)
            if total is None:
                total = mapped
                continue
            if total.shape != mapped.shape or total.delay_s != mapped.delay_s:
                raise at_node(way.target, "its inputs differ in shape or delay")
            bias = total.bias
            if mapped.bias is not None:
                bias = mapped.bias if bias is None else bias + mapped.bias
            total = LinearMap(
                mapped.inputs,
                mapped.shape,
                (total.dense.astype(np.float64) + mapped.dense).reshape(-1, *mapped.shape),
                bias,
                mapped.delay_s,
                total.unrolled or mapped.unrolled,
            )
        assert total is not None  # noqa: S101 - a layer of a chain has an input
        return total

    def _neurons(self, unit: Unit, size: int) -> Neurons:
        """Return the constants of a layer, from its one to three nodes."""
        parts = [neurons_of(node, self._solver, size) for node in unit.nodes]
        threshold, current = parts[-1].threshold, parts[0].current
        membranes = parts
        if unit.nodes[-1].type == "Threshold" and len(parts) > 1:
            membranes = parts[:-1]
        if len(membranes) == 1:
            only = membranes[0]
            return Neurons(only.decay, only.gain, only.synapse_decay, threshold, only.current)
        synapse, membrane = membranes
        if current is not None or membrane.current is not None:
            raise at_node(unit.name, "v_leak must be 0 in a layer with a synapse")
        if membrane.synapse_decay is not None:
            raise at_node(unit.name, "it has two synapses")
        return Neurons(membrane.decay, membrane.gain * synapse.gain, synapse.decay, threshold)

    def _loops(
        self, unit: Unit, neurons: Neurons, shape: Tuple[int, ...]
    ) -> Tuple[Optional[np.ndarray], Optional[str]]:
        """Return the matrix of recurrence, and the reset."""
        if neurons.threshold is None:
            if unit.loops:
                raise at_node(unit.name, "a loop of neurons that do not spike")
            return None, None
        is_threshold = unit.nodes[-1].type == "Threshold"
        reset = "none" if is_threshold else self._reset
        recurrent: Optional[np.ndarray] = None
        size = math.prod(shape)
        entry, membrane = unit.nodes[0].name, unit.nodes[max(len(unit.nodes) - 2, 0)].name
        for way in unit.loops:
            mapped = LinearMap(size, shape)
            for node in way.through:
                mapped = mapped.then(node)
            if math.prod(mapped.shape) != size or mapped.bias is not None or mapped.delay_s:
                raise at_node(
                    way.through[0].name if way.through else unit.name,
                    f"a loop of {unit.name} must return {size:,} values without bias or delay",
                )
            matrix = mapped.dense
            if is_threshold and way.target == membrane and self._subtracts(neurons, matrix):
                reset = "subtract"
            elif way.target == entry:
                recurrent = matrix if recurrent is None else recurrent + matrix
            else:
                raise at_node(
                    unit.name, "a loop to its membrane must subtract the threshold from it"
                )
        return recurrent, reset

    def _subtracts(self, neurons: Neurons, matrix: np.ndarray) -> bool:
        """Return whether a loop subtracts the threshold: v = decay (u - threshold s) + ..."""
        gain, threshold = neurons.gain, neurons.threshold
        if self._solver.name == "unscaled" or not gain.all() or threshold is None:
            return False
        forgotten = np.where(neurons.decay == 1, 1.0, 1 - neurons.decay)
        wanted = -neurons.decay * threshold / forgotten / gain
        diagonal = np.diag(matrix)
        if np.count_nonzero(matrix) != np.count_nonzero(diagonal):
            return False
        return bool(np.allclose(diagonal, wanted, rtol=1e-5, atol=0))

    def _steps(self, unit: Unit, delay_s: float) -> int:
        steps = delay_s / self.step_s
        if abs(steps - round(steps)) > 1e-6:
            raise at_node(
                unit.name,
                f"its input is delayed by {delay_s:g} s, which is not a whole number of steps of "
                f"{self.step_s:g} s",
            )
        return round(steps)

    def _check_end(self, last: Unit, onward: List[Way], shape: Tuple[int, ...]) -> None:
        for way in onward:
            for node in way.through:
                if node.type not in ("Identity", "Flatten"):
                    raise at_node(
                        node.name,
                        "it is between the last neurons and the output: the output must be neurons",
                    )


def _gain(gain: np.ndarray) -> Tuple[float, Any]:
    """Return the gain of a spec, and the factors that the weights take instead."""
    if (gain == gain[0]).all() and GAINS[0] <= gain[0] <= GAINS[1]:
        return float(f"{gain[0]:.12g}"), 1.0
    return 1.0, gain


def _compact(values: np.ndarray) -> Any:
    """Return one number for equal values, else a list."""
    if (values == values[0]).all():
        return float(values[0])
    return [float(value) for value in values]


def _float32(
    unit: Unit, values: np.ndarray, stored: Optional[np.ndarray] = None, factor: Any = None
) -> np.ndarray:
    if stored is not None and isinstance(factor, float) and stored.dtype == np.float32:
        values = stored  # the bits of the file
    with np.errstate(over="ignore"):
        narrow: np.ndarray = np.ascontiguousarray(values.astype(np.float32))
    if not np.isfinite(narrow).all():
        raise at_node(unit.name, "its weights do not fit into float32")
    return narrow
