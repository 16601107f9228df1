"""The infeed queue of an IPU's training program: it never ends and never blocks."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

import numpy as np
import tensorflow as tf

_NEVER = 2**62  # a step that no training has


class FedBatch(NamedTuple):
    """A batch with the other inputs of its training step."""

    ids: Any  # int32 [time, batch, slots]
    counts: Any  # int32 [time, batch]
    labels: Any  # int32 [batch], or targets as Objective describes them
    mask: Any  # float32 [batch], 0 for padding samples
    seed: Any  # int32 [2], low word first
    rates: Any  # float32 [2], see DeviceAdam.rates
    step: Any  # int32 []

    def blank(self) -> FedBatch:
        """Return a batch of this shape without spikes or padding, so that means exist."""
        return FedBatch(*map(np.zeros_like, self))._replace(mask=np.ones_like(self.mask))


class Infeed:
    """A queue with the batches of training step `first`, from 1, and of all later steps.

    `blanks` blank batches come first. A device reads ahead and the host must be able to stop it at
    any time. Every batch is therefore computed from the number of its step alone.
    """

    def __init__(
        self, ipu: Any, fed: Callable[[int], FedBatch], first: int, blanks: int = 0
    ) -> None:
        like = fed(first)

        def batch(step: Any) -> Sequence[Any]:
            return fed(int(step)) if step >= first else like.blank()

        def element(step: Any) -> FedBatch:
            tensors = tf.numpy_function(batch, [step], [array.dtype for array in like])
            for tensor, array in zip(tensors, like):
                tensor.set_shape(array.shape)
            return FedBatch(*tensors)

        dataset = tf.data.Dataset.range(first - blanks, _NEVER).map(element)
        self._queue = ipu.ipu_infeed_queue.IPUInfeedQueue(dataset)
        self.iterator = iter(self._queue)
