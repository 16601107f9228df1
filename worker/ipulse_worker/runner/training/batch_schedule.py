"""Which samples each training step sees."""

from __future__ import annotations

from functools import lru_cache
from typing import Callable

import numpy as np

from ipulse_worker.runner.training.randomness import Purpose, stream


class Schedule:
    """Every epoch visits each training sample once, in an order fixed by seed and epoch alone.

    A resumed attempt therefore continues with the batch that the lost one would have seen. The
    last batch of an epoch is smaller where the batch size does not divide the samples.
    """

    def __init__(self, samples: np.ndarray, batch_size: int, epochs: int, seed: int) -> None:
        self.epochs = epochs
        self.steps_per_epoch = -(-len(samples) // batch_size)
        self.steps = epochs * self.steps_per_epoch
        self._samples = samples
        self._batch_size = batch_size
        self._seed = seed
        self._order: Callable[[int], np.ndarray] = lru_cache(maxsize=1)(self._shuffled)

    def epoch(self, step: int) -> int:
        """The epoch, from 0, that step `step`, from 0, belongs to."""
        return step // self.steps_per_epoch

    def ends_epoch(self, step: int) -> bool:
        return (step + 1) % self.steps_per_epoch == 0

    def batch(self, step: int) -> np.ndarray:
        """Indices int64 `[batch]` of the samples of step `step`, from 0."""
        first = (step % self.steps_per_epoch) * self._batch_size
        return self._order(self.epoch(step))[first : first + self._batch_size]

    def _shuffled(self, epoch: int) -> np.ndarray:
        return stream(Purpose.BATCH_ORDER, self._seed, epoch).permutation(self._samples)
