"""The sizes of a convolution and of the pool after it.

Neurons and pooled sites have ids (y * width + x) * channels + channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Tuple

Pair = Tuple[int, int]  # of height and width


@dataclass(frozen=True)
class Planes:
    """The shape of what enters a convolution: one plane of height by width for each channel."""

    height: int
    width: int
    channels: int
    channels_first: bool = False  # id = (channel * height + y) * width + x

    @property
    def sites(self) -> int:
        """The number of ids."""
        return self.height * self.width * self.channels

    def __str__(self) -> str:
        """Return height x width x channels."""
        return f"{self.height} x {self.width} x {self.channels}"


@dataclass(frozen=True)
class ConvGeometry:
    """Sizes of one convolution: what enters, the kernel, the neurons and the pool.

    Pairs are of height and width. An output y sees the rows
    `y * strides[0] - padding[0] + dilation[0] * k` of the input, for k below kernel[0].
    """

    entering: Planes
    kernel: Pair
    strides: Pair
    dilation: Pair
    groups: int
    filters: int
    padding: Pair  # before the first row and column
    size: Pair  # of the neurons' planes
    pool: Pair  # windows, without overlap; (1, 1) for none

    @property
    def neurons(self) -> int:
        """The number of neurons: a plane for each filter."""
        return self.size[0] * self.size[1] * self.filters

    @property
    def neuron_shape(self) -> Tuple[int, int, int]:
        """Filters, height and width of the neurons' planes."""
        return (self.filters, *self.size)

    @property
    def pooled(self) -> Planes:
        """The shape of what leaves the pool; rows and columns that fill no window are cropped."""
        return Planes(self.size[0] // self.pool[0], self.size[1] // self.pool[1], self.filters)

    @property
    def pooled_neurons(self) -> int:
        """The number of neurons that are in a window of the pool."""
        return self.pooled.sites * self.pool[0] * self.pool[1]

    @property
    def site_of(self) -> List[int]:
        """The pooled site of each neuron; -1 where it is cropped."""
        rows, columns, filters = self.pooled.height, self.pooled.width, self.filters
        found = []
        for y in range(self.size[0]):
            for x in range(self.size[1]):
                row, column = y // self.pool[0], x // self.pool[1]
                first = (row * columns + column) * filters
                inside = row < rows and column < columns
                found += [first + f if inside else -1 for f in range(filters)]
        return found

    @property
    def weights(self) -> Tuple[int, int, int, int]:
        """The shape of the kernel array, as in Keras."""
        return (*self.kernel, self.entering.channels // self.groups, self.filters)

    @property
    def recurrent(self) -> ConvGeometry:
        """The convolution of the neurons' own spikes: the same kernel size, as many outputs."""
        planes = Planes(*self.size, self.filters)
        return conv_geometry(planes, self.filters, self.kernel, padding="same")


def conv_geometry(
    entering: Planes,
    filters: int,
    kernel: Pair,
    strides: Pair = (1, 1),
    padding: Any = "valid",
    dilation: Pair = (1, 1),
    groups: int = 1,
    pool: Pair = (1, 1),
) -> ConvGeometry:
    """Compute the sizes of a convolution.

    Args:
        entering: The shape of the input.
        filters: Channels of the output.
        kernel: Height and width of the kernel.
        strides: Steps between outputs.
        padding: "valid", "same" as in Keras, or rows and columns of zeros on both sides.
        dilation: Distance of the kernel's taps.
        groups: Groups of channels that are convolved separately.
        pool: Height and width of the pool's windows.

    Raises:
        EmptyOutput: No neuron, or no pooled site, is left.
        ValueError: The groups do not divide the channels and the filters.
    """
    if entering.channels % groups or filters % groups:
        raise ValueError(
            f"groups must divide the {entering.channels} channels that enter and the {filters} "
            f"filters; got {groups}"
        )
    before, size = [], []
    for at, length in enumerate((entering.height, entering.width)):
        reach = (kernel[at] - 1) * dilation[at] + 1
        if padding == "same":
            outputs = -(-length // strides[at])
            before.append(max((outputs - 1) * strides[at] + reach - length, 0) // 2)
        else:
            before.append(0 if padding == "valid" else padding[at])
            outputs = (length + 2 * before[at] - reach) // strides[at] + 1
        size.append(max(outputs, 0))
    geometry = ConvGeometry(
        entering=entering,
        kernel=kernel,
        strides=strides,
        dilation=dilation,
        groups=groups,
        filters=filters,
        padding=(before[0], before[1]),
        size=(size[0], size[1]),
        pool=pool,
    )
    if not geometry.neurons:
        raise EmptyOutput(
            f"a kernel of {_text(kernel)} with dilation {_text(dilation)} and padding "
            f"{padding if isinstance(padding, str) else _text(padding)} does not fit into an "
            f"input of {_text((entering.height, entering.width))}: the output would be empty"
        )
    if not geometry.pooled.sites:
        raise EmptyOutput(
            f"a pool of {_text(pool)} does not fit into an output of {_text(geometry.size)}: the "
            "pooled output would be empty"
        )
    return geometry


class EmptyOutput(ValueError):
    """A convolution or its pool has no output."""


def _text(pair: Pair) -> str:
    return f"{pair[0]} x {pair[1]}"
