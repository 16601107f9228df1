"""The loss of a spec that is made of equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Tuple

import tensorflow as tf

from ipulse_core.equations.loss import FIRST_SPIKE, MEMBRANE, SPIKE_COUNT, read_loss
from ipulse_core.spec.derived_values import class_count
from ipulse_ops.equations.loss import LossEvaluator
from ipulse_ops.equations.loss_op import loss_with_equations
from ipulse_ops.keras import LIFOutputs
from ipulse_ops.training.spike_totals import spike_totals
from ipulse_ops.training.temporal_losses import first_spike_times

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class OwnLoss:
    """Computes such a loss from the network's outputs."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self._classes, self._step_ms = class_count(spec.data), spec.data.step_ms
        equations = read_loss(spec.training.loss)
        self._evaluator = LossEvaluator(equations, self._classes, spec.data.steps)

    def evaluate(self, out: LIFOutputs, right: tf.Tensor) -> Tuple[tf.Tensor, tf.Tensor]:
        """Return losses and predictions; both and `right` are described in Objective."""
        reads = self._evaluator.equations.reads
        found: Dict[str, Any] = {}
        if MEMBRANE in reads:
            found[MEMBRANE] = out.membrane
        if SPIKE_COUNT in reads:
            found[SPIKE_COUNT] = spike_totals(*self._spikes(out), self._classes)
        if FIRST_SPIKE in reads:
            times = first_spike_times(*self._spikes(out), self._classes)
            found[FIRST_SPIKE] = times * tf.constant(self._step_ms, tf.float32)
        return loss_with_equations(self._evaluator, found, right)

    def _spikes(self, out: LIFOutputs) -> Tuple[tf.Tensor, tf.Tensor]:
        return out.spike_ids[-1], out.spike_counts[-1]
