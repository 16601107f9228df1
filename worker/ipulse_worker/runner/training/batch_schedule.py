"""The assignment of samples to training steps."""

from __future__ import annotations

from functools import lru_cache
from typing import Callable

import numpy as np

from ipulse_core.errors import InvalidSpec, Problem
from ipulse_worker.runner.randomness import Purpose, stream


class BatchSchedule:
    """Visits each training sample once per epoch, in an order that depends on seed and epoch only.

    A resumed attempt therefore continues with the next batch of the lost attempt. The last batch
    of an epoch is smaller if the batch size does not divide the number of samples.
    """

    def __init__(self, samples: np.ndarray, batch_size: int, epochs: int, seed: int) -> None:
        self.epochs = epochs
        self.steps_per_epoch = -(-len(samples) // batch_size)
        self.steps = epochs * self.steps_per_epoch
        self._samples = samples
        self._batch_size = batch_size
        self._seed = seed
        self._order: Callable[[int], np.ndarray] = lru_cache(maxsize=1)(self._shuffled)

    def require_whole_executions(self, steps: int) -> None:
        """Check that executions of so many steps make up an epoch.

        Raises:
            InvalidSpec: device.steps_per_execution does not divide the steps of an epoch.
        """
        if self.steps_per_epoch % steps:
            detail = f"{steps:,} does not divide the {self.steps_per_epoch:,} steps of an epoch"
            raise InvalidSpec([Problem("/device/steps_per_execution", "inconsistent", detail)])

    def epoch(self, step: int) -> int:
        """Return the epoch, from 0, of step `step`, from 0."""
        return step // self.steps_per_epoch

    def ends_epoch(self, step: int) -> bool:
        """Return whether step `step`, from 0, is the last one of its epoch."""
        return (step + 1) % self.steps_per_epoch == 0

    def batch(self, step: int) -> np.ndarray:
        """Return the indices of the samples of step `step`, from 0, int64 `[batch]`."""
        first = (step % self.steps_per_epoch) * self._batch_size
        return self._order(self.epoch(step))[first : first + self._batch_size]

    def _shuffled(self, epoch: int) -> np.ndarray:
        return stream(Purpose.BATCH_ORDER, self._seed, epoch).permutation(self._samples)
