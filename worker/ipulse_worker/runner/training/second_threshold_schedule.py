"""What changes of a network between training steps: capacities that grow, second thresholds that
rise over the epochs and give way where no neuron carries gradient.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List

import numpy as np

from ipulse.spec import ExperimentSpec, GrowingCapacity
from ipulse_ops.capacity import grown_capacity
from ipulse_ops.training.second_threshold import RELAXATIONS, ramp, relaxed
from ipulse_worker.runner.model.network import (
    Gates,
    first_gates,
    per_neuron,
    spiking_names,
    spiking_neurons,
)
from ipulse_worker.runner.training.metric_accumulator import Tally
from ipulse_worker.runner.training.state import State


class GateControl:
    """Decides about the gates; what it says about it is for the log."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self._spec = spec
        self._layers = spec.network.spiking
        self._names = spiking_names(spec)
        self._neurons = spiking_neurons(spec)
        self._first = first_gates(spec)
        self._capacities = list(self._first.capacities)
        self._relaxed = [0] * len(self._layers)  # how many times a second threshold gave way
        self._was_empty = [False] * len(self._layers)  # in the epoch begun

    def gates(self, epoch: int) -> Gates:
        """The gates in epoch `epoch`, from 0."""
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

    def saw_step(self, step: int, tally: Tally, most: np.ndarray) -> List[str]:
        """Takes what training step `step`, from 1, did; tells what it changes."""
        said = []
        for at, layer in enumerate(self._layers):
            if isinstance(layer.capacity, GrowingCapacity) and tally.dropped[at]:
                said += self._grow(at, layer.capacity, step, tally, int(most[at]))
            if layer.second_threshold is not None and not tally.filled[at]:
                said += self._relax(at, step)
        return said

    def ended_epoch(self) -> None:
        """After an epoch in which a layer's set was never empty, its gate closes a little."""
        for at, was_empty in enumerate(self._was_empty):
            if not was_empty:
                self._relaxed[at] = max(0, self._relaxed[at] - 1)
            self._was_empty[at] = False

    def figures(self, gates: Gates) -> Dict[str, float]:
        """The gates under the names that metric events use; of one per neuron the mean."""
        values = {}
        for name, layer, capacity, second in zip(
            self._names, self._layers, gates.capacities, gates.second_thresholds
        ):
            if second is not None:
                values[f"second_threshold/{name}"] = float(np.mean(second))
            if isinstance(layer.capacity, GrowingCapacity) and capacity is not None:
                values[f"capacity/{name}"] = float(capacity)
        return values

    def state(self) -> State:
        return {
            "capacities": np.array([capacity or 0 for capacity in self._capacities]),
            "relaxed": np.array(self._relaxed),
            "was_empty": np.array(self._was_empty),
        }

    def restore(self, state: State) -> None:
        self._capacities = [int(capacity) or None for capacity in state["capacities"]]
        self._relaxed = [int(times) for times in state["relaxed"]]
        self._was_empty = [bool(was) for was in state["was_empty"]]

    def _grow(
        self, at: int, capacity: GrowingCapacity, step: int, tally: Tally, most: int
    ) -> List[str]:
        before = self._capacities[at] or self._neurons[at]
        limit = min(capacity.most or self._neurons[at], self._neurons[at])
        if before >= limit:
            return []  # what is dropped from here on is told in figures and on the report
        sites = tally.sums[0] * tally.steps
        mean = float((tally.filled[at] + tally.dropped[at]) / sites)
        after = min(limit, grown_capacity(before, self._neurons[at], mean, most))
        self._capacities[at] = after
        return [
            f"step {step:,}: {self._called(at)} dropped {tally.dropped[at]:,.0f} spikes; its "
            f"capacity grows from {before:,} to {after:,}"
        ]

    def _relax(self, at: int, step: int) -> List[str]:
        told = self._was_empty[at]
        self._was_empty[at] = True
        if self._relaxed[at] < RELAXATIONS:
            self._relaxed[at] += 1
        if told:
            return []
        return [
            f"step {step:,}: no neuron of {self._called(at)} is above its second threshold, so "
            "that nothing behind it learns; the threshold is lowered until some are. Lower "
            "second_threshold, let it rise by training.second_threshold_ramp, or raise "
            "network.initial_membrane_std"
        ]

    def _called(self, at: int) -> str:
        name = self._names[at]
        return name if name == "readout" else f"layer {name}"
