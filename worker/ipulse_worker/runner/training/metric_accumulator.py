"""Figures that add up: of a step, of an epoch, of an evaluation."""

from __future__ import annotations

from typing import Dict, Sequence

import numpy as np

_LAYERS = 4  # where the layers' sums begin


class Tally:
    """Sums over samples, from which the means are derived once.

    `sums` float64 `[4 + 3 * layers]`: samples, their summed loss, how many were right, their
    summed penalties; then of every layer that spikes the spikes; of every such layer the filled
    slots (spikes and gradient-only neurons); of every such layer the spikes that found no slot.
    """

    def __init__(self, names: Sequence[str], neurons: Sequence[int], steps: int) -> None:
        """`names`: of the layers that spike, as figures have them."""
        self.names = tuple(names)
        self.neurons = tuple(neurons)
        self.steps = steps
        self.sums = np.zeros(_LAYERS + 3 * len(neurons))

    def fresh(self) -> Tally:
        """An empty one of the same layers."""
        return Tally(self.names, self.neurons, self.steps)

    def add(self, sums: np.ndarray) -> None:
        self.sums += sums

    @property
    def loss(self) -> float:
        return float(self.sums[1] / self.sums[0])

    @property
    def accuracy(self) -> float:
        return float(self.sums[2] / self.sums[0])

    @property
    def penalty(self) -> float:
        return float(self.sums[3] / self.sums[0])

    @property
    def firing_rates(self) -> np.ndarray:
        """Spikes per neuron and step, float64 `[layers]`."""
        return self._per_site(0)

    @property
    def gradient_shares(self) -> np.ndarray:
        """Share of neurons and steps that carry gradient, float64 `[layers]`."""
        return self._per_site(1)

    @property
    def filled(self) -> np.ndarray:
        """Slots in use, float64 `[layers]`."""
        filled: np.ndarray = self._by_layer[1]
        return filled

    @property
    def dropped(self) -> np.ndarray:
        """Spikes that found no slot, float64 `[layers]`."""
        dropped: np.ndarray = self._by_layer[2]
        return dropped

    def values(self) -> Dict[str, float]:
        """The figures under the names that metric events use."""
        values = {"loss": self.loss, "accuracy": self.accuracy}
        if self.sums[3]:
            values["penalty"] = self.penalty
        by_layer = zip(self.names, self.firing_rates, self.gradient_shares, self.dropped)
        for name, rate, share, dropped in by_layer:
            values[f"firing_rate/{name}"] = float(rate)
            values[f"gradient_set/{name}"] = float(share)
            values[f"overflow/{name}"] = float(dropped)
        return values

    @property
    def _by_layer(self) -> np.ndarray:
        by_layer: np.ndarray = self.sums[_LAYERS:].reshape(3, -1)
        return by_layer

    def _per_site(self, row: int) -> np.ndarray:
        sites = self.sums[0] * self.steps * np.array(self.neurons)
        per_site: np.ndarray = self._by_layer[row] / sites
        return per_site
