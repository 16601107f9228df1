"""Convolutions in front of fully connected layers, as one Keras layer."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Union

import numpy as np
import tensorflow as tf

from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.keras.multi_lif import MultiLIF
from ipulse_ops.keras.part_network import OnPart, shown_membranes
from ipulse_ops.keras.single_layer import LIFReadout
from ipulse_ops.lif.run_options import LIFOutputs
from ipulse_ops.lif.slot_lists import later
from ipulse_ops.validation import instance


class ConvNetwork(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Convolutions, then a MultiLIF or a LIFReadout: `net(ids, counts)` returns LIFOutputs.

    The convolutions are the first spiking layers of the outputs. Their spike_ids list neurons,
    (y * width + x) * filters + filter, and not pooled sites.

    Raises ValueError if the layers do not fit each other.
    """

    supports_jit = False  # see Convolution

    def __init__(
        self,
        convolutions: Sequence[Convolution],
        rest: Union[MultiLIF, LIFReadout],
        on_part: OnPart = lambda number: None,
        **kwargs: Any,
    ) -> None:
        """Take the layers.

        Args:
            convolutions: in the order in which they run.
            rest: the layers behind them.
            on_part: called with the number of each convolution, from 0, and with the next number
                for the rest, before it is traced; with one number for each layer of a rest whose
                layers run alone.
            kwargs: of the Keras layer.
        """
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        if not convolutions:
            raise ValueError("a ConvNetwork needs at least one convolution")
        for number, layer in enumerate(convolutions):
            instance(f"convolutions[{number}]", layer, Convolution)
        instance("rest", rest, MultiLIF, LIFReadout)
        before = convolutions[0]
        for number, layer in enumerate(convolutions[1:], start=1):
            if layer.geometry.entering != before.geometry.pooled:
                raise ValueError(
                    f"convolutions[{number}] takes {layer.geometry.entering}, and the one before "
                    f"it returns {before.geometry.pooled}"
                )
            before = layer
        if rest.network.inputs != before.geometry.pooled.sites:
            raise ValueError(
                f"rest takes {rest.network.inputs} channels, and the last convolution returns "
                f"{before.geometry.pooled.sites}"
            )
        self.convolutions = list(convolutions)
        self.rest = rest
        self._on_part = on_part
        rest.on_layer = lambda number: on_part(len(convolutions) + number)
        self.built = True  # its layers have their variables already

    @property
    def parts(self) -> List[Any]:
        """The convolutions, then the rest."""
        return [*self.convolutions, self.rest]

    @property
    def kernels(self) -> List[Any]:
        """The weights of the convolutions, then those of the other layers, as Keras variables."""
        convolved = [kernel for layer in self.convolutions for kernel in layer.kernels]
        return [*convolved, *self.rest.kernels]

    @property
    def second_thresholds(self) -> List[Optional[Any]]:
        """One variable per layer and readout, None where all neurons carry gradient."""
        convolved = [each for layer in self.convolutions for each in layer.second_thresholds]
        if isinstance(self.rest, LIFReadout):
            return [*convolved, None]
        return [*convolved, *self.rest.second_thresholds]

    def set_kernels(self, arrays: Sequence[np.ndarray]) -> None:
        """Set the weights, in the order of `kernels`.

        Raises ValueError if their number or shapes do not fit.
        """
        rest = list(arrays)
        for layer in self.convolutions:
            layer.set_kernels(rest[: len(layer.kernels)])
            rest = rest[len(layer.kernels) :]
        self.rest.set_kernels(rest)

    def match_deviations(self) -> None:
        """Set the trained standard deviations to those of the weights."""
        for part in self.parts:
            part.match_deviations()

    def call(
        self,
        ids: Any,
        counts: Optional[Any] = None,
        training: Optional[bool] = None,
        seed: Optional[Any] = None,
    ) -> LIFOutputs:
        """Run the network on spikes, as Convolution takes them."""
        neuron_ids, activity = [], []
        for number, layer in enumerate(self.convolutions):
            self._on_part(number)
            run = layer.run_pooled(ids, counts, training)
            neuron_ids.append(run.neuron_ids)
            activity.append(run.activity)
            ids, counts = run.spikes
        self._on_part(len(self.convolutions))
        network = self.rest.network
        if isinstance(self.rest, MultiLIF) and isinstance(network.delay, int):
            # It delays between its own layers only.
            first = (*network.layers, network.readout)[0]
            delay = 0 if first.delays else network.delay
            ids, counts = later(ids, delay), later(counts, delay)
        outputs = self.rest.run(ids, counts, training, seed)
        if isinstance(self.rest, LIFReadout):  # its neurons never spike
            outputs = outputs._replace(spike_ids=[], spike_counts=[], dropped=[])
        return LIFOutputs(
            membrane=outputs.membrane,
            spike_ids=[*neuron_ids, *outputs.spike_ids],
            spike_counts=[*activity, *outputs.spike_counts],
            dropped=[*(tf.zeros_like(a[..., 0]) for a in activity), *outputs.dropped],
            membranes=shown_membranes([*[None] * len(neuron_ids), *outputs.membranes]),
        )
