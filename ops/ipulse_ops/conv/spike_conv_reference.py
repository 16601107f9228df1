"""The reference of spike_conv: in float64, and in float32 with the order of every sum.

The order in float32:

    current         bias, then the spikes by ascending slot
    kernel, bias    groups of samples; in a group samples ascending, steps descending, slots
                    ascending. The groups are added ascending, and multiplied by input_scale. The
                    bias is then summed over positions.
    slots           rows of outputs by ascending tap of the kernel, in a row runs of neighbouring
                    outputs, ascending. The numbers of a run go to 16 lanes by turns, from the first
                    lane, and the lanes are folded: lane i and lane i + 8, then 4, 2, 1. Without
                    groups of channels, steps of which at least half of the inputs are in slots
                    have one lane instead.
"""

from __future__ import annotations

from typing import Iterable, List, NamedTuple, Optional, Tuple

import numpy as np

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.conv.reference import convolved, convolved_adjoint, planes_of
from ipulse_ops.reference.spike_matmul import both_counts

GROUPS, LANES = 16, 16


class SpikeConvGradients(NamedTuple):
    """A loss's gradients."""

    kernel: np.ndarray
    bias: np.ndarray  # whether or not there is one
    slots: np.ndarray  # [time, batch, slots]


def spike_conv(
    geometry: ConvGeometry,
    kernel: np.ndarray,
    ids: np.ndarray,
    counts: np.ndarray,
    bias: Optional[np.ndarray] = None,
    input_scale: float = 1.0,
) -> np.ndarray:
    """Return the currents `[time, batch, neurons]`, of the kernel's type.

    The arguments are those of ipulse_ops.conv.spike_conv.spike_conv, in NumPy.
    """
    spikes, _ = both_counts(ids, counts, geometry.entering.sites)
    if kernel.dtype == np.float64:
        planes = planes_of(geometry.entering, ids, spikes)
        current = convolved(geometry, kernel * input_scale, planes)
        return _flat(current if bias is None else current + bias)
    own = np.zeros(geometry.filters, np.float32) if bias is None else bias
    currents = np.zeros((*spikes.shape, *geometry.size, geometry.filters), np.float32) + own
    scaled = np.float32(input_scale) * kernel
    paths = _Paths(geometry)
    for place in np.ndindex(*spikes.shape):
        for site in ids[place][: spikes[place]]:
            channel, filters, outputs = paths.of(int(site))
            for (y, x), tap in outputs:
                currents[place][y, x, filters] += scaled[tap][channel, filters]
    return _flat(currents)


def spike_conv_gradients(
    geometry: ConvGeometry,
    kernel: np.ndarray,
    ids: np.ndarray,
    counts: np.ndarray,
    grad_currents: np.ndarray,
    input_scale: float = 1.0,
) -> SpikeConvGradients:
    """Return the gradients for those of the currents, of the kernel's type."""
    spikes, filled = both_counts(ids, counts, geometry.entering.sites)
    by_current = grad_currents.reshape(*spikes.shape, *geometry.size, geometry.filters)
    if kernel.dtype == np.float64:
        return _float64(geometry, kernel, ids, spikes, filled, by_current, input_scale)
    paths, scale = _Paths(geometry), np.float32(input_scale)
    steps, batch = spikes.shape
    groups = max(1, min(GROUPS, batch))
    by_kernel = np.zeros((groups, *kernel.shape), np.float32)
    by_bias = np.zeros((groups, *by_current.shape[2:]), np.float32)
    slots = np.zeros(ids.shape, np.float32)
    for group in range(groups):
        for b in range(group * batch // groups, (group + 1) * batch // groups):
            for t in reversed(range(steps)):
                by_bias[group] += by_current[t, b]
                for site in ids[t, b, : spikes[t, b]]:
                    channel, filters, outputs = paths.of(int(site))
                    for (y, x), tap in outputs:
                        by_kernel[group][tap][channel, filters] += by_current[t, b, y, x, filters]
                in_order = geometry.groups == 1 and 2 * filled[t, b] >= geometry.entering.sites
                lanes = 1 if in_order else LANES
                for k in range(filled[t, b]):
                    slots[t, b, k] = paths.product(
                        int(ids[t, b, k]), scale * kernel, by_current[t, b], lanes
                    )
    total = np.add.accumulate(by_kernel)[-1]
    positions = np.add.accumulate(by_bias)[-1].reshape(-1, geometry.filters)
    return SpikeConvGradients(scale * total, np.add.accumulate(positions)[-1], slots)


def _float64(
    geometry: ConvGeometry,
    kernel: np.ndarray,
    ids: np.ndarray,
    spikes: np.ndarray,
    filled: np.ndarray,
    by_current: np.ndarray,
    input_scale: float,
) -> SpikeConvGradients:
    planes = planes_of(geometry.entering, ids, spikes)
    by_kernel, by_planes = convolved_adjoint(geometry, kernel * input_scale, planes, by_current)
    if geometry.entering.channels_first:
        by_planes = np.moveaxis(by_planes, -1, 2)
    in_use = np.arange(ids.shape[2]) < filled[..., None]
    sites = np.where(in_use, ids, 0).astype(np.int64)
    slots = np.where(in_use, np.take_along_axis(_flat(by_planes), sites, axis=2), 0)
    return SpikeConvGradients(input_scale * by_kernel, by_current.sum(axis=(0, 1, 2, 3)), slots)


def _flat(planes: np.ndarray) -> np.ndarray:
    return planes.reshape(*planes.shape[:2], -1)


_Output = Tuple[Tuple[int, int], Tuple[int, int]]  # its position, and the tap that leads there


class _Paths:
    """The outputs that an input reaches, in the order of the sums."""

    def __init__(self, geometry: ConvGeometry) -> None:
        self._geometry = geometry

    def of(self, site: int) -> Tuple[int, slice, List[_Output]]:
        """Return an input's channel in its group, the group's filters, and the outputs."""
        g = self._geometry
        y, x, channel = self._place(site)
        channels, filters = g.entering.channels // g.groups, g.filters // g.groups
        group = channel // channels
        outputs = [
            ((row, column), (ky, kx))
            for row, ky in self._reached(0, y, range(g.kernel[0]))
            for column, kx in self._reached(1, x, reversed(range(g.kernel[1])))
        ]
        return channel % channels, slice(group * filters, (group + 1) * filters), outputs

    def product(self, site: int, kernel: np.ndarray, plane: np.ndarray, lanes: int) -> np.float32:
        """Return the product of an input's weights with a plane of outputs."""
        channel, filters, outputs = self.of(site)
        sums = np.zeros(lanes, np.float32)
        lane = 0
        before: Optional[_Output] = None
        for output in outputs:
            (y, x), tap = output
            if not self._are_neighbours(before, output):
                lane = 0
            for value in plane[y, x, filters] * kernel[tap][channel, filters]:
                sums[lane % lanes] += value
                lane += 1
            before = output
        while len(sums) > 1:
            half = len(sums) // 2
            sums = sums[:half] + sums[half:]
        return np.float32(sums[0])

    def _place(self, site: int) -> Tuple[int, int, int]:
        planes = self._geometry.entering
        if planes.channels_first:
            channel, rest = divmod(site, planes.height * planes.width)
            return rest // planes.width, rest % planes.width, channel
        rest, channel = divmod(site, planes.channels)
        return rest // planes.width, rest % planes.width, channel

    def _reached(self, axis: int, at: int, taps: Iterable[int]) -> List[Tuple[int, int]]:
        g = self._geometry
        found = []
        for tap in taps:
            output, rest = divmod(at + g.padding[axis] - g.dilation[axis] * tap, g.strides[axis])
            if rest == 0 and 0 <= output < g.size[axis]:
                found.append((output, tap))
        return found

    def _are_neighbours(self, before: Optional[_Output], output: _Output) -> bool:
        if before is None or self._geometry.groups != 1:
            return False
        (y, x), _ = before
        return (y, x + 1) == output[0]
