"""Layers of neurons with custom ops or equations between them, as one Keras layer."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Union

import numpy as np
import tensorflow as tf

from ipulse_ops.equations.keras_layer import EquationsLayer
from ipulse_ops.keras import LIFOutputs, LIFReadout, MultiLIF
from ipulse_ops.keras.single_layer import later
from ipulse_worker.runner.op.ipu_layer import IPUOpLayer
from ipulse_worker.runner.op.layer import OpLayer

Part = Union[MultiLIF, LIFReadout, OpLayer, EquationsLayer]
OnPart = Callable[[int], None]


class OpNetwork(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Parts that follow each other: `net(ids, counts)` returns LIFOutputs as a MultiLIF does."""

    supports_jit = False  # as a MultiLIF

    def __init__(
        self,
        parts: Sequence[Part],
        delay: int,
        on_part: OnPart = lambda number: None,
        **kwargs: Any,
    ) -> None:
        """Take the parts.

        Args:
            parts: the last one has the readout.
            delay: steps between two parts.
            on_part: called with the number of each part, from 0, before it is traced.
            kwargs: of the Keras layer.
        """
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.parts = tuple(parts)
        self._delay = delay
        self._on_part = on_part
        self.built = True  # its layers have their variables already

    @property
    def failure(self) -> Optional[Exception]:
        """The error of a layer with equations that ended the run; None without one."""
        failures = (getattr(part, "failure", None) for part in self.parts)
        return next((failure for failure in failures if failure is not None), None)

    @property
    def not_spikes(self) -> List[Any]:
        """A tensor of the last call for each custom op on an IPU: NaN if it made no spikes."""
        return [part.not_spikes for part in self.parts if isinstance(part, IPUOpLayer)]

    @property
    def kernels(self) -> List[Any]:
        """The weights of all layers and ops in order, as Keras variables."""
        return [kernel for layer in self.parts for kernel in layer.kernels]

    @property
    def second_thresholds(self) -> List[Optional[Any]]:
        """One variable per layer and readout, None where all neurons carry gradient."""
        found: List[Optional[Any]] = []
        for part in self.parts:
            if isinstance(part, OpLayer):
                found.append(None)
            elif not isinstance(part, LIFReadout):
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
            self._on_part(number)
            if number and self._delay:
                ids, counts = later(ids, 1), later(counts, 1)
            if isinstance(part, (OpLayer, EquationsLayer)):
                spikes: Any = (
                    part(ids, counts)
                    if isinstance(part, OpLayer)
                    else part.run(ids, counts, training)
                )
                ids, counts = spikes
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
