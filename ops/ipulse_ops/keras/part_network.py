"""Layers of LIF neurons with other layers between them, as one Keras layer."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, List, Optional, Sequence

import numpy as np
import tensorflow as tf

from ipulse_ops.keras.multi_lif import MultiLIF
from ipulse_ops.keras.single_layer import LIFReadout
from ipulse_ops.lif.run_options import LIFOutputs
from ipulse_ops.lif.slot_lists import later

OnPart = Callable[[int], None]


class PartNetwork(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Parts that follow each other: `net(ids, counts)` returns LIFOutputs as a MultiLIF does."""

    supports_jit = False  # as a MultiLIF

    def __init__(
        self,
        parts: Sequence[Any],
        delays: Sequence[int],
        on_part: OnPart = lambda number: None,
        **kwargs: Any,
    ) -> None:
        """Take the parts.

        Args:
            parts: a MultiLIF or other layers, such as an EquationsLayer, whose `run` returns
                Spikes, or convolutions; the last one, a MultiLIF or LIFReadout, has the readout.
            delays: steps that spikes take to each part.
            on_part: called with the number of each part, from 0, before it is traced; a MultiLIF
                whose layers run alone has a number for each.
            kwargs: of the Keras layer.
        """
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.parts = tuple(parts)
        self.delays = tuple(delays)
        self._on_part = on_part
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
        """Run the network on spikes, as a MultiLIF."""
        spike_ids: List[Any] = []
        spike_counts: List[Any] = []
        dropped: List[Any] = []
        membrane: Any = None
        for number, part in enumerate(self.parts):
            self._on_part(self._numbers[number])
            delay = self.delays[number]
            ids, counts = later(ids, delay), later(counts, delay)
            if hasattr(part, "run_pooled"):
                run = part.run_pooled(ids, counts, training)
                ids, counts = run.spikes
                spike_ids.append(run.neuron_ids)
                spike_counts.append(run.activity)
                dropped.append(tf.zeros_like(run.activity[..., 0]))
                continue
            if not isinstance(part, (MultiLIF, LIFReadout)):
                ids, counts = part.run(ids, counts, training)
                spike_ids.append(ids)
                spike_counts.append(counts)
                dropped.append(tf.zeros_like(counts[..., 0]))
                continue
            # Each part draws other numbers, of which a training step needs less than 2^28.
            drawn = seed if seed is None or not number else seed + (number << 28)
            outputs = part.run(ids, counts, training, drawn)
            membrane = outputs.membrane
            if isinstance(part, LIFReadout):  # its neurons never spike
                continue
            spike_ids += outputs.spike_ids
            spike_counts += outputs.spike_counts
            dropped += outputs.dropped
            if outputs.spike_ids:
                ids, counts = outputs.spike_ids[-1], outputs.spike_counts[-1]
        return LIFOutputs(membrane, spike_ids, spike_counts, dropped, membranes=[])


def _numbers_of(parts: Sequence[Any]) -> List[int]:
    """Return the number of the first program of each part."""
    found = [0]
    for part in parts[:-1]:
        is_split = isinstance(part, MultiLIF) and part.network.runs_layers_alone
        found.append(found[-1] + (len(part.network.layers) + 1 if is_split else 1))
    return found


def _on_layer(on_part: OnPart, first: int, number: int) -> None:
    on_part(first + number)
