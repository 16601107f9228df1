"""A convolution with LIF neurons as a Keras layer."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, Optional, Sequence, Union

import tensorflow as tf

from ipulse_core.ipu import MK2_TILES
from ipulse_core.spec.conv_geometry import Pair, Planes, conv_geometry
from ipulse_ops.keras.config import plain_surrogate
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.quantisation import Quantisation
from ipulse_ops.surrogate import SuperSpike, Surrogate, surrogate_of
from ipulse_ops.validation import whole

OneOrTwo = Union[int, Sequence[int]]


@tf.keras.utils.register_keras_serializable("ipulse")
class LIFConv2D(Convolution):
    """An event-driven convolution with LIF neurons and a sum pool of their spikes.

    A call takes ids and counts of spikes, or a pair of both, as LIFLayer does, and returns Spikes
    of the pooled sites; ipulse_ops.conv.tensorflow_op says which. An id of the output is
    (y * width + x) * filters + filter.

    input_planes: height, width and channels of the input; a height of 1 is a Conv1D.
    filters, kernel_size, strides, padding, dilation_rate, groups: as in Keras' Conv2D. The padding
        may also be rows and columns of zeros on both sides.
    pool_size: sides of the windows whose spikes are summed; rows and columns that fill no window
        are cropped. An average is the sum, and `input_scale` of the next layer.
    data_format: "channels_last" if an input id is (y * width + x) * channels + channel,
        "channels_first" if it is (channel * height + y) * width + x. The output has channels last.
    decay, threshold, second_threshold, gain, bias: of the neurons, as in LIF; one number each.
    input_scale: factor of the kernel.
    reset, reset_gradient, delay, surrogate: as for LIFLayer.
    quantisation: the rule by which each run replaces the kernel by integers times a scale, as for
        MultiLIF.
    standardised, weights_dtype: as for Convolution.
    threads: 0 for all processors that the process may use; results do not depend on it.
    time_major: False puts the batch axis before the time axis, in inputs and outputs.
    backend, tiles_per_ipu: as for Convolution.

    With `training=False` computing a gradient is an error.

    Raises ValueError if an argument is out of range, or the output would be empty.

    Example:
        >>> import tensorflow as tf
        >>> from ipulse_ops.keras import LIFConv2D
        >>> conv = LIFConv2D((8, 8, 2), filters=4, kernel_size=3, pool_size=2)
        >>> ids = tf.zeros([50, 4, 6])  # channel 0 of the first site spikes in each step
        >>> spikes = conv(ids, tf.ones([50, 4]))
        >>> spikes.counts.shape
        TensorShape([50, 4, 2])
    """

    def __init__(
        self,
        input_planes: Sequence[int],
        filters: int,
        kernel_size: OneOrTwo,
        strides: OneOrTwo = 1,
        padding: Union[str, OneOrTwo] = "valid",
        dilation_rate: OneOrTwo = 1,
        groups: int = 1,
        pool_size: OneOrTwo = 1,
        data_format: str = "channels_last",
        decay: float = 0.95,
        threshold: float = 1.0,
        second_threshold: Optional[float] = None,
        gain: float = 10.0,
        bias: bool = False,
        input_scale: float = 1.0,
        reset: str = "zero",
        reset_gradient: str = "mask",
        delay: int = 0,
        surrogate: Union[Surrogate, Dict[str, Any], str] = SuperSpike(),
        threads: int = 0,
        time_major: bool = True,
        quantisation: Union[Quantisation, Dict[str, Any], None] = None,
        standardised: bool = False,
        weights_dtype: str = "float32",
        backend: str = "cpu",
        tiles_per_ipu: int = MK2_TILES,
        **kwargs: Any,
    ) -> None:
        neurons = ConvLIF(
            geometry=conv_geometry(
                _planes(input_planes, data_format),
                filters=whole("filters", filters),
                kernel=_pair("kernel_size", kernel_size),
                strides=_pair("strides", strides),
                padding=_padding(padding),
                dilation=_pair("dilation_rate", dilation_rate),
                groups=whole("groups", groups),
                pool=_pair("pool_size", pool_size),
            ),
            decay=decay,
            threshold=threshold,
            second_threshold=second_threshold,
            gain=gain,
            bias=bias,
            input_scale=input_scale,
            reset=reset,
            reset_gradient=reset_gradient,
            delay=delay,
            surrogate=surrogate_of(surrogate),
        )
        super().__init__(
            neurons,
            threads,
            time_major,
            quantisation,
            standardised,
            weights_dtype,
            backend,
            tiles_per_ipu,
            **kwargs,
        )
        self._padding = padding  # as given: "same" may pad more behind than before

    def get_config(self) -> Dict[str, Any]:
        """Return the arguments as plain JSON values."""
        neurons, geometry = self.neurons, self.geometry
        planes, padding = geometry.entering, self._padding
        return {
            **super().get_config(),
            "input_planes": [planes.height, planes.width, planes.channels],
            "filters": geometry.filters,
            "kernel_size": list(geometry.kernel),
            "strides": list(geometry.strides),
            "padding": padding if isinstance(padding, str) else list(geometry.padding),
            "dilation_rate": list(geometry.dilation),
            "groups": geometry.groups,
            "pool_size": list(geometry.pool),
            "data_format": "channels_first" if planes.channels_first else "channels_last",
            **{
                name: getattr(neurons, name)
                for name in (
                    *("decay", "threshold", "second_threshold", "gain", "bias", "input_scale"),
                    *("reset", "reset_gradient", "delay"),
                )
            },
            "surrogate": plain_surrogate(neurons.surrogate),
            "threads": self.threads,
            "time_major": self.time_major,
            "standardised": self.deviation is not None,
            "weights_dtype": self.weights_dtype,
            "backend": self.backend,
            "tiles_per_ipu": self.tiles_per_ipu,
            "quantisation": None if self.quantisation is None else asdict(self.quantisation),
        }


def _planes(sizes: Sequence[int], data_format: str) -> Planes:
    if not isinstance(sizes, (list, tuple)) or len(sizes) != 3:
        raise ValueError(f"input_planes must be height, width and channels; got {sizes!r}")
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            f"data_format must be channels_last or channels_first; got {data_format!r}"
        )
    height, width, channels = (whole("input_planes", size) for size in sizes)
    return Planes(height, width, channels, data_format == "channels_first")


def _pair(name: str, value: OneOrTwo, least: int = 1) -> Pair:
    values = value if isinstance(value, (list, tuple)) else (value, value)
    if len(values) != 2:
        raise ValueError(f"{name} must be one number, or height and width; got {value!r}")
    return whole(name, values[0], least), whole(name, values[1], least)


def _padding(value: Union[str, OneOrTwo]) -> Any:
    if not isinstance(value, str):
        return _pair("padding", value, 0)
    if value not in ("valid", "same"):
        raise ValueError(f"padding must be valid, same, or numbers; got {value!r}")
    return value
