"""Errors of a regression, by output."""

from __future__ import annotations

from typing import List, Optional

import numpy as np


class OutputErrors:
    """Accumulates the errors of test samples in float64, by output."""

    def __init__(self, outputs: int) -> None:
        self._values = 0  # samples, times steps if each step has a target
        self._squared = np.zeros(outputs)
        self._absolute = np.zeros(outputs)
        self._targets = np.zeros(outputs)
        self._squared_targets = np.zeros(outputs)

    def add(self, outputs: np.ndarray, targets: np.ndarray) -> None:
        """Add a batch; both are `[batch, outputs]` or `[batch, time, outputs]`."""
        size = len(self._squared)
        wanted = np.asarray(targets, np.float64).reshape(-1, size)
        errors = np.asarray(outputs, np.float64).reshape(-1, size) - wanted
        self._values += len(errors)
        self._squared += np.square(errors).sum(axis=0)
        self._absolute += np.abs(errors).sum(axis=0)
        self._targets += wanted.sum(axis=0)
        self._squared_targets += np.square(wanted).sum(axis=0)

    @property
    def mean_squared(self) -> np.ndarray:
        """The mean squared errors, float64 `[outputs]`."""
        mean: np.ndarray = self._squared / self._values
        return mean

    @property
    def mean_absolute(self) -> np.ndarray:
        """The mean absolute errors, float64 `[outputs]`."""
        mean: np.ndarray = self._absolute / self._values
        return mean

    @property
    def by_output(self) -> List[Optional[float]]:
        """R^2 of each output: 1 is perfect, 0 as good as the mean; None for a constant target."""
        spread = self._squared_targets - self._targets**2 / self._values
        is_constant = spread <= 1e-12 * self._squared_targets
        return [
            None if constant else float(1.0 - squared / width)
            for constant, squared, width in zip(is_constant, self._squared, spread)
        ]

    @property
    def r2(self) -> Optional[float]:
        """The mean R^2 of the outputs with targets that vary; None if there are none."""
        known = [value for value in self.by_output if value is not None]
        return float(np.mean(known)) if known else None
