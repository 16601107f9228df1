"""One LIF layer, or one leaky readout, as a Keras layer to stack with others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Tuple, Union

import tensorflow as tf

from ipulse_ops.keras.arguments import shows_inherited_arguments
from ipulse_ops.keras.config import Plain, layer_of, plain_layer
from ipulse_ops.keras.multi_lif import SequenceLayer
from ipulse_ops.keras.trained_constants import trained_of
from ipulse_ops.lif.network import LIF, LeakyReadout
from ipulse_ops.lif.neuron_constants import NEVER
from ipulse_ops.lif.slot_lists import later

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ipulse_ops.keras.arguments import SequenceArguments


class Spikes(NamedTuple):
    """A layer's spikes in float32, the input of the next layer."""

    ids: Any  # [time, batch, slots]: spiking, gradient-only, then zeros
    counts: Any  # [time, batch, 2]: spikes, filled slots


class BatchFirstSpikes(Spikes):
    """Spikes of a layer with time_major=False: ids `[batch, time, slots]`, counts likewise."""

    __slots__ = ()


class PooledRun(NamedTuple):
    """The results of a convolution for the next layer, and for measurements."""

    spikes: Spikes  # of the pooled sites
    neuron_ids: Any  # [time, batch, slots]: as Spikes, of the neurons in front of the pool
    activity: Any  # [time, batch, 2]: neurons that spike, neurons that carry gradient
    dropped: Optional[Any] = None  # [time, batch]: spikes beyond a capacity; None: none are
    membrane: Optional[Any] = None  # as of ipulse_ops.keras.equations_neurons.NeuronSpikes


class SingleLayer(SequenceLayer):
    """A SequenceLayer for a stack. Its `delay` applies to its own input spikes."""

    def entering(self, ids: Any, counts: Optional[Any]) -> Tuple[Any, Any]:
        """Convert the arguments of a call to delayed ids and counts with the time first."""
        if isinstance(ids, Spikes) and isinstance(ids, BatchFirstSpikes) is self.time_major:
            axes = ("time", "batch") if self.time_major else ("batch", "time")
            raise ValueError(
                f"{self.name} has the {axes[0]} first, and these spikes have the {axes[1]} first: "
                "give the layers of a stack the same time_major"
            )
        ids, counts = super().entering(ids, counts)
        delay = 0 if self.network.readout.delays else self.network.delay
        if not isinstance(delay, int):  # the op delays its input
            return ids, counts
        return later(ids, delay), later(counts, delay)


@shows_inherited_arguments
@tf.keras.utils.register_keras_serializable("ipulse")
class LIFLayer(SingleLayer):
    """One layer of LIF neurons: takes spikes as MultiLIF does and returns Spikes.

    inputs: number of input channels.
    layer: the neurons.
    delay: steps by which its input spikes are delayed.

    The other arguments are those of MultiLIF. All layers of a stack must have the same
    `time_major`; a mismatch is detected only if Spikes are passed on unchanged.

    A stack of these layers and a LIFReadout, each called with the Spikes of the one before,
    computes and learns the same as one MultiLIF. Only the policy "cyclic" draws other numbers,
    because each layer has its own seed.

    Example:
        >>> import numpy as np
        >>> from ipulse_ops.keras import LIF, LIFLayer
        >>> hidden = LIFLayer(30, LIF(neurons=20, capacity=8), time_major=False)
        >>> spikes = np.random.default_rng(1).random((4, 50, 30)) < 0.1
        >>> ids, counts = hidden(spikes.astype("float32"))
        >>> ids.shape, counts.shape
        (TensorShape([4, 50, 8]), TensorShape([4, 50, 2]))
    """

    def __init__(
        self, inputs: int, layer: Union[LIF, Plain], **kwargs: Unpack[SequenceArguments]
    ) -> None:
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
        """Run the layer on spikes, as SequenceLayer describes them."""
        outputs = self.run(ids, counts, training, seed)
        kind = Spikes if self.time_major else BatchFirstSpikes
        return kind(outputs.spike_ids[0], outputs.spike_counts[0])

    def get_config(self) -> Dict[str, Any]:
        """Return the arguments as plain JSON values."""
        config = super().get_config()
        del config["layers"]
        config["layer"] = config.pop("readout")
        return config


@partial(shows_inherited_arguments, without=("reset",))
@tf.keras.utils.register_keras_serializable("ipulse")
class LIFReadout(SingleLayer):
    """A leaky readout: returns its membrane, float32 `[time, batch, classes]`.

    inputs: number of input channels.
    readout: the integrators.

    The other arguments are those of LIFLayer. It runs as neurons with the largest float32 as
    threshold, which never spike.

    Example:
        >>> import numpy as np
        >>> from ipulse_ops.keras import LeakyReadout, LIFReadout
        >>> readout = LIFReadout(30, LeakyReadout(neurons=10), time_major=False)
        >>> spikes = np.random.default_rng(1).random((4, 50, 30)) < 0.1
        >>> readout(spikes.astype("float32")).shape
        TensorShape([4, 50, 10])
    """

    def __init__(
        self, inputs: int, readout: Union[LeakyReadout, Plain], **kwargs: Unpack[SequenceArguments]
    ) -> None:
        leaky = layer_of(readout)
        if not isinstance(leaky, LeakyReadout):
            raise ValueError(
                f"readout must be LeakyReadout; LIFLayer has neurons that spike; got {readout!r}"
            )
        trained_of(kwargs.get("trainable", ()), (leaky,))  # without the threshold of its neurons
        self._leaky = leaky
        silent = LIF(**plain_layer(leaky), threshold=NEVER, second_threshold=NEVER, capacity=1)
        fixed: Dict[str, Any] = {"reset": "none"}  # a second one is an error, as of any function
        super().__init__(inputs=inputs, layers=(), readout=silent, **fixed, **kwargs)

    def call(self, ids: Any, counts: Optional[Any] = None, training: Optional[bool] = None) -> Any:
        """Run the readout on spikes, as SequenceLayer describes them."""
        return self.run(ids, counts, training).membrane

    def get_config(self) -> Dict[str, Any]:
        """Return the arguments as plain JSON values."""
        config = super().get_config()
        del config["layers"], config["reset"]
        config["readout"] = plain_layer(self._leaky)
        return config
