"""NIR's convolutions and pools, which map windows of an image, as dense matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Tuple

import numpy as np

from ipulse_core.nir.errors import at_node
from ipulse_core.nir.hdf5_file import MAX_VALUES, NirNode
from ipulse_core.nir.linear_map import LinearMap, Shape
from ipulse_core.nir.node_fields import numbers, whole_number
from ipulse_core.spec.start_weights import size_text

Pair = Tuple[int, int]  # y and x
MAX_PIXELS = 4096  # of strides, paddings and kernels


def pooled(before: LinearMap, node: NirNode) -> LinearMap:
    """Return a map with the sums or averages of windows behind it."""
    if len(before.shape) != 3:
        raise at_node(node.name, f"it pools images [channels, y, x]; got {size_text(before.shape)}")
    kernel, stride = pair(node, "kernel_size"), pair(node, "stride")
    padding = pair(node, "padding")
    high, wide = _output(node, before.shape[1:], kernel, stride, padding, (1, 1))
    average = kernel[0] * kernel[1] if node.type == "AvgPool2d" else 1

    def pool(rows: np.ndarray) -> np.ndarray:
        padded = _padded(rows, padding)
        total = np.zeros((*rows.shape[:2], high, wide))
        for y in range(kernel[0]):
            for x in range(kernel[1]):
                total += _window(padded, y, x, stride, high, wide)
        return total / average

    return before.mapped(node.name, pool)


def convolved(before: LinearMap, node: NirNode) -> LinearMap:
    """Return a map with a convolution behind it; a Conv1d has images of height 1."""
    weight, bias = numbers(node, "weight").astype(np.float64), numbers(node, "bias")
    is_flat = node.type == "Conv1d"
    if weight.ndim != (3 if is_flat else 4) or len(before.shape) != weight.ndim - 1:
        raise at_node(
            node.name,
            f"its weight {size_text(weight.shape)} does not take values of shape "
            f"{size_text(before.shape)}",
        )
    image = before
    if is_flat:
        weight = weight[:, :, np.newaxis]
        image = before.reshaped((before.shape[0], 1, before.shape[1]))
    stride, dilation = pair(node, "stride", is_flat), pair(node, "dilation", is_flat)
    groups = whole_number(node, "groups")
    kernel = (weight.shape[2], weight.shape[3])
    padding = conv_padding(node, kernel, stride, dilation, is_flat)
    outs, ins = weight.shape[0], weight.shape[1]
    if groups < 1 or outs % groups or ins * groups != image.shape[0]:
        raise at_node(
            node.name,
            f"{image.shape[0]:,} channels, and the weight has {ins:,} in {groups:,} groups",
        )
    high, wide = _output(node, image.shape[1:], kernel, stride, padding, dilation)

    def convolve(rows: np.ndarray) -> np.ndarray:
        padded = _padded(rows, padding)
        total = np.zeros((len(rows), outs, high, wide))
        each = outs // groups
        for group in range(groups):
            channels = slice(group * ins, (group + 1) * ins)
            of_group = slice(group * each, (group + 1) * each)
            for y in range(kernel[0]):
                for x in range(kernel[1]):
                    window = _window(
                        padded[:, channels], y * dilation[0], x * dilation[1], stride, high, wide
                    )
                    total[:, of_group] += np.einsum(
                        "rcyx,oc->royx", window, weight[of_group, :, y, x]
                    )
        return total

    if image.inputs * outs * high * wide > MAX_VALUES:
        raise at_node(node.name, "as a dense matrix it has too many numbers")
    result = replace(image.mapped(node.name, convolve), unrolled=True)
    if bias.shape != (outs,):
        raise at_node(node.name, f"its bias is {size_text(bias.shape)}; {outs:,} values are needed")
    if bias.any() or image.bias is not None:
        result = result.biased(bias.astype(np.float64)[:, np.newaxis, np.newaxis])
    return result.reshaped((outs, wide)) if is_flat else result


def pair(node: NirNode, field: str, is_flat: bool = False) -> Pair:
    """Return a field of one or two numbers as y and x.

    Raises:
        NirInvalid: it has other values.
    """
    values = [int(value) for value in np.ravel(numbers(node, field))]
    if is_flat:
        values = [0 if field == "padding" else 1, values[0]] if len(values) == 1 else []
    elif len(values) == 1:
        values = values * 2
    least = 0 if field == "padding" else 1
    if len(values) != 2 or min(values) < least or max(values) > MAX_PIXELS:
        raise at_node(node.name, f"{field} must be whole numbers from {least} to {MAX_PIXELS:,}")
    return values[0], values[1]


def conv_padding(node: NirNode, kernel: Pair, stride: Pair, dilation: Pair, is_flat: bool) -> Pair:
    """Return the zeros on both sides of y and x.

    Raises:
        NirInvalid: the padding is unknown, or would differ between the sides.
    """
    padding = node.fields.get("padding")
    if isinstance(padding, str) and padding == "valid":
        return 0, 0
    if isinstance(padding, str) and padding == "same":
        spans = [d * (k - 1) for d, k in zip(dilation, kernel)]
        if stride != (1, 1) or any(span % 2 for span in spans):
            raise at_node(node.name, "padding same needs a stride of 1 and odd kernels")
        return spans[0] // 2, spans[1] // 2
    return pair(node, "padding", is_flat)


def _output(
    node: NirNode, image: Shape, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Pair:
    sizes = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, p, d in zip(image, kernel, stride, padding, dilation)
    ]
    if min(sizes) < 1:
        raise at_node(
            node.name,
            f"its output is empty: a kernel {size_text(kernel)} on {size_text(image)}",
        )
    return sizes[0], sizes[1]


def _padded(rows: np.ndarray, padding: Pair) -> np.ndarray:
    y, x = padding
    return np.pad(rows, [(0, 0), (0, 0), (y, y), (x, x)], "constant")


def _window(padded: np.ndarray, y: int, x: int, stride: Pair, high: int, wide: int) -> np.ndarray:
    down, right = stride
    window: np.ndarray = padded[
        :, :, y : y + down * (high - 1) + 1 : down, x : x + right * (wide - 1) + 1 : right
    ]
    return window
