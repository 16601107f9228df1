"""Turns the convolutions at the beginning of a NIR graph into convolutions of a spec.

Others, such as those of neurons with different constants or with overlapping pools, are left to
ipulse_core.nir.layers, which makes matrices of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.nir.discretization import Discretization
from ipulse_core.nir.hdf5_file import NirNode
from ipulse_core.nir.layers import (
    GAINS,
    ImportedLayer,
    constants_of,
    float32,
    steps_of,
    subtracts,
)
from ipulse_core.nir.linear_map import Shape
from ipulse_core.nir.neurons import Neurons, without_decay
from ipulse_core.nir.node_fields import numbers, whole_number
from ipulse_core.nir.structure import NodePath, Unit
from ipulse_core.nir.windows import conv_padding, pair
from ipulse_core.spec.conv_geometry import ConvGeometry, EmptyOutput, Planes, conv_geometry
from ipulse_core.spec.nir_writers import LATER_SUBTRACT, LATER_ZERO

_CONVOLUTIONS = ("Conv1d", "Conv2d")
_POOLS = {"SumPool2d": "sum", "AvgPool2d": "average"}
_UNCHANGING = ("Identity", "Delay")


@dataclass(frozen=True)
class Convolutions:
    """The convolutions at the beginning of a graph."""

    layers: List[ImportedLayer]
    rest: List[Unit]  # the layers behind, without a pool that is part of the last convolution
    shape: Shape  # of what enters them


@dataclass(frozen=True)
class _Entry:
    """The nodes in front of a layer's neurons."""

    pool: Optional[NirNode]
    convolution: NirNode
    delay_s: float


@dataclass(frozen=True)
class _Recurrence:
    """The weights of a convolution's own spikes."""

    kernel: np.ndarray  # float64 [height, width, filters, filters], as in a spec
    bias: np.ndarray  # float64 [filters], in every step


def leading_convolutions(
    chain: Sequence[Unit], shape: Shape, discretization: Discretization
) -> Convolutions:
    """Return the convolutions that a spec expresses as such; there may be none."""
    layers: List[ImportedLayer] = []
    for unit in chain[:-1]:
        entry = _entry(unit)
        if entry is None:
            break
        pooled = shape if entry.pool is None else _pooled(layers, entry.pool, shape)
        found = None if pooled is None else _layer(unit, entry, pooled, discretization, layers)
        if found is None:
            break
        if entry.pool is not None:
            _set_pool(layers[-1], entry.pool)
        layers.append(found)
        shape = found.shape
    rest = list(chain[len(layers) :])
    if layers:
        rest[0], shape = _without_pool(rest[0], layers, shape)
    return Convolutions(layers, rest, shape)


def by_rows(matrix: np.ndarray, shape: Shape) -> np.ndarray:
    """Return an array `[inputs]` or `[inputs, neurons]` in the order of a spec's neurons.

    shape: of the planes in front of it, `[channels, height, width]` or `[channels, length]`.
    """
    behind = matrix.reshape(shape[0], -1, matrix.size // len(matrix))
    return np.ascontiguousarray(behind.swapaxes(0, 1).reshape(matrix.shape))


def _entry(unit: Unit) -> Optional[_Entry]:
    """Return the nodes of a convolution; None for another layer."""
    if len(unit.inputs) != 1 or unit.residual:
        return None
    nodes = unit.inputs[0].through
    pools = [node for node in nodes if node.type in _POOLS]
    middle = [node for node in nodes if node.type in _CONVOLUTIONS]
    known = len(pools) + len(middle) + sum(node.type in _UNCHANGING for node in nodes)
    if len(middle) != 1 or len(pools) > 1 or known != len(nodes):
        return None
    if pools and nodes.index(pools[0]) > nodes.index(middle[0]):
        return None
    delays = [np.unique(numbers(node, "delay")) for node in nodes if node.type == "Delay"]
    if any(delay.size != 1 for delay in delays):
        return None
    return _Entry(pools[0] if pools else None, middle[0], float(sum(d[0] for d in delays)))


def _layer(
    unit: Unit,
    entry: _Entry,
    shape: Shape,
    discretization: Discretization,
    before: Sequence[ImportedLayer],
) -> Optional[ImportedLayer]:
    """Return a layer, or None if a spec cannot express it as a convolution."""
    node = entry.convolution
    is_flat = node.type == "Conv1d"
    weight, bias = numbers(node, "weight").astype(np.float64), numbers(node, "bias")
    if weight.ndim != len(shape) + 1 or weight.ndim != (3 if is_flat else 4):
        return None
    geometry, padding = _geometry(node, weight, shape, is_flat)
    if geometry is None or geometry.size == (1, 1) or bias.shape != (geometry.filters,):
        return None  # with one site it is a matrix
    loops = [path for path in unit.loops if any(n.type in _CONVOLUTIONS for n in path.through)]
    own = _recurrent(loops, unit, geometry, is_flat) if loops else None
    if loops and own is None:
        return None
    neurons = constants_of(unit, geometry.neurons, discretization)
    others = [path for path in unit.loops if path not in loops]
    reset = _reset(replace(unit, loops=others), neurons, discretization)
    neurons = without_decay(neurons)
    if reset is None or not _is_alike(neurons):
        return None
    assert neurons.threshold is not None  # noqa: S101 - it has a reset
    if not 0 < neurons.threshold[0] <= 1e6:
        return None
    gain, factor = float(f"{neurons.gain[0]:.12g}"), 1.0
    if not GAINS[0] <= gain <= GAINS[1]:
        gain, factor = 1.0, float(neurons.gain[0])
    name = f"layer_{len(before) + 1}"
    kernel = (weight[:, :, np.newaxis] if is_flat else weight).transpose(2, 3, 1, 0)
    weights = {name: float32(unit, kernel * factor)}
    notes: List[str] = []
    if own is not None:
        weights[f"{name}_recurrent"] = float32(unit, own.kernel * factor)
        if own.bias.any():
            bias = bias + own.bias
            notes.append(f"{unit.name}: the bias of its loop is a part of {name}_bias")
    if bias.any():
        weights[f"{name}_bias"] = float32(unit, bias.astype(np.float64) * factor)
    fields: Dict[str, Any] = {
        "kind": "conv1d" if is_flat else "conv2d",
        "filters": geometry.filters,
        "kernel_size": _sides(geometry.kernel, is_flat),
        "strides": _sides(geometry.strides, is_flat),
        "padding": padding,
        "dilation_rate": _sides(geometry.dilation, is_flat),
        "groups": geometry.groups,
        "decay": float(neurons.decay[0]),
        "threshold": float(neurons.threshold[0]),
        "gain": gain,
        "bias": bool(bias.any()),
    }
    if own is not None:
        fields["recurrent"] = True
    out: Shape = (geometry.filters, *geometry.size)
    delay = int(steps_of(unit, np.array([entry.delay_s]), discretization.solver.step_s)[0])
    return ImportedLayer(fields, (out[0], out[2]) if is_flat else out, reset, delay, weights, notes)


def _recurrent(
    loops: Sequence[NodePath], unit: Unit, geometry: ConvGeometry, is_flat: bool
) -> Optional[_Recurrence]:
    """Return the kernel of a layer's own spikes; None if a spec has no such one."""
    nodes = [node for node in loops[0].through if node.type != "Identity"]
    if len(loops) != 1 or len(nodes) != 1 or loops[0].target != unit.nodes[0].name:
        return None
    [node] = nodes
    weight, bias = numbers(node, "weight").astype(np.float64), numbers(node, "bias")
    filters = geometry.filters
    if weight.ndim != (3 if is_flat else 4) or whole_number(node, "groups") != 1:
        return None
    weight = weight[:, :, np.newaxis] if is_flat else weight
    if weight.shape[:2] != (filters, filters) or bias.shape != (filters,):
        return None
    kernel = (weight.shape[2], weight.shape[3])
    strides, dilation = pair(node, "stride", is_flat), pair(node, "dilation", is_flat)
    padding = conv_padding(node, kernel, strides, dilation, is_flat)
    spans = [d * (k - 1) for d, k in zip(dilation, kernel)]
    if strides != (1, 1) or any(2 * p != span for p, span in zip(padding, spans)):
        return None  # other neurons than those that sent
    own = geometry.recurrent
    found = np.zeros(own.weights)
    for tap in np.ndindex(*kernel):
        places = [
            number * step - zeros + before
            for number, step, zeros, before in zip(tap, dilation, padding, own.padding)
        ]
        taps = weight[:, :, tap[0], tap[1]]
        if all(0 <= place < side for place, side in zip(places, own.kernel)):
            found[places[0], places[1]] = taps.T
        elif taps.any():
            return None
    return _Recurrence(found, bias.astype(np.float64))


def _geometry(
    node: NirNode, weight: np.ndarray, shape: Shape, is_flat: bool
) -> Tuple[Optional[ConvGeometry], Any]:
    """Return the sizes and the padding of a convolution, None if a spec has no such one."""
    image = (1, shape[1]) if is_flat else (shape[1], shape[2])
    kernel = (1, weight.shape[2]) if is_flat else (weight.shape[2], weight.shape[3])
    strides, dilation = pair(node, "stride", is_flat), pair(node, "dilation", is_flat)
    wanted = conv_padding(node, kernel, strides, dilation, is_flat)
    groups = whole_number(node, "groups")
    if groups < 1 or weight.shape[1] * groups != shape[0]:
        return None, ""
    # Zeros on both sides are one more form of padding of a spec.
    for padding in ("valid", "same", wanted):
        try:
            found = conv_geometry(
                Planes(image[0], image[1], shape[0], channels_first=True),
                filters=weight.shape[0],
                kernel=kernel,
                strides=strides,
                padding=padding,
                dilation=dilation,
                groups=groups,
            )
        except (EmptyOutput, ValueError):
            continue
        sizes = tuple(
            (length + 2 * p - d * (k - 1) - 1) // s + 1
            for length, p, d, k, s in zip(image, wanted, dilation, kernel, strides)
        )
        if found.padding == wanted and found.size == sizes:
            return found, padding if isinstance(padding, str) else _sides(padding, is_flat)
    return None, ""


def _reset(unit: Unit, neurons: Neurons, discretization: Discretization) -> Optional[str]:
    """Return the reset of neurons without recurrence; None for others."""
    if neurons.threshold is None or neurons.synapse_decay is not None:
        return None
    is_threshold = unit.nodes[-1].type == "Threshold"
    if not unit.loops:
        reset = "none" if is_threshold else discretization.reset
        if reset == LATER_SUBTRACT:
            return None
        return "zero" if reset == LATER_ZERO else reset
    if len(unit.loops) != 1 or not is_threshold or "LI" in discretization.solver.adds:
        return None
    [loop] = unit.loops
    if len(loop.through) != 1 or loop.through[0].type != "Scale":
        return None
    scale = np.ravel(numbers(loop.through[0], "scale")).astype(np.float64)
    diagonal = np.broadcast_to(scale, neurons.decay.shape) if scale.size == 1 else scale
    is_membrane = loop.target == unit.nodes[0].name and diagonal.shape == neurons.decay.shape
    return "subtract" if is_membrane and subtracts(neurons, diagonal) else None


def _is_alike(neurons: Neurons) -> bool:
    """Return whether all neurons have the same constants, and no current of their own."""
    values = (neurons.decay, neurons.gain, neurons.threshold)
    alike = all(value is not None and bool((value == value[0]).all()) for value in values)
    return alike and neurons.current is None


def _pooled(layers: Sequence[ImportedLayer], pool: NirNode, shape: Shape) -> Optional[Shape]:
    """Return the shape behind a pool that a convolution of a spec has, or None."""
    if not layers or len(shape) != 3 or "pool" in layers[-1].fields:
        return None
    sides = pair(pool, "kernel_size")
    if pair(pool, "stride") != sides or pair(pool, "padding") != (0, 0):
        return None
    pooled = (shape[0], shape[1] // sides[0], shape[2] // sides[1])
    return pooled if min(pooled) > 0 else None


def _set_pool(layer: ImportedLayer, pool: NirNode) -> None:
    layer.fields["pool"] = {
        "kind": _POOLS[pool.type],
        "pool_size": _sides(pair(pool, "kernel_size"), is_flat=False),
    }


def _without_pool(unit: Unit, layers: Sequence[ImportedLayer], shape: Shape) -> Tuple[Unit, Shape]:
    """Return a layer without the pool in front of it, which becomes the last convolution's."""
    through = unit.inputs[0].through
    at = next((i for i, node in enumerate(through) if node.type not in _UNCHANGING), None)
    if len(unit.inputs) != 1 or at is None or through[at].type not in _POOLS:
        return unit, shape
    pooled = _pooled(layers, through[at], shape)
    if pooled is None:
        return unit, shape
    _set_pool(layers[-1], through[at])
    path = unit.inputs[0]
    others: Tuple[NirNode, ...] = (*through[:at], *through[at + 1 :])
    return replace(unit, inputs=[NodePath(path.source, others, path.target)]), pooled


def _sides(values: Tuple[int, int], is_flat: bool) -> Any:
    """Return one number where both sides are alike, or where there is one."""
    if is_flat or values[0] == values[1]:
        return values[1]
    return list(values)
