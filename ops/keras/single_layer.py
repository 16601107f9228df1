"""One LIF layer, or one leaky readout, as a Keras layer to stack with others."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Union

import numpy as np
import tensorflow as tf

from ops.keras.config import Plain, layer_of, plain_layer
from ops.keras.multi_lif import SequenceLayer
from ops.lif.network import LIF, LeakyReadout

_NEVER = float(np.finfo(np.float32).max)  # a threshold that no membrane reaches


class Spikes(NamedTuple):
    """A layer's spikes, float32, as the next layer takes them."""

    ids: Any  # [time, batch, slots]: spiking, gradient-only, then zeros
    counts: Any  # [time, batch, 2]: spikes, and with gradient-only neurons


@tf.keras.utils.register_keras_serializable("ipulse")
class LIFLayer(SequenceLayer):
    """One layer of LIF neurons: takes spikes as MultiLIF does and returns Spikes.

    inputs: channels of the input. layer: the neurons. Other arguments are MultiLIF's.

    A gradient by its input reaches the neurons that spiked, and not those that were only near it:
    layers inside one MultiLIF learn from both.
    """

    def __init__(self, inputs: int, layer: Union[LIF, Plain], **kwargs: Any) -> None:
        super().__init__(inputs=inputs, layers=(), readout=layer, **kwargs)

    def call(
        self,
        ids: Any,
        counts: Optional[Any] = None,
        training: Optional[bool] = None,
        seed: Optional[Any] = None,
    ) -> Spikes:
        outputs = self.run(ids, counts, training, seed)
        return Spikes(outputs.spike_ids[0], outputs.spike_counts[0])

    def get_config(self) -> Dict[str, Any]:
        config = super().get_config()
        del config["layers"]
        config["layer"] = config.pop("readout")
        return config


@tf.keras.utils.register_keras_serializable("ipulse")
class LIFReadout(SequenceLayer):
    """A leaky readout: takes spikes as MultiLIF does, returns its membrane float32
    `[time, batch, classes]`.

    inputs: channels of the input. readout: the integrators. Other arguments are MultiLIF's.

    It runs as neurons whose threshold is the largest float32, so that they only integrate.
    """

    def __init__(self, inputs: int, readout: Union[LeakyReadout, Plain], **kwargs: Any) -> None:
        leaky = layer_of(readout)
        if not isinstance(leaky, LeakyReadout):
            raise ValueError("readout must be a LeakyReadout; LIFLayer has neurons that spike")
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
