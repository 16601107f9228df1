"""Figures that add up: of a step, of an epoch, of an evaluation."""

from __future__ import annotations

from typing import Dict, Sequence

import numpy as np


class Tally:
    """Sums over samples, from which the means are derived once.

    `sums` float64 `[3 + 3 * layers]`: samples, their summed loss, how many were right; then of
    every layer the spikes; of every layer the filled slots (spikes and gradient-only neurons);
    of every layer the spikes that found no slot.
    """

    def __init__(self, neurons: Sequence[int], steps: int) -> None:
        self.neurons = tuple(neurons)
        self.steps = steps
        self.sums = np.zeros(3 + 3 * len(neurons))

    def add(self, sums: np.ndarray) -> None:
        self.sums += sums

    @property
    def loss(self) -> float:
        return float(self.sums[1] / self.sums[0])

    @property
    def accuracy(self) -> float:
        return float(self.sums[2] / self.sums[0])

    @property
    def firing_rates(self) -> np.ndarray:
        """Spikes per neuron and step, float64 `[layers]`."""
        return self._per_site(0)

    @property
    def gradient_shares(self) -> np.ndarray:
        """Share of neurons and steps that carry gradient, float64 `[layers]`."""
        return self._per_site(1)

    @property
    def dropped(self) -> np.ndarray:
        """Spikes that found no slot, float64 `[layers]`."""
        dropped: np.ndarray = self.sums[3:].reshape(3, -1)[2]
        return dropped

    def values(self) -> Dict[str, float]:
        """The figures under the names that metric events use."""
        values = {"loss": self.loss, "accuracy": self.accuracy}
        for number, (rate, dropped) in enumerate(zip(self.firing_rates, self.dropped), start=1):
            values[f"firing_rate/{number}"] = float(rate)
            values[f"overflow/{number}"] = float(dropped)
        return values

    def _per_site(self, row: int) -> np.ndarray:
        sites = self.sums[0] * self.steps * np.array(self.neurons)
        per_site: np.ndarray = self.sums[3:].reshape(3, -1)[row] / sites
        return per_site
