"""The loss, predictions and penalties of a spec as TensorFlow ops.

The labels of a batch are int32 `[batch]`, or for a regression the targets: float32
`[batch, outputs]`, with a loss that compares each step `[batch, time, outputs]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Tuple, Union

import tensorflow as tf

from ipulse_core.spec.conv_layers import hidden_sizes
from ipulse_core.spec.derived_values import (
    bounded_layers,
    class_count,
    first_spike_steps,
    has_own_loss,
    has_step_targets,
    is_regression,
    spike_targets,
)
from ipulse_ops.keras import LIFOutputs
from ipulse_ops.training import losses, regression, temporal_losses
from ipulse_ops.training.membrane_bounds import membrane_bound
from ipulse_ops.training.regularisers import lower_bound, mean_over, upper_bound
from ipulse_ops.training.spike_totals import spike_totals
from ipulse_worker.runner.model.equations import OwnLoss

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec, LowerBound, MembraneBound, UpperBound

    Bound = Union[LowerBound, UpperBound, MembraneBound]

_OF_MEMBRANE = {
    "mean_membrane_cross_entropy": (
        losses.mean_membrane_cross_entropy,
        losses.predicted_by_mean,
    ),
    "max_membrane_cross_entropy": (losses.max_membrane_cross_entropy, losses.predicted_by_max),
    "last_membrane_cross_entropy": (
        temporal_losses.last_membrane_cross_entropy,
        temporal_losses.predicted_by_last,
    ),
    "step_cross_entropy": (losses.step_cross_entropy, losses.predicted_by_steps),
}
_OUTPUTS = {
    "step_mse": regression.outputs_by_step,
    "mean_membrane_mse": regression.mean_outputs,
    "last_membrane_mse": regression.last_outputs,
}


class Objective:
    """Computes losses, predictions and penalties from the network's outputs."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self._loss = spec.training.loss
        self._is_regression = is_regression(spec.training)
        self._has_step_targets = has_step_targets(spec.training)
        self._targets = spike_targets(spec.training)
        self._first_spike_steps = first_spike_steps(spec)
        self._regularisers: Tuple[Any, ...] = tuple(spec.training.regularisers)
        self._classes = class_count(spec.data)
        self._steps = spec.data.steps
        self._neurons = [*hidden_sizes(spec), self._classes]
        self._own: Optional[OwnLoss] = None
        if has_own_loss(spec.training):
            self._own = OwnLoss(spec, spec.training.loss)
        bounds = spec.training.regularisers
        self._own_penalties = {
            number: OwnLoss(spec, bound)
            for number, bound in enumerate(bounds)
            if bound.kind == "equations"
        }

    def evaluate(self, out: LIFOutputs, labels: tf.Tensor) -> Tuple[tf.Tensor, tf.Tensor]:
        """Return losses float32 `[batch]` and predicted classes int32 `[batch]`.

        In a regression, the outputs, in the targets' shape, take the place of the classes.
        """
        if self._own is not None:
            return self._own.evaluate(out, labels)
        if self._loss in _OUTPUTS:
            outputs = _OUTPUTS[self._loss](out.membrane)
            return regression.squared_error(outputs, labels), outputs
        if self._loss in _OF_MEMBRANE:
            loss, predicted = _OF_MEMBRANE[self._loss]
            return loss(out.membrane, labels), predicted(out.membrane)
        if self._loss == "first_spike_cross_entropy":
            times = temporal_losses.first_spike_times(
                out.spike_ids[-1], out.spike_counts[-1], self._classes
            )
            by_sample = temporal_losses.first_spike_cross_entropy(
                times, labels, self._first_spike_steps
            )
            return by_sample, temporal_losses.predicted_by_first_spike(times)
        spikes = spike_totals(out.spike_ids[-1], out.spike_counts[-1], self._classes)
        if self._loss == "spike_count_cross_entropy":
            by_sample = losses.spike_count_cross_entropy(spikes, labels)
        else:
            by_sample = losses.spike_count_mse(spikes, labels, *self._targets)
        return by_sample, losses.predicted_by_spikes(spikes)

    def scores(self, predicted: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Return float32 `[batch]`: 1 for right predictions, or the mean absolute errors."""
        if self._is_regression:
            return regression.absolute_error(predicted, labels)
        return tf.cast(tf.equal(predicted, labels), tf.float32)

    def label_signature(self, batch: Optional[int]) -> tf.TensorSpec:
        """Return shape and type of the labels of a batch."""
        if not self._is_regression:
            return tf.TensorSpec([batch], tf.int32)
        steps = [self._steps] if self._has_step_targets else []
        return tf.TensorSpec([batch, *steps, self._classes], tf.float32)

    def penalty(
        self, out: LIFOutputs, labels: tf.Tensor, mask: Optional[tf.Tensor] = None
    ) -> Optional[tf.Tensor]:
        """Return the sum of all penalties, a float32 scalar; None without regularisers.

        `mask` is documented in ipulse_ops.training.regularisers.
        """
        found: List[Any] = []
        for at, bound in enumerate(self._regularisers):
            if at in self._own_penalties:
                by_sample, _ = self._own_penalties[at].evaluate(out, labels)
                found.append(bound.strength * mean_over(by_sample, mask))
                continue
            for layer in bounded_layers(bound, len(self._neurons) - 1):
                found.append(self._penalty(bound, layer, out, mask))
        return tf.add_n(found) if found else None

    def _penalty(self, bound: Bound, layer: int, out: LIFOutputs, mask: Any) -> Any:
        if bound.kind == "membrane":
            membranes = [*out.membranes, out.membrane][layer]
            penalty = membrane_bound(membranes, bound.low, bound.high, mask)
            return bound.strength * penalty
        slots = (out.spike_ids[layer], out.spike_counts[layer], self._neurons[layer])
        if bound.kind == "lower":
            return bound.strength * lower_bound(*slots, spikes=bound.spikes, mask=mask)
        bounded = upper_bound(*slots, spikes=bound.spikes, power=bound.power, mask=mask)
        return bound.strength * bounded
