"""One LIF layer, or one leaky readout, as a Keras layer to stack with others."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

import numpy as np
import tensorflow as tf

from ipulse_ops.keras.config import Plain, layer_of, plain_layer
from ipulse_ops.keras.multi_lif import SequenceLayer
from ipulse_ops.keras.network_layer import trained_of
from ipulse_ops.lif.network import LIF, LeakyReadout

_NEVER = float(np.finfo(np.float32).max)  # a threshold that no membrane reaches


class Spikes(NamedTuple):
    """A layer's spikes, float32, as the next layer takes them."""

    ids: Any  # [time, batch, slots]: spiking, gradient-only, then zeros
    counts: Any  # [time, batch, 2]: spikes, and with gradient-only neurons


class BatchFirstSpikes(Spikes):
    """Those of a layer with time_major=False: ids `[batch, time, slots]`, counts likewise."""

    __slots__ = ()


class SingleLayer(SequenceLayer):
    """A SequenceLayer to stack with others, whose `delay` is that of its own input spikes."""

    def entering(self, ids: Any, counts: Optional[Any]) -> Tuple[Any, Any]:
        if isinstance(ids, Spikes) and isinstance(ids, BatchFirstSpikes) is self.time_major:
            axes = ("time", "batch") if self.time_major else ("batch", "time")
            raise ValueError(
                f"{self.name} has the {axes[0]} first, and these spikes have the {axes[1]} first: "
                "give the layers of a stack the same time_major"
            )
        ids, counts = super().entering(ids, counts)
        return (_later(ids), _later(counts)) if self.network.delay else (ids, counts)


@tf.keras.utils.register_keras_serializable("ipulse")
class LIFLayer(SingleLayer):
    """One layer of LIF neurons: takes spikes as MultiLIF does and returns Spikes.

    inputs: channels of the input. layer: the neurons. delay: steps (0 or 1) that its input spikes
    take to it. Other arguments are MultiLIF's.

    All layers of a stack take the same `time_major`; another is noticed where the Spikes are passed
    on as they are, not where ids and counts are taken out of them.

    A stack of them, each called with the Spikes of the one before, and a LIFReadout are one
    MultiLIF, in what they do and in what they learn: gradient-only neurons carry gradient from
    layer to layer. Only the policy "cyclic" draws otherwise, from each layer's own seed.
    """

    def __init__(self, inputs: int, layer: Union[LIF, Plain], **kwargs: Any) -> None:
        spiking: Any = LIF(**layer) if isinstance(layer, dict) else layer
        if not isinstance(spiking, LIF):
            raise ValueError(f"layer must be LIF; LIFReadout has leaky integrators; got {layer!r}")
        super().__init__(inputs=inputs, layers=(), readout=spiking, **kwargs)

    def call(
        self,
        ids: Any,
        counts: Optional[Any] = None,
        training: Optional[bool] = None,
        seed: Optional[Any] = None,
    ) -> Spikes:
        outputs = self.run(ids, counts, training, seed)
        kind = Spikes if self.time_major else BatchFirstSpikes
        return kind(outputs.spike_ids[0], outputs.spike_counts[0])

    def get_config(self) -> Dict[str, Any]:
        config = super().get_config()
        del config["layers"]
        config["layer"] = config.pop("readout")
        return config


@tf.keras.utils.register_keras_serializable("ipulse")
class LIFReadout(SingleLayer):
    """A leaky readout: takes spikes as MultiLIF does, returns its membrane float32
    `[time, batch, classes]`.

    inputs: channels of the input. readout: the integrators. delay, time_major: as of LIFLayer.
    Other arguments are MultiLIF's.

    It runs as neurons whose threshold is the largest float32, so that they only integrate.
    """

    def __init__(self, inputs: int, readout: Union[LeakyReadout, Plain], **kwargs: Any) -> None:
        leaky = layer_of(readout)
        if not isinstance(leaky, LeakyReadout):
            raise ValueError(
                f"readout must be LeakyReadout; LIFLayer has neurons that spike; got {readout!r}"
            )
        trained_of(kwargs.get("trainable", ()), (leaky,))  # its neurons' threshold is none of it
        self._leaky = leaky
        silent = LIF(**plain_layer(leaky), threshold=_NEVER, second_threshold=_NEVER, capacity=1)
        super().__init__(inputs=inputs, layers=(), readout=silent, reset="none", **kwargs)

    def call(self, ids: Any, counts: Optional[Any] = None, training: Optional[bool] = None) -> Any:
        return self.run(ids, counts, training).membrane

    def get_config(self) -> Dict[str, Any]:
        config = super().get_config()
        del config["layers"], config["reset"]
        config["readout"] = plain_layer(self._leaky)
        return config


def _later(tensor: Any) -> Any:
    """What was at step t is at step t + 1."""
    tensor = tf.convert_to_tensor(tensor)
    return tf.concat([tf.zeros_like(tensor[:1]), tensor[:-1]], axis=0)
