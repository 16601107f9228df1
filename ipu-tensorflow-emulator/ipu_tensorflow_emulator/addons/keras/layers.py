"""Layers with the arguments of Graphcore's, computed by those of Keras."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ipu_tensorflow_emulator import refused
from ipu_tensorflow_emulator.ipu.ops.normalization_ops import normalised_groups
from ipu_tensorflow_emulator.process import has_no_effect

_POPLAR = ("partials_dtype", "options", "options_bwd", "available_memory_proportion_fwd")


def _accepted(layer: str, named: Any, names: Any = _POPLAR) -> Any:
    """Remove arguments that have no effect."""
    for name in [*names, "available_memory_proportion_bwd"]:
        if named.pop(name, None) is not None:
            has_no_effect(f"{layer}({name}=)")
    return named


class LSTM(tf.keras.layers.LSTM):  # type: ignore[misc] # TensorFlow has no types
    """An LSTM."""

    def __init__(self, units: int, *arguments: Any, **named: Any) -> None:
        """Create the layer; options of Poplar have no effect."""
        super().__init__(units, *arguments, **_accepted("LSTM", named))


class GRU(tf.keras.layers.GRU):  # type: ignore[misc] # TensorFlow has no types
    """A GRU."""

    def __init__(self, units: int, *arguments: Any, **named: Any) -> None:
        """Create the layer; options of Poplar have no effect."""
        super().__init__(units, *arguments, **_accepted("GRU", named))


class Embedding(tf.keras.layers.Embedding):  # type: ignore[misc] # TensorFlow has no types
    """Rows of a table."""

    def __init__(self, input_dim: int, output_dim: int, *arguments: Any, **named: Any) -> None:
        """Create the layer; the serialisation has no effect."""
        names = ("serialization_factor",)
        super().__init__(input_dim, output_dim, *arguments, **_accepted("Embedding", named, names))


class Dropout(tf.keras.layers.Dropout):  # type: ignore[misc] # TensorFlow has no types
    """Sets elements to zero at random."""

    def __init__(
        self, rate: float = 0.5, noise_shape: Any = None, seed: Any = None, **named: Any
    ) -> None:
        """Create the layer; the reference has no effect."""
        options = _accepted("Dropout", named, ("ref",))
        super().__init__(rate, noise_shape, seed if isinstance(seed, int) else None, **options)


class GroupNormalization(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Normalises groups of channels."""

    def __init__(
        self,
        groups: int = 2,
        channels_axis: int = -1,
        center: bool = True,
        scale: bool = True,
        epsilon: float = 1.53e-5,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        strided_channel_grouping: bool = True,
        trainable: bool = True,
        **named: Any,
    ) -> None:
        """Create the layer."""
        super().__init__(trainable=trainable, **named)
        self.groups, self.channels_axis, self.epsilon = groups, channels_axis, epsilon
        self.center, self.scale, self.strided = center, scale, strided_channel_grouping
        self._initial = (gamma_initializer, beta_initializer)
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: Any) -> None:
        """Create scale and shift. Raises ValueError if the groups do not divide the channels."""
        channels = int(input_shape[self.channels_axis])
        if channels % self._number_of_groups(channels):
            raise ValueError(f"{self.groups} groups do not divide {channels} channels")
        if self.scale:
            self.gamma = self.add_weight(
                name="gamma", shape=(channels,), initializer=self._initial[0]
            )
        if self.center:
            self.beta = self.add_weight(
                name="beta", shape=(channels,), initializer=self._initial[1]
            )
        super().build(input_shape)

    def call(self, inputs: Any, training: Any = None) -> Any:
        """Return the normalised inputs."""
        channels = int(inputs.shape[self.channels_axis])
        gamma = None if self.gamma is None else tf.convert_to_tensor(self.gamma)
        beta = None if self.beta is None else tf.convert_to_tensor(self.beta)
        return normalised_groups(
            inputs,
            self._number_of_groups(channels),
            self.channels_axis,
            self.epsilon,
            self.strided,
            gamma,
            beta,
        )

    def _number_of_groups(self, channels: int) -> int:
        return self.groups


class InstanceNormalization(GroupNormalization):
    """Normalises each channel for itself."""

    def __init__(self, **named: Any) -> None:
        """Create the layer."""
        super().__init__(groups=1, **named)

    def _number_of_groups(self, channels: int) -> int:
        return channels


class LayerNormalization(tf.keras.layers.LayerNormalization):  # type: ignore[misc] # TensorFlow has no types
    """Normalises all channels together."""

    def __init__(self, axis: Any = -1, epsilon: float = 1e-3, **named: Any) -> None:
        """Create the layer."""
        super().__init__(axis=axis, epsilon=epsilon, **named)


class SerialDense(tf.keras.layers.Dense):  # type: ignore[misc] # TensorFlow has no types
    """A dense layer."""

    def __init__(
        self,
        units: int,
        serialization_factor: int = 1,
        serialization_dimension: str = "input_columns",
        *arguments: Any,
        **named: Any,
    ) -> None:
        """Create the layer; the serialisation has no effect."""
        super().__init__(units, *arguments, **named)


class RecomputationCheckpoint(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Returns its inputs."""

    def call(self, inputs: Any) -> Any:
        """Return the inputs."""
        return inputs


class AssumeEqualAcrossReplicas(RecomputationCheckpoint):
    """Returns its inputs."""


PopnnLSTM = LSTM
PopnnGRU = GRU
EmbeddingLookup = Embedding
GroupNorm = GroupNormalization
InstanceNorm = InstanceNormalization
LayerNorm = LayerNormalization

_CAPTURING = (
    "it captures gradients for the scale of a loss, and losses are not scaled here. Leave the "
    "wrapper out"
)
_CTC = "its search is a kernel of PopLibs. Use tf.nn.ctc_beam_search_decoder"
_EIGHT_BITS = "TensorFlow's ops on the host have no 8-bit floats. Use float16 or float32"
CaptureActivationGradients = refused.function("CaptureActivationGradients", _CAPTURING)
CaptureUpstreamGradients = refused.function("CaptureUpstreamGradients", _CAPTURING)
CTCInferenceLayer = refused.function("CTCInferenceLayer", _CTC)
CTCPredictionsLayer = refused.function("CTCPredictionsLayer", _CTC)
ConvertToF8 = refused.function("ConvertToF8", _EIGHT_BITS)
ConvertFromF8 = refused.function("ConvertFromF8", _EIGHT_BITS)
EffectiveTransformer = refused.function(
    "EffectiveTransformer",
    "it packs sequences for PopLibs. Use MultiHeadAttention of Keras with a mask",
)
