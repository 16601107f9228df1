"""The sizes of a convolution as numbers, as every op that convolves spikes takes them."""

from __future__ import annotations

from typing import List

from ipulse_core.spec.conv_geometry import ConvGeometry


def geometry_attribute(g: ConvGeometry) -> List[int]:
    """Return the sizes of a convolution in the order of the ops' attribute `geometry`."""
    return [
        *(g.entering.height, g.entering.width, g.entering.channels),
        int(g.entering.channels_first),
        *(*g.kernel, *g.strides, *g.padding, *g.dilation, *g.size, *g.pool),
        *(g.groups, g.filters),
    ]
