"""What a spec's training minimises, as TensorFlow ops on what the network did."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import tensorflow as tf

from ipulse.spec import ExperimentSpec, LowerBound, Regulariser, SpikeTargets
from ipulse_ops.keras import LIFOutputs
from ipulse_ops.training import losses
from ipulse_ops.training.regularisers import lower_bound, upper_bound
from ipulse_ops.training.spike_totals import spike_totals

_OF_MEMBRANE = {
    "mean_membrane_cross_entropy": (
        losses.mean_membrane_cross_entropy,
        losses.predicted_by_mean,
    ),
    "max_membrane_cross_entropy": (losses.max_membrane_cross_entropy, losses.predicted_by_max),
    "step_cross_entropy": (losses.step_cross_entropy, losses.predicted_by_steps),
}


class Objective:
    """A loss by sample, a prediction, and the penalties of a batch."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self._loss = spec.training.loss
        self._targets = spec.training.spike_targets or SpikeTargets()
        self._regularisers = spec.training.regularisers
        self._classes = spec.data.classes
        self._neurons = [layer.neurons for layer in spec.network.layers]

    def evaluate(self, out: LIFOutputs, labels: tf.Tensor) -> Tuple[tf.Tensor, tf.Tensor]:
        """Losses float32 `[batch]` and predicted classes int32 `[batch]`."""
        if self._loss in _OF_MEMBRANE:
            loss, predicted = _OF_MEMBRANE[self._loss]
            return loss(out.membrane, labels), predicted(out.membrane)
        spikes = spike_totals(out.spike_ids[-1], out.spike_counts[-1], self._classes)
        if self._loss == "spike_count_cross_entropy":
            by_sample = losses.spike_count_cross_entropy(spikes, labels)
        else:
            targets = self._targets
            by_sample = losses.spike_count_mse(spikes, labels, targets.right, targets.wrong)
        return by_sample, losses.predicted_by_spikes(spikes)

    def penalty(self, out: LIFOutputs, mask: Optional[tf.Tensor] = None) -> Optional[tf.Tensor]:
        """The sum of all penalties, a float32 scalar; None without regularisers.

        mask: as in ipulse_ops.training.regularisers.
        """
        found: List[Any] = []
        for bound in self._regularisers:
            for number in bound.layers or range(1, len(self._neurons) + 1):
                found.append(self._penalty(bound, number - 1, out, mask))
        return tf.add_n(found) if found else None

    def _penalty(self, bound: Regulariser, layer: int, out: LIFOutputs, mask: Any) -> Any:
        slots = (out.spike_ids[layer], out.spike_counts[layer], self._neurons[layer])
        if isinstance(bound, LowerBound):
            return bound.strength * lower_bound(*slots, spikes=bound.spikes, mask=mask)
        bounded = upper_bound(*slots, spikes=bound.spikes, power=bound.power, mask=mask)
        return bound.strength * bounded
