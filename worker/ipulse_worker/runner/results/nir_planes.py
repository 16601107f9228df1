"""Convolutions, pools and matrices behind them as NIR nodes on planes `[channels, height, width]`.

NIR pads both sides alike. Where Keras' padding "same" has one row or column more behind the input
than before it, the kernel takes a tap of zeros in front; with a dilation, zeros stand between the
taps.

When NIR 1.0.8 reads a file, it infers the sizes behind a kernel from the kernel's height alone.

Simulators flatten the axis of samples with the rest, so a matrix behind planes is written for them
as a convolution whose kernel is as large as the planes, without Flatten.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional, Tuple

import numpy as np

from ipulse_core.spec.conv_geometry import ConvGeometry, Planes


def shape_of(planes: Planes) -> Tuple[int, int, int]:
    """Return NIR's order of the axes: channels, height, width."""
    return planes.channels, planes.height, planes.width


def convolution(
    geometry: ConvGeometry, kernel: np.ndarray, bias: Optional[np.ndarray], *, has_groups: bool
) -> Any:
    """Return the node of a convolution.

    Args:
        geometry: its sizes.
        kernel: `[height, width, channels of a group, filters]`, as in Keras.
        bias: `[filters]`.
        has_groups: whether the reader knows groups; otherwise the weights between them are 0.
    """
    if not has_groups:
        kernel, geometry = _without_groups(geometry, kernel)
    taps, dilation, padding = _alike_on_both_sides(geometry, kernel)
    node = _node(
        taps.transpose(3, 2, 0, 1),
        bias,
        geometry.entering,
        stride=geometry.strides,
        padding=padding,
        dilation=dilation,
        groups=geometry.groups,
    )
    node.output_type = {"output": np.array([geometry.filters, *geometry.size])}
    return node


def sum_pool(geometry: ConvGeometry) -> Any:
    """Return the node of a pool that sums without overlap."""
    import nir

    sides = np.array(geometry.pool)
    return nir.SumPool2d(kernel_size=sides, stride=sides, padding=np.zeros(2, int))


def flatten(entering: Planes) -> Any:
    """Return the node that makes a vector of planes, channel by channel."""
    import nir

    return nir.Flatten({"input": np.array(shape_of(entering))}, start_dim=0, end_dim=-1)


def by_planes(matrix: np.ndarray, entering: Planes) -> np.ndarray:
    """Return a matrix `[neurons, inputs]` as kernels `[neurons, channels, height, width]`."""
    sides = (entering.height, entering.width)
    if entering.channels_first:
        return matrix.reshape(-1, entering.channels, *sides)
    return matrix.reshape(-1, *sides, entering.channels).transpose(0, 3, 1, 2)


def by_channels(values: np.ndarray, entering: Planes) -> np.ndarray:
    """Return values `[inputs]` or `[inputs, neurons]` with the inputs channel by channel."""
    planes = by_planes(values.reshape(len(values), -1).T, entering)
    ordered: np.ndarray = planes.reshape(len(planes), -1).T.reshape(values.shape)
    return ordered


def matrix_on_planes(matrix: np.ndarray, bias: Optional[np.ndarray], entering: Planes) -> Any:
    """Return the convolution that multiplies planes by a matrix `[neurons, inputs]`."""
    return _node(by_planes(matrix, entering), bias, entering)


def _node(weight: np.ndarray, bias: Optional[np.ndarray], entering: Planes, **sizes: Any) -> Any:
    import nir

    node = nir.Conv2d(
        input_shape=_sides(entering),
        weight=np.ascontiguousarray(weight, np.float32),
        bias=np.zeros(len(weight), np.float32) if bias is None else bias.astype(np.float32),
        **{"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1, **sizes},
    )
    # NIR 1.0.8 takes the channels of a group, and the output of a square kernel.
    node.input_type = {"input": np.array(shape_of(entering))}
    node.output_type = {"output": np.array([len(weight), 1, 1])}
    return node


def _without_groups(geometry: ConvGeometry, kernel: np.ndarray) -> Tuple[np.ndarray, ConvGeometry]:
    channels, filters = kernel.shape[2], geometry.filters // geometry.groups
    whole = np.zeros((*kernel.shape[:2], geometry.entering.channels, geometry.filters))
    for group in range(geometry.groups):
        behind = slice(group * filters, (group + 1) * filters)
        whole[:, :, group * channels : (group + 1) * channels, behind] = kernel[..., behind]
    return whole, replace(geometry, groups=1)


def _sides(planes: Planes) -> Tuple[int, int]:
    return planes.height, planes.width


def _alike_on_both_sides(
    geometry: ConvGeometry, kernel: np.ndarray
) -> Tuple[np.ndarray, Tuple[int, int], Tuple[int, int]]:
    """Return the kernel, dilation and padding with as much padding behind as before."""
    dilation, padding = list(geometry.dilation), list(geometry.padding)
    for axis, length in enumerate(_sides(geometry.entering)):
        step = dilation[axis]
        reach = (kernel.shape[axis] - 1) * step + 1
        outputs = (length + 2 * padding[axis] - reach) // geometry.strides[axis] + 1
        if outputs == geometry.size[axis]:
            continue
        shape = list(kernel.shape)
        shape[axis] = reach + 1
        wider = np.zeros(shape, kernel.dtype)
        np.moveaxis(wider, axis, 0)[1::step] = np.moveaxis(kernel, axis, 0)
        kernel, dilation[axis], padding[axis] = wider, 1, padding[axis] + 1
    return kernel, (dilation[0], dilation[1]), (padding[0], padding[1])
