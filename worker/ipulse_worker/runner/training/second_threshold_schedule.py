"""Changes of capacities and second thresholds between training steps.

Capacities grow when spikes are dropped. Second thresholds rise over the epochs, and are lowered
while no neuron of their layer has an active gradient.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Dict, List

import numpy as np

from ipulse_core.spec.derived_values import grows_capacity, spiking_layers
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_names import shown_names
from ipulse_ops.capacity import grown_capacity
from ipulse_ops.training.second_threshold import RELAXATIONS, ramp, relaxed
from ipulse_worker.runner.model.layers_of_spec import per_neuron
from ipulse_worker.runner.model.network import LayerLimits, initial_limits, spiking_neurons
from ipulse_worker.runner.model.state import State
from ipulse_worker.runner.model.weight_names import spiking_names
from ipulse_worker.runner.training.metric_accumulator import MetricAccumulator

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec, GrowingCapacity


class SecondThresholdSchedule:
    """Computes the limits of each layer from the training's metrics."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self._spec = spec
        self._layers = spiking_layers(spec.network)
        self._names = spiking_names(spec)
        self._neurons = spiking_neurons(spec)
        self._first = initial_limits(spec)
        self._capacities = list(self._first.capacities)
        self._relaxed = [0] * len(self._layers)  # how many times each second threshold was lowered
        self._was_empty = [False] * len(self._layers)  # no active gradient in a step of this epoch

    def limits(self, epoch: int) -> LayerLimits:
        """Return the limits of epoch `epoch`, from 0."""
        schedule = self._spec.training.second_threshold_ramp
        seconds = list(self._first.second_thresholds)
        for at, (layer, second) in enumerate(zip(self._layers, seconds)):
            if second is None:
                continue
            if schedule is not None:
                second = ramp(schedule.start, second, schedule.shape, epoch, schedule.epochs)
            seconds[at] = relaxed(second, per_neuron(layer.threshold), self._relaxed[at])
        return replace(
            self._first, capacities=tuple(self._capacities), second_thresholds=tuple(seconds)
        )

    def observe_step(
        self, step: int, metrics: MetricAccumulator, max_spikes: np.ndarray
    ) -> List[str]:
        """Adjust the limits after training step `step`, from 1, and return warnings for the log."""
        warnings = []
        for at, layer in enumerate(self._layers):
            if grows_capacity(layer) and metrics.dropped[at]:
                warnings += self._grow(at, layer.capacity, step, metrics, int(max_spikes[at]))
            if field_of(layer, "second_threshold") is not None and not metrics.active_gradients[at]:
                warnings += self._relax(at, step)
        return warnings

    def end_epoch(self) -> None:
        """Raise the second thresholds of layers that had an active gradient in every step."""
        for at, was_empty in enumerate(self._was_empty):
            if not was_empty:
                self._relaxed[at] = max(0, self._relaxed[at] - 1)
            self._was_empty[at] = False

    def metrics(self, limits: LayerLimits) -> Dict[str, float]:
        """Return the limits by metric key; for thresholds per neuron, the mean."""
        values = {}
        for name, layer, capacity, second in zip(
            self._names, self._layers, limits.capacities, limits.second_thresholds
        ):
            if second is not None:
                values[f"second_threshold/{name}"] = float(np.mean(second))
            if grows_capacity(layer) and capacity is not None:
                values[f"capacity/{name}"] = float(capacity)
        return values

    def state(self) -> State:
        """Return the state for a checkpoint."""
        return {
            "capacities": np.array([capacity or 0 for capacity in self._capacities]),
            "relaxed": np.array(self._relaxed),
            "was_empty": np.array(self._was_empty),
        }

    def restore(self, state: State) -> None:
        """Set the state from a checkpoint."""
        self._capacities = [int(capacity) or None for capacity in state["capacities"]]
        self._relaxed = [int(times) for times in state["relaxed"]]
        self._was_empty = [bool(was) for was in state["was_empty"]]

    def _grow(
        self,
        at: int,
        capacity: GrowingCapacity,
        step: int,
        metrics: MetricAccumulator,
        max_spikes: int,
    ) -> List[str]:
        before = self._capacities[at] or self._neurons[at]
        limit = min(capacity.most or self._neurons[at], self._neurons[at])
        if before >= limit:
            return []  # further dropped spikes are in the metrics and the report
        sites = metrics.sums[0] * metrics.steps
        mean = float((metrics.active_gradients[at] + metrics.dropped[at]) / sites)
        after = min(limit, grown_capacity(before, self._neurons[at], mean, max_spikes))
        self._capacities[at] = after
        return [
            f"step {step:,}: {self._label(at)} dropped {metrics.dropped[at]:,.0f} spikes; its "
            f"capacity grows from {before:,} to {after:,} spikes per step"
        ]

    def _relax(self, at: int, step: int) -> List[str]:
        is_reported = self._was_empty[at]
        self._was_empty[at] = True
        if self._relaxed[at] < RELAXATIONS:
            self._relaxed[at] += 1
        if is_reported:
            return []
        return [
            f"step {step:,}: no neuron of {self._label(at)} is above its second threshold, so no "
            "gradient reaches it and the layers before it. The threshold is lowered until some "
            "neurons are above it. Lower second_threshold, raise it gradually with "
            "training.second_threshold_ramp, or raise network.initial_membrane_std"
        ]

    def _label(self, at: int) -> str:
        return shown_names(self._spec.network)[self._names[at]]
