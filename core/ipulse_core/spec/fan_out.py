"""The synapses that a spike of each sender reaches, from which synaptic operations are counted."""

from __future__ import annotations

from typing import List

from ipulse_core.spec.conv_geometry import ConvGeometry


def taps(geometry: ConvGeometry, axis: int) -> List[List[int]]:
    """Returns for each input row (axis 0) or column (axis 1) the outputs of each tap, 0 or 1.

    An input at an edge reaches fewer outputs: taps whose output would lie in the padding have none.
    """
    length = (geometry.entering.height, geometry.entering.width)[axis]
    found = []
    for place in range(length):
        row = []
        for tap in range(geometry.kernel[axis]):
            shifted = place + geometry.padding[axis] - geometry.dilation[axis] * tap
            output, rest = divmod(shifted, geometry.strides[axis])
            row.append(int(not rest and 0 <= output < geometry.size[axis]))
        found.append(row)
    return found
