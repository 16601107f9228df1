"""What a network did with a batch, summed up for a Tally."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from ipulse_ops.keras import LIFOutputs


class Seen(NamedTuple):
    """A batch that a network saw, as tensors."""

    out: LIFOutputs
    losses: Any  # float32 [batch]
    predicted: Any  # int32 [batch]
    labels: Any  # int32 [batch]
    penalty: Optional[Any] = None  # float32, of the whole batch
    mask: Optional[Any] = None  # float32 [batch], 1 for the samples that count; None: all

    def sums(self) -> Any:
        """As Tally.sums. In double, in which counts of spikes are exact."""
        samples = tf.cast(tf.size(self.losses), tf.float64)
        if self.mask is not None:
            samples = _total(self.mask)
        added = tf.constant(0.0, tf.float64)
        if self.penalty is not None:
            added = samples * tf.cast(self.penalty, tf.float64)
        loss, right = _total(self._counted(self.losses)), _total(self._right())
        of_layers = [_total(tensor) for tensor in self._of_layers()]
        return tf.stack([samples, loss, right, added, *of_layers])

    def single_sums(self) -> List[Any]:
        """What sums_of makes Tally.sums from, all float32, for a device that has no double:
        `[4]`, then spikes, filled slots and dropped spikes, each `[spiking layers, time]`.

        A sum over a batch is a whole number that float32 holds.
        """
        samples = tf.cast(tf.size(self.losses), tf.float32)
        if self.mask is not None:
            samples = tf.reduce_sum(self.mask)
        added = tf.constant(0.0) if self.penalty is None else samples * self.penalty
        loss = tf.reduce_sum(self._counted(self.losses))
        head = tf.stack([samples, loss, tf.reduce_sum(self._right()), added])
        of_layers = [tf.reduce_sum(tensor, 1) for tensor in self._of_layers()]
        spiking = len(self.out.dropped)
        kinds = [of_layers[kind * spiking : (kind + 1) * spiking] for kind in range(3)]
        return [head, *(tf.stack(kind) for kind in kinds)]

    def spikes_by_step(self) -> Any:
        """float64 `[spiking layers, time]`, summed over the batch."""
        counts = self.out.spike_counts
        return tf.stack([_over_batch(self._counted(c[:, :, 0])) for c in counts])

    def dropped_by_step(self) -> Any:
        """As spikes_by_step."""
        return tf.stack([_over_batch(self._counted(layer)) for layer in self.out.dropped])

    def most(self) -> Any:
        """float32 `[spiking layers]`: the most spikes of any step and sample."""
        return tf.stack(
            [
                tf.reduce_max(self._counted(c[:, :, 0] + dropped))
                for c, dropped in zip(self.out.spike_counts, self.out.dropped)
            ]
        )

    def _of_layers(self) -> List[Any]:
        """float32 `[time, batch]`: of every layer the spikes, of every layer the filled slots, of
        every layer the dropped spikes."""
        counts = self.out.spike_counts
        tensors = [*(c[:, :, 0] for c in counts), *(c[:, :, 1] for c in counts), *self.out.dropped]
        return [self._counted(tensor) for tensor in tensors]

    def _right(self) -> Any:
        return self._counted(tf.cast(tf.equal(self.predicted, self.labels), tf.float32))

    def _counted(self, values: Any) -> Any:
        """`[..., batch]` with 0 for the samples that do not count."""
        return values if self.mask is None else values * self.mask


def sums_of(head: Any, spikes: Any, slots: Any, dropped: Any) -> np.ndarray:
    """Tally.sums, of the arrays of Seen.single_sums."""
    layers = [np.sum(array, axis=1, dtype=np.float64) for array in (spikes, slots, dropped)]
    return np.concatenate([np.asarray(head, np.float64), *layers])


def _total(values: Any) -> Any:
    return tf.reduce_sum(tf.cast(values, tf.float64))


def _over_batch(values: Any) -> Any:
    return tf.reduce_sum(tf.cast(values, tf.float64), 1)
