"""NIR's nodes without a state, as one linear map."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Callable, Mapping, Sequence

import numpy as np

from ipulse_core.nir.errors import at_node
from ipulse_core.nir.hdf5_file import NirNode
from ipulse_core.nir.linear_map import LinearMap, Shape
from ipulse_core.nir.node_fields import numbers, whole_number
from ipulse_core.nir.windows import convolved, pooled
from ipulse_core.spec.start_weights import size_text


def map_of(nodes: Sequence[NirNode], shape: Shape) -> LinearMap:
    """Return the map of nodes in a row with an input of a shape.

    Raises:
        NirInvalid: a node does not take the shape that reaches it.
    """
    result = LinearMap(math.prod(shape), shape)
    for node in nodes:
        result = _MAPS[node.type](result, node)
    return result


def _unchanged(before: LinearMap, node: NirNode) -> LinearMap:
    return before


def _weighted(before: LinearMap, node: NirNode) -> LinearMap:
    weight = numbers(node, "weight")
    if weight.ndim != 2 or not before.shape or weight.shape[1] != before.shape[-1]:
        raise at_node(
            node.name,
            f"its weight {size_text(weight.shape)} does not take values of shape "
            f"{size_text(before.shape)}",
        )
    if before.matrix is None and len(before.shape) == 1:
        # The numbers of the file, without rounding.
        bias = None if before.bias is None else weight @ before.bias
        return replace(before, shape=(weight.shape[0],), matrix=weight.T, bias=bias)
    wide = weight.astype(np.float64)
    return before.mapped(node.name, lambda rows: rows @ wide.T)


def _affine(before: LinearMap, node: NirNode) -> LinearMap:
    result = _weighted(before, node)
    bias, outputs = numbers(node, "bias"), result.shape[-1]
    if bias.shape != (outputs,):
        raise at_node(
            node.name, f"its bias is {size_text(bias.shape)}; {outputs:,} values are needed"
        )
    return result.biased(bias.astype(np.float64))


def _scaled(before: LinearMap, node: NirNode) -> LinearMap:
    value = numbers(node, "scale").astype(np.float64)
    size = math.prod(before.shape)
    if value.size not in (1, size):
        raise at_node(
            node.name, f"scale has {value.size:,} values for a shape of {size_text(before.shape)}"
        )
    scale = value.reshape(before.shape) if value.size == size else value.reshape(())
    return before.mapped(node.name, lambda rows: rows * scale)


def _delayed(before: LinearMap, node: NirNode) -> LinearMap:
    delay = numbers(node, "delay").astype(np.float64)
    if delay.size < 1 or delay.min() < 0:
        raise at_node(node.name, "its delays must be 0 or above")
    is_one = delay.min() == delay.max()
    return before.delayed(node.name, np.ravel(delay)[:1] if is_one else delay)


def _flattened(before: LinearMap, node: NirNode) -> LinearMap:
    shape = before.shape
    axes = len(shape)
    start = whole_number(node, "start_dim") if "start_dim" in node.fields else 0
    end = whole_number(node, "end_dim") if "end_dim" in node.fields else -1
    first, last = start % axes if start < 0 else start, end % axes if end < 0 else end
    if first >= axes or axes == 1:
        return before
    if not first <= last < axes:
        raise at_node(node.name, f"dimensions {start} to {end} of {size_text(shape)}")
    merged = math.prod(shape[first : last + 1])
    return before.reshaped((*shape[:first], merged, *shape[last + 1 :]))


_MAPS: Mapping[str, Callable[[LinearMap, NirNode], LinearMap]] = {
    "Linear": _weighted,
    "Affine": _affine,
    "Scale": _scaled,
    "Conv1d": convolved,
    "Conv2d": convolved,
    "SumPool2d": pooled,
    "AvgPool2d": pooled,
    "Flatten": _flattened,
    "Delay": _delayed,
    "Identity": _unchanged,
    "Input": _unchanged,
    "Output": _unchanged,
}
LINEAR = tuple(_MAPS)  # the types
