"""Metrics that are sums over samples: of a step, an epoch or an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Sequence

import numpy as np

from ipulse_core.spec.derived_values import score_name
from ipulse_worker.runner.model.network import spiking_neurons
from ipulse_worker.runner.model.weight_names import spiking_names

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

_LAYERS = 4  # where the layers' sums begin


class MetricAccumulator:
    """Accumulates sums over samples and derives means from them.

    `sums` is float64 `[4 + 3 * layers]`: number of samples, summed loss, correct predictions (or a
    regression's absolute errors) and summed penalties; then one value per spiking layer for spikes,
    active gradients (spikes and gradient-only neurons) and dropped spikes.
    """

    def __init__(
        self,
        names: Sequence[str],
        neurons: Sequence[int],
        steps: int,
        score_name: str = "accuracy",
    ) -> None:
        """Create an accumulator with zero sums.

        Args:
            names: of the spiking layers, as metric keys contain them.
            neurons: of the spiking layers.
            steps: time steps of a sample.
            score_name: metric key of the third sum's mean.
        """
        self.names = tuple(names)
        self.neurons = tuple(neurons)
        self.steps = steps
        self.score_name = score_name
        self.sums = np.zeros(_LAYERS + 3 * len(neurons))

    def fresh(self) -> MetricAccumulator:
        """Return an empty accumulator for the same layers."""
        return MetricAccumulator(self.names, self.neurons, self.steps, self.score_name)

    def add(self, sums: np.ndarray) -> None:
        """Add the sums of further samples."""
        self.sums += sums

    @property
    def loss(self) -> float:
        """The mean loss."""
        return float(self.sums[1] / self.sums[0])

    @property
    def score(self) -> float:
        """The fraction of correct predictions, from 0 to 1, or the mean absolute error."""
        return float(self.sums[2] / self.sums[0])

    @property
    def penalty(self) -> float:
        """The mean sum of the regularisers' penalties."""
        return float(self.sums[3] / self.sums[0])

    @property
    def firing_rates(self) -> np.ndarray:
        """Spikes per neuron and step, float64 `[layers]`."""
        return self._per_site(0)

    @property
    def active_gradient_fractions(self) -> np.ndarray:
        """Active-gradient fraction: neurons and steps with a gradient, float64 `[layers]`."""
        return self._per_site(1)

    @property
    def active_gradients(self) -> np.ndarray:
        """Neurons and steps with an active gradient, summed, float64 `[layers]`."""
        active: np.ndarray = self._by_layer[1]
        return active

    @property
    def dropped(self) -> np.ndarray:
        """Dropped spikes, float64 `[layers]`."""
        dropped: np.ndarray = self._by_layer[2]
        return dropped

    def values(self) -> Dict[str, float]:
        """Return the metrics by the keys that metric events use."""
        values = {"loss": self.loss, self.score_name: self.score}
        if self.sums[3]:
            values["penalty"] = self.penalty
        by_layer = zip(self.names, self.firing_rates, self.active_gradient_fractions, self.dropped)
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


def empty_accumulator(spec: ExperimentSpec) -> MetricAccumulator:
    """Return an accumulator without samples for the spec's layers."""
    return MetricAccumulator(
        spiking_names(spec), spiking_neurons(spec), spec.data.steps, score_name(spec.training)
    )
