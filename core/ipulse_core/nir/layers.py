"""Turns the nodes of one layer into its fields in a spec and its weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import numpy as np

from ipulse_core.limits import MAX_STEPS
from ipulse_core.nir.discretization import Discretization
from ipulse_core.nir.errors import at_node
from ipulse_core.nir.hdf5_file import NirNode
from ipulse_core.nir.linear_map import LinearMap, Shape
from ipulse_core.nir.linear_nodes import map_of
from ipulse_core.nir.neurons import Neurons, neurons_of, without_decay
from ipulse_core.nir.structure import NodePath, Unit
from ipulse_core.spec.nir_writers import LATER_SUBTRACT, LATER_ZERO

NodeNames = Tuple[str, ...]
GAINS = (1e-6, 1e4)  # others are multiplied into the weights; a spec has gains up to 1e4


@dataclass
class ImportedLayer:
    """One layer, or the readout."""

    fields: Dict[str, Any]  # in a spec
    shape: Shape  # of its neurons
    reset: Optional[str]  # None for neurons that do not spike
    delay: int  # of its input, in steps
    weights: Dict[str, np.ndarray]  # float32, by the names of weights.npz
    notes: List[str] = field(default_factory=list)
    # Weights of spikes that skip layers, by number of the layer that sends them; 0: the input.
    skips: Dict[int, np.ndarray] = field(default_factory=dict)


def layer_of(
    unit: Unit,
    name: str,
    shape: Shape,
    discretization: Discretization,
    is_last: bool,
    earlier: Mapping[str, Tuple[int, Shape]],
    has_skips: bool,
) -> ImportedLayer:
    """Return the layer of a unit with an input of a shape.

    earlier: numbers, from 1, and shapes of the layers before, by name; 0 is the input.
    has_skips: whether spikes of layers that are not the one before have weights of their own.

    Raises:
        NirInvalid: a spec cannot express it.
    """
    biases: Set[NodeNames] = set()
    mapped = _sum(unit.inputs, shape, biases)
    size = math.prod(mapped.shape)
    if size < 1:
        raise at_node(unit.name, "it has no neurons")
    neurons = constants_of(unit, size, discretization)
    spikes = neurons.threshold is not None
    if not spikes and not is_last:
        raise at_node(unit.name, "it passes its membrane on: only the last layer may, others spike")
    recurrent, loop_bias, reset = _loops(unit, neurons, mapped.shape, discretization)
    neurons = without_decay(neurons)
    fields: Dict[str, Any] = {"neurons": size, "decay": _compact(neurons.decay)}
    skips: Dict[int, LinearMap] = {}
    if has_skips:
        skips = _skips(unit, mapped, earlier, biases)
    elif unit.residual:
        fields["residual"] = _residual(unit, mapped, shape, earlier)
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
    fields["gain"], factor = _gain(neurons.gain)
    notes: List[str] = []
    # Without a factor, weights in float32 keep the bits of the file.
    is_kept = isinstance(factor, float) and mapped.dense.dtype == np.float32
    weights = {name: float32(unit, mapped.dense if is_kept else mapped.dense * factor)}
    bias = mapped.bias
    for skip in skips.values():
        if skip.bias is not None and skip.bias.any():
            bias = np.ravel(skip.bias) + (0.0 if bias is None else np.ravel(bias))
    if loop_bias is not None:
        bias = loop_bias + (0.0 if bias is None else np.ravel(bias))
        notes.append(f"{unit.name}: the bias of its loop is a part of {name}_bias in every step")
    if neurons.current is not None:
        bias = neurons.current + (0.0 if bias is None else np.ravel(bias))
        notes.append(f"{unit.name}: v_leak is a bias of {name}")
    if bias is not None:
        fields["bias"] = True
        weights[f"{name}_bias"] = float32(unit, np.ravel(bias) * factor)
    if recurrent is not None:
        fields["recurrent"] = True
        weights[f"{name}_recurrent"] = float32(unit, recurrent * factor)
    if discretization.reset == LATER_SUBTRACT and recurrent is not None:
        notes.append(f"{unit.name}: the later reset is a part of the recurrent weights of {name}")
    if mapped.unrolled:
        notes.append(f"{unit.name}: its convolution is {name}, a dense matrix")
    steps = steps_of(unit, mapped.delay_s, discretization.solver.step_s)
    if steps.min() < steps.max():
        per = "neuron" if steps.shape[1] == 1 else "synapse"
        fields["delays"] = {"per": per, "longest": int(steps.max())}
        if per == "neuron":
            fields["delays"]["rounded"] = True
            notes.append(f"{unit.name}: the delays to {name} differ by sender, and are trained")
        whole = np.broadcast_to(steps, (mapped.inputs, size) if per == "synapse" else steps.shape)
        weights[f"{name}_delays"] = float32(unit, whole if per == "synapse" else whole[:, 0])
    delay = 0 if "delays" in fields else int(steps.flat[0])
    skipping = {number: float32(unit, skip.dense * factor) for number, skip in skips.items()}
    return ImportedLayer(fields, mapped.shape, reset, delay, weights, notes, skipping)


def _residual(
    unit: Unit, mapped: LinearMap, shape: Shape, earlier: Mapping[str, Tuple[int, Shape]]
) -> List[int]:
    """Return the numbers of the earlier layers that are added to the layer's input."""
    found = []
    for source, paths in unit.residual.items():
        number, theirs = earlier[source]
        if math.prod(theirs) != math.prod(shape):
            raise at_node(source, f"it has other neurons than the layer before {unit.name}")
        if not np.array_equal(_sum(paths, theirs, set()).delay_s, mapped.delay_s):
            raise at_node(unit.name, "spikes of several layers arrive with different delays")
        found.append(number)
    return sorted(found)


def _skips(
    unit: Unit,
    mapped: LinearMap,
    earlier: Mapping[str, Tuple[int, Shape]],
    biases: Set[NodeNames],
) -> Dict[int, LinearMap]:
    """Return the weights of spikes that do not come from the layer before, by layer."""
    found = {}
    for source, paths in unit.residual.items():
        number, shape = earlier[source]
        skip = _sum(paths, shape, biases)
        if skip.shape != mapped.shape:
            raise at_node(unit.name, "its inputs differ in shape")
        if skip.delay_s.any():
            raise at_node(source, f"its spikes skip layers to {unit.name} with a delay: remove it")
        found[number] = skip
    return found


def _sum(paths: Sequence[NodePath], shape: Shape, biases: Set[NodeNames]) -> LinearMap:
    """Return the sum of parallel paths.

    biases: ways to the layer whose biases are counted elsewhere; those of the paths are added.
    """
    total, *others = [map_of(_with_new_biases(path, biases), shape) for path in paths]
    for path, mapped in zip(paths[1:], others):
        if total.shape != mapped.shape:
            raise at_node(path.target, "its inputs differ in shape")
        total = total.plus(mapped, path.target)
    return total


def _with_new_biases(path: NodePath, biases: Set[NodeNames]) -> List[NirNode]:
    """Return the nodes of a path, without biases that reach the layer on another one, too."""
    names = [node.name for node in path.through]
    found = []
    for at, node in enumerate(path.through):
        way, bias = tuple(names[at:]), node.fields.get("bias")
        if isinstance(bias, np.ndarray) and way in biases:
            node = replace(node, fields={**node.fields, "bias": np.zeros_like(bias)})
        biases.add(way)
        found.append(node)
    return found


def constants_of(unit: Unit, size: int, discretization: Discretization) -> Neurons:
    """Return the constants of a layer, from its one to three nodes."""
    parts = [neurons_of(node, discretization.solver, size) for node in unit.nodes]
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
    unit: Unit, neurons: Neurons, shape: Shape, discretization: Discretization
) -> Tuple[Optional[np.ndarray], Optional[np.ndarray], Optional[str]]:
    """Return the matrix of recurrence, its bias, and the reset.

    The bias of a loop arrives in every step: snnTorch, which writes one always, computes its loops
    in the first step, too, with spikes of 0.
    """
    if neurons.threshold is None:
        if unit.loops:
            raise at_node(unit.name, "a loop of neurons that do not spike")
        return None, None, None
    is_threshold = unit.nodes[-1].type == "Threshold"
    reset = "none" if is_threshold else discretization.reset
    recurrent: Optional[np.ndarray] = None
    bias: Optional[np.ndarray] = None
    size = math.prod(shape)
    if reset == LATER_ZERO and neurons.synapse_decay is None and not unit.loops:
        reset = "zero"  # what snnTorch's Leaky does with both values of reset_delay
    if reset in (LATER_ZERO, LATER_SUBTRACT):
        recurrent = _later(unit, neurons, reset)
        reset = "none"
    entry, membrane = unit.nodes[0].name, unit.nodes[max(len(unit.nodes) - 2, 0)].name
    can_subtract = is_threshold and "LI" not in discretization.solver.adds
    for path in unit.loops:
        mapped = map_of(path.through, shape)
        if math.prod(mapped.shape) != size or mapped.delay_s.any():
            raise at_node(
                path.through[0].name if path.through else unit.name,
                f"a loop of {unit.name} must return {size:,} values without delay",
            )
        matrix = mapped.dense
        returns_only = mapped.bias is None and _has_subtracting(neurons, matrix)
        if can_subtract and path.target == membrane and returns_only:
            reset = "subtract"
        elif path.target == entry:
            recurrent = matrix if recurrent is None else recurrent + matrix
            if mapped.bias is not None and mapped.bias.any():
                bias = np.ravel(mapped.bias) + (0.0 if bias is None else bias)
        else:
            raise at_node(unit.name, "a loop to its membrane must subtract the threshold from it")
    return recurrent, bias, reset


def _later(unit: Unit, neurons: Neurons, reset: str) -> np.ndarray:
    """Return the matrix of recurrence that subtracts thresholds one step after the spikes.

    Raises:
        NirInvalid: the reset is no current.
    """
    if reset == LATER_ZERO:
        reason = "with reset_delay=True the membrane loses the input of the step after a spike"
        raise at_node(unit.name, f"{reason}, which is no reset of IPUlse: use reset_delay=False")
    if neurons.synapse_decay is not None:
        reason = "with reset_delay=True the threshold is subtracted behind the synapse"
        raise at_node(unit.name, f"{reason}, which is no reset of IPUlse: use reset_delay=False")
    assert neurons.threshold is not None  # noqa: S101 - it spikes
    if not neurons.gain.all():
        raise at_node(unit.name, "r must not be 0 where the reset is a current")
    return np.diag(-neurons.threshold / _forgotten(neurons) / neurons.gain)


def _forgotten(neurons: Neurons) -> np.ndarray:
    """Return the factor of the gain in the input: 1 - decay, or 1 without decay."""
    return np.where(neurons.decay == 1, 1.0, 1 - neurons.decay)


def _has_subtracting(neurons: Neurons, matrix: np.ndarray) -> bool:
    """Return whether the matrix of a loop subtracts the threshold."""
    diagonal = np.diag(matrix)
    return np.count_nonzero(matrix) == np.count_nonzero(diagonal) and subtracts(neurons, diagonal)


def subtracts(neurons: Neurons, returned: np.ndarray) -> bool:
    """Return whether a loop subtracts the threshold: v = decay (u - threshold s) + ..."""
    gain, threshold = neurons.gain, neurons.threshold
    if not gain.all() or threshold is None:
        return False
    wanted = -neurons.decay * threshold / _forgotten(neurons) / gain
    return bool(np.allclose(returned, wanted, rtol=1e-5, atol=0))


def steps_of(unit: Unit, delay_s: np.ndarray, step_s: float) -> np.ndarray:
    """Return delays in steps, int64.

    Raises:
        NirInvalid: one is not a whole number of steps, or longer than samples.
    """
    steps = delay_s / step_s
    wrong = np.abs(steps - np.rint(steps)) > 1e-6
    if wrong.any():
        raise at_node(
            unit.name,
            f"its input is delayed by {delay_s[wrong][0]:g} s, which is not a whole number of "
            f"steps of {step_s:g} s",
        )
    if steps.max() > MAX_STEPS:
        raise at_node(
            unit.name,
            f"its input is delayed by {steps.max():g} steps; at most {MAX_STEPS:,} are possible",
        )
    return np.rint(steps).astype(np.int64)


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


def float32(unit: Unit, values: np.ndarray) -> np.ndarray:
    """Return weights in the type of a spec's files.

    Raises:
        NirInvalid: they do not fit.
    """
    with np.errstate(over="ignore"):
        narrow: np.ndarray = np.ascontiguousarray(values.astype(np.float32))
    if not np.isfinite(narrow).all():
        raise at_node(unit.name, "its weights do not fit into float32")
    return narrow
