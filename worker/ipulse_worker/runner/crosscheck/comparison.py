"""What the reference in float64 says of a way's spikes, membranes and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ipulse_ops.keras.network_layer import CONSTANTS
from ipulse_ops.lif.network import LIF, per_neuron
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.reference.trace import Gradients, Trace
from ipulse_ops.reference.select_spikes import filled
from ipulse_worker.runner.crosscheck.backends import Result
from ipulse_worker.runner.crosscheck.problem import Problem

# Relative to the largest value of the reference, or to 1 if that is smaller.
NEAR = 2e-5  # a membrane to its threshold where a spike may differ
MEMBRANE = 2e-5
GRADIENT = 1e-4


@dataclass(frozen=True)
class Verdict:
    """Of one way."""

    differing: int  # neurons and steps whose slot is not the reference's, up to the first spike
    # of each sample that differs
    margin: float  # the most that it took to explain one of them; compare with NEAR
    membrane: float  # largest error, replayed; compare with MEMBRANE
    gradient: float  # largest error, replayed; compare with GRADIENT
    cosine: float  # the least of any weight's or constant's gradient with the reference's

    @property
    def agrees(self) -> bool:
        errors = (self.margin / NEAR, self.membrane / MEMBRANE, self.gradient / GRADIENT)
        return all(error <= 1 for error in errors)  # not if one is no number

    def to_json(self) -> Dict[str, Any]:
        return {"agrees": self.agrees, **{k: _finite(v) for k, v in vars(self).items()}}


def judge(problem: Problem, free: Trace, result: Result) -> Verdict:
    """free: the reference's own run."""
    p = problem
    differing, margin = _slots_apart(p, free, result)
    trace = reference.forward(p.network, p.weights, p.ids, p.counts, result.slots, p.seed)
    by_slots = [
        np.where(filled(ids, counts[..., 1]), np.take_along_axis(by, ids.astype(np.int64), 2), 0.0)
        for (ids, counts), by in zip(result.slots, p.by_spikes)
    ]
    expected = reference.backward(
        p.network, p.weights, p.ids, p.counts, trace, p.by_membrane, by_slots
    )
    pairs = list(zip(result.gradients, _in_order(p, expected)))
    return Verdict(
        differing=differing,
        margin=margin,
        membrane=_error(result.membrane, trace.membrane),
        gradient=max(_error(ours, theirs) for ours, theirs in pairs),
        cosine=min(_cosine(ours, theirs) for ours, theirs in pairs),
    )


def _slots_apart(p: Problem, free: Trace, result: Result) -> Tuple[int, float]:
    """How many neurons are in another set than the reference's, and how near to their thresholds
    the nearest of each row are.

    A sample is followed up to its first spike that differs: what comes after follows from it.
    """
    differing, worst = 0, 0.0
    found = [_rows_apart(layer, run, slots) for layer, run, slots in _layers(p, free, result)]
    steps, batch = p.counts.shape
    for sample in range(batch):
        for step in range(steps):
            spiked_apart = False
            for apart, spikes, margins in found:
                row = apart[step, sample]
                if row.any():
                    differing += int(row.sum())
                    worst = max(worst, _nearest(margins, step, sample, row))
                spiked_apart = bool(spikes[step, sample].any())
                if spiked_apart:
                    break  # the layers behind it had other input
            if spiked_apart:
                break
    return differing, worst


def _layers(p: Problem, free: Trace, result: Result) -> Any:
    return zip(p.network.spiking, free.layers, result.slots)


def _rows_apart(layer: LIF, run: Any, slots: Any) -> Tuple[np.ndarray, np.ndarray, Any]:
    """Bool `[time, batch, neurons]`, who is in another set and who spikes otherwise; and what
    _nearest takes."""
    ours, theirs = (
        _sets(slots, layer.neurons),
        _sets((run.spike_ids, run.spike_counts), layer.neurons),
    )
    threshold = per_neuron(layer.threshold, layer.neurons, "threshold")
    distance = np.abs(run.u - threshold)
    if layer.second_threshold is not None:
        second = per_neuron(layer.second_threshold, layer.neurons, "second_threshold")
        distance = np.minimum(distance, np.abs(run.u - second))
    scale = max(1.0, float(np.abs(run.u).max()))
    return ours != theirs, (ours == 2) != (theirs == 2), (layer, run.u, distance, scale)


def _sets(slots: Any, neurons: int) -> np.ndarray:
    """`[time, batch, neurons]`: 2 has a slot and spikes, 1 has a slot, 0 has none."""
    ids, counts = slots
    sets = np.zeros((*ids.shape[:2], neurons + 1), np.int8)
    for group, value in ((counts[..., 1], 1), (counts[..., 0], 2)):
        places = np.where(filled(ids, group), ids, neurons).astype(np.int64)
        np.put_along_axis(sets, places, value, axis=2)
    return sets[..., :neurons]


def _nearest(margins: Any, step: int, sample: int, row: np.ndarray) -> float:
    """Of a row's neurons that differ, the least distance that explains them all: one that rounds
    across a threshold takes a slot from another. The policy top compares membranes, too."""
    layer, u, distance, scale = margins
    nearest = float(distance[step, sample][row].min())
    if layer.policy == "top" and row.sum() > 1:
        nearest = min(nearest, float(np.diff(np.sort(u[step, sample][row])).min()))
    return nearest / float(scale)


def _in_order(p: Problem, gradients: Gradients) -> List[np.ndarray]:
    """As Result.gradients."""
    found = list(gradients.weights)
    for name in CONSTANTS:
        if name in p.trainable:
            by: List[Optional[np.ndarray]] = [getattr(of, name) for of in gradients.constants]
            found += [array for array in by if array is not None]
    return found


def _error(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest, relative as NEAR is."""
    scale = max(1.0, float(np.abs(theirs).max(initial=0.0)))
    return float(np.abs(ours - theirs).max(initial=0.0)) / scale


def _cosine(ours: np.ndarray, theirs: np.ndarray) -> float:
    lengths = float(np.linalg.norm(ours) * np.linalg.norm(theirs))
    if lengths == 0.0:
        return 1.0 if np.array_equal(ours, theirs) else 0.0
    return float(np.vdot(ours.astype(np.float64), theirs)) / lengths


def _finite(value: float) -> Optional[float]:
    """Of JSON, which has no infinities."""
    return value if np.isfinite(value) else None
