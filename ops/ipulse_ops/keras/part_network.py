"""Layers of LIF neurons with other layers between them, as one Keras layer."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.spec.stretches import Stretch
from ipulse_ops.keras.multi_lif import MultiLIF
from ipulse_ops.keras.single_layer import LIFReadout
from ipulse_ops.lif.run_options import LIFOutputs
from ipulse_ops.lif.single_layers import Arrange, received_spikes
from ipulse_ops.lif.slot_lists import later

OnPart = Callable[[int], None]


class PartNetwork(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Parts that follow each other: `net(ids, counts)` returns LIFOutputs as a MultiLIF does."""

    supports_jit = False  # as a MultiLIF

    def __init__(
        self,
        parts: Sequence[Any],
        stretches: Sequence[Stretch],
        on_part: OnPart = lambda number: None,
        arrange: Optional[Arrange] = None,
        **kwargs: Any,
    ) -> None:
        """Take the parts.

        Args:
            parts: a MultiLIF or other layers, such as an EquationsLayer, whose `run` returns
                Spikes, or convolutions; the last one, a MultiLIF or LIFReadout, has the readout.
            stretches: what each part receives: of which layers, how late, and with which dropout.
            on_part: called with the number of each part, from 0, before it is traced; a MultiLIF
                whose layers run alone has a number for each.
            arrange: as of ipulse_ops.lif.single_layers.run_single_layers.
            kwargs: of the Keras layer.
        """
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.parts = tuple(parts)
        self._stretches = tuple(stretches)
        self._on_part, self._arrange = on_part, arrange
        self._numbers = _numbers_of(self.parts)
        for number, part in zip(self._numbers, self.parts):
            if isinstance(part, MultiLIF):
                part.on_layer = partial(_on_layer, on_part, number)
        self.built = True  # its layers have their variables already

    @property
    def failure(self) -> Optional[Exception]:
        """The error of a layer with equations that ended the run; None without one."""
        failures = (getattr(part, "failure", None) for part in self.parts)
        return next((failure for failure in failures if failure is not None), None)

    @property
    def kernels(self) -> List[Any]:
        """The weights of all layers and ops in order, as Keras variables."""
        return [kernel for layer in self.parts for kernel in layer.kernels]

    @property
    def second_thresholds(self) -> List[Optional[Any]]:
        """One variable per layer and readout, None where all neurons carry gradient."""
        found: List[Optional[Any]] = []
        for part in self.parts:
            if not isinstance(part, LIFReadout):
                found += part.second_thresholds
        return found

    def set_kernels(self, arrays: Sequence[np.ndarray]) -> None:
        """Set the weights, in the order of `kernels`."""
        rest = list(arrays)
        for layer in self.parts:
            layer.set_kernels(rest[: len(layer.kernels)])
            rest = rest[len(layer.kernels) :]

    def match_deviations(self) -> None:
        """Set the trained standard deviations to those of the weights."""
        for layer in self.parts:
            layer.match_deviations()

    def call(
        self,
        ids: Any,
        counts: Any,
        training: Optional[bool] = None,
        seed: Optional[Any] = None,
    ) -> LIFOutputs:
        """Run the network on spikes, as a MultiLIF.

        Raises ValueError for a training without a seed if a part has dropout.
        """
        if training and seed is None and any(each.dropout for each in self._stretches):
            raise ValueError("dropout draws numbers: call the network with a seed in training")
        sent = [(ids, counts)]  # of the input and the layers
        spike_ids: List[Any] = []
        spike_counts: List[Any] = []
        dropped: List[Any] = []
        membrane: Any = None
        membranes: List[Any] = []  # None for those that are not shown
        for number, part in enumerate(self.parts):
            self._on_part(self._numbers[number])
            # Each part draws other numbers, of which a training step needs less than 2^28.
            drawn = seed if seed is None or not number else seed + (number << 28)
            ids, counts, factor = self._received(number, sent, drawn if training else None)
            if hasattr(part, "run_pooled"):
                run = part.run_pooled(ids, counts, training, factor, drawn)
                sent.append(tuple(run.spikes))
                spike_ids.append(run.neuron_ids)
                spike_counts.append(run.activity)
                none = tf.zeros_like(run.activity[..., 0])
                dropped.append(none if run.dropped is None else run.dropped)
                membranes.append(run.membrane)
                continue
            if not isinstance(part, (MultiLIF, LIFReadout)):
                run = part.run(ids, counts, training, factor, drawn)
                sent.append((run.ids, run.counts))
                spike_ids.append(run.ids)
                spike_counts.append(run.counts)
                dropped.append(run.dropped)
                membranes.append(run.membrane)
                continue
            outputs = part.run(ids, counts, training, drawn)
            membrane = outputs.membrane
            shown = [*outputs.membranes, membrane] if part.return_membranes else []
            membranes += shown or [None] * (len(part.network.layers) + 1)
            if isinstance(part, LIFReadout):  # its neurons never spike
                continue
            spike_ids += outputs.spike_ids
            spike_counts += outputs.spike_counts
            dropped += outputs.dropped
            sent += zip(outputs.spike_ids, outputs.spike_counts)
        return LIFOutputs(
            membrane, spike_ids, spike_counts, dropped, shown_membranes(membranes[:-1])
        )

    def _received(
        self, number: int, sent: Sequence[Tuple[Any, Any]], seed: Optional[Any]
    ) -> Tuple[Any, Any, float]:
        """Return what `received_spikes` returns for a part, in time."""
        stretch = self._stretches[number]
        sources = [sent[-1], *(sent[layer] for layer in stretch.residual)]
        ids, counts, factor = received_spikes(
            sources, stretch.senders, stretch.dropout, layer=0, seed=seed
        )
        if self._arrange and ids is not sent[-1][0]:
            ids, counts = self._arrange(ids, counts, sum(each.shape[-1] for each, _ in sources))
        return later(ids, stretch.delay), later(counts, stretch.delay), factor


def shown_membranes(membranes: Sequence[Optional[Any]]) -> List[Any]:
    """Return LIFOutputs.membranes, of which None stands for those of a layer that shows none."""
    if all(each is None for each in membranes):
        return []
    return [tf.zeros([0, 0, 0]) if each is None else each for each in membranes]


def _numbers_of(parts: Sequence[Any]) -> List[int]:
    """Return the number of the first program of each part."""
    found = [0]
    for part in parts[:-1]:
        is_split = isinstance(part, MultiLIF) and part.network.runs_layers_alone
        found.append(found[-1] + (len(part.network.layers) + 1 if is_split else 1))
    return found


def _on_layer(on_part: OnPart, first: int, number: int) -> None:
    on_part(first + number)
