"""The convolutions of an experiment spec: their sizes follow from the data set's.

The arguments are parts of `ipulse.spec.ExperimentSpec` or of the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from ipulse_core.spec.conv_geometry import ConvGeometry, Pair, Planes, conv_geometry
from ipulse_core.spec.derived_values import channels_per_value, image_of, input_channels
from ipulse_core.spec.kind_fields import field_of

CONV_KINDS = ("conv1d", "conv2d")


def is_conv(layer: Any) -> bool:
    """Returns whether a layer of a spec is a convolution."""
    return layer.kind in CONV_KINDS


def conv_layers(network: Any) -> List[Any]:
    """Returns the convolutions, which are the first layers of a network."""
    return [layer for layer in network.layers if is_conv(layer)]


def dense_layers(network: Any) -> List[Any]:
    """Returns the fully connected hidden layers."""
    return [layer for layer in network.layers if not is_conv(layer)]


def planes_of(data: Any) -> Optional[Planes]:
    """Returns the shape of a data set's input; None if its channels are no image."""
    shape: Optional[Sequence[int]] = field_of(data, "shape")
    if shape is not None:
        channels, height, width = shape
        return Planes(height, width, channels, channels_first=True)
    if data.kind == "digits":
        return Planes(8, 8, channels_per_value(data.encoding))
    image = image_of(data)
    if image is not None:
        height, width = image
        planes = input_channels(data) // (height * width)
        return Planes(height, width, planes, channels_first=True)
    if data.kind in ("shd", "ssc"):
        return Planes(1, input_channels(data), 1)
    return None


def conv_geometries(spec: Any) -> List[ConvGeometry]:
    """Returns the sizes of each convolution of a spec that was validated."""
    entering = planes_of(spec.data)
    found: List[ConvGeometry] = []
    for layer in conv_layers(spec.network):
        assert entering is not None  # noqa: S101 - validated
        found.append(geometry_of(layer, entering))
        entering = found[-1].pooled
    return found


def kernel_geometries(spec: Any) -> List[ConvGeometry]:
    """Returns the sizes of each kernel: those of the convolutions, then the recurrent ones."""
    found = conv_geometries(spec)
    layers = zip(conv_layers(spec.network), found)
    return found + [each.recurrent for layer, each in layers if field_of(layer, "recurrent")]


def geometry_of(layer: Any, entering: Planes) -> ConvGeometry:
    """Returns the sizes of one convolution. Raises what `conv_geometry` raises."""
    is_flat = layer.kind == "conv1d"
    padding = layer.padding
    return conv_geometry(
        entering,
        filters=layer.filters,
        kernel=_pair(layer.kernel_size, 1, is_flat),
        strides=_pair(layer.strides, 1, is_flat),
        padding=padding if isinstance(padding, str) else _pair(padding, 0, is_flat),
        dilation=_pair(layer.dilation_rate, 1, is_flat),
        groups=layer.groups,
        pool=(1, 1) if layer.pool is None else _pair(layer.pool.pool_size, 1, is_flat),
    )


def input_scale(layer: Any) -> float:
    """Returns the factor of the weights behind a layer: 1 / (sites of a window) of an average."""
    pool = field_of(layer, "pool")
    if pool is None or pool.kind != "average":
        return 1.0
    height, width = _pair(pool.pool_size, 1, layer.kind == "conv1d")
    return 1.0 / (height * width)


def hidden_sizes(spec: Any) -> List[int]:
    """Returns the neurons of each hidden layer."""
    convolved = [geometry.neurons for geometry in conv_geometries(spec)]
    return [*convolved, *(layer.neurons for layer in dense_layers(spec.network))]


def senders_of(spec: Any) -> List[int]:
    """Returns the senders to each hidden layer, and to the readout."""
    pooled = [geometry.pooled.sites for geometry in conv_geometries(spec)]
    dense = [layer.neurons for layer in dense_layers(spec.network)]
    return [input_channels(spec.data), *pooled, *dense]


def scale_before(spec: Any, index: int) -> float:
    """Returns the factor of the weights to a hidden layer, or to the readout behind the last."""
    return input_scale(spec.network.layers[index - 1]) if index else 1.0


def senders_to_dense(spec: Any) -> int:
    """Returns the inputs of the first fully connected layer, or of the readout without one."""
    geometries = conv_geometries(spec)
    return geometries[-1].pooled.sites if geometries else input_channels(spec.data)


def _pair(value: Any, before: int, is_flat: bool) -> Pair:
    """Returns height and width from one number or two; a flat layer has `before` as height."""
    if is_flat:
        return before, int(value)
    if isinstance(value, int):
        return value, value
    first, second = value
    pair: Tuple[int, int] = (int(first), int(second))
    return pair
