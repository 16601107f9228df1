"""Comparison of a back end's spikes, membranes and gradients with the float64 reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ipulse_core.spec.start_weights import CONSTANTS
from ipulse_ops.lif.network import LIF
from ipulse_ops.lif.neuron_constants import per_neuron
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.reference.trace import Gradients, Trace
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.reference.select_spikes import filled
from ipulse_worker.runner.crosscheck.backends import Result
from ipulse_worker.runner.crosscheck.problem import CrosscheckProblem

# Tolerances, relative to the largest value of the reference, or to 1 if that is smaller.
MARGIN_TOLERANCE = 2e-5  # distance of a membrane to its threshold at which a spike may differ
MEMBRANE_TOLERANCE = 2e-5
GRADIENT_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Comparison:
    """The differences between one back end and the reference."""

    differing: int  # neurons and steps with another spike or active gradient, counted up to the
    # first differing spike of each sample
    margin: float  # largest distance to a threshold among them; see MARGIN_TOLERANCE
    membrane: float  # largest error with the back end's spikes replayed
    gradient: float  # largest error with the back end's spikes replayed
    cosine: float  # least cosine similarity of any gradient with the reference's

    @property
    def agrees(self) -> bool:
        """Return whether all differences are within the tolerances; False if one is not finite."""
        return (
            self.margin <= MARGIN_TOLERANCE
            and self.membrane <= MEMBRANE_TOLERANCE
            and self.gradient <= GRADIENT_TOLERANCE
        )

    def to_json(self) -> Dict[str, Any]:
        """Return the values as a JSON object, with null for values that are not finite."""
        return {"agrees": self.agrees, **{k: _finite(v) for k, v in vars(self).items()}}


def compare_with_reference(
    problem: CrosscheckProblem, reference_run: Trace, result: Result
) -> Comparison:
    """Compare a back end's result with the reference.

    Args:
        problem: the network, its input and its loss.
        reference_run: the reference's own run, with its own spikes.
        result: of the back end.
    """
    p = problem
    differing, margin = _compare_sets(p, reference_run, result)
    trace = reference.forward(p.network, p.weights, p.ids, p.counts, result.slots, p.seed)
    by_slots = [
        np.where(filled(ids, counts[..., 1]), np.take_along_axis(by, ids.astype(np.int64), 2), 0.0)
        for (ids, counts), by in zip(result.slots, p.by_spikes)
    ]
    expected = reference.backward(
        p.network, p.weights, p.ids, p.counts, trace, p.by_membrane, by_slots
    )
    pairs = list(zip(result.gradients, _in_order(p, expected)))
    return Comparison(
        differing=differing,
        margin=margin,
        membrane=_error(result.membrane, trace.membrane),
        gradient=max(_error(actual, wanted) for actual, wanted in pairs),
        cosine=min(_cosine(actual, wanted) for actual, wanted in pairs),
    )


def _compare_sets(p: CrosscheckProblem, reference_run: Trace, result: Result) -> Tuple[int, float]:
    """Count neurons with another set than the reference's; return it with the largest margin.

    A sample is compared up to its first differing spike, because all later ones depend on it.
    """
    differing, worst = 0, 0.0
    layers = [
        _differences(layer, run, slots)
        for layer, run, slots in zip(p.network.spiking, reference_run.layers, result.slots)
    ]
    steps, batch = p.counts.shape
    for sample in range(batch):
        for step in range(steps):
            spike_differs = False
            for sets_differ, spikes_differ, margins in layers:
                row = sets_differ[step, sample]
                if row.any():
                    differing += int(row.sum())
                    worst = max(worst, _nearest(margins, step, sample, row))
                spike_differs = bool(spikes_differ[step, sample].any())
                if spike_differs:
                    break  # the next layers had another input
            if spike_differs:
                break
    return differing, worst


def _differences(layer: LIF, run: Any, slots: Any) -> Tuple[np.ndarray, np.ndarray, Any]:
    """Return where sets and where spikes differ, bool `[time, batch, neurons]`.

    The third value is the first argument of `_nearest`.
    """
    actual = _sets(slots, layer.neurons)
    wanted = _sets((run.spike_ids, run.spike_counts), layer.neurons)
    threshold = per_neuron(layer.threshold, layer.neurons, "threshold")
    distance = np.abs(run.u - threshold)
    if layer.second_threshold is not None:
        second = per_neuron(layer.second_threshold, layer.neurons, "second_threshold")
        distance = np.minimum(distance, np.abs(run.u - second))
    scale = max(1.0, float(np.abs(run.u).max()))
    return actual != wanted, (actual == 2) != (wanted == 2), (layer, run.u, distance, scale)


def _sets(slots: Any, neurons: int) -> np.ndarray:
    """Return `[time, batch, neurons]`: 2 for a spike, 1 for an active gradient only, else 0."""
    ids, counts = slots
    sets = np.zeros((*ids.shape[:2], neurons + 1), np.int8)
    for group, value in ((counts[..., 1], 1), (counts[..., 0], 2)):
        places = np.where(filled(ids, group), ids, neurons).astype(np.int64)
        np.put_along_axis(sets, places, value, axis=2)
    return sets[..., :neurons]


def _nearest(margins: Any, step: int, sample: int, row: np.ndarray) -> float:
    """Return the least distance to a threshold among a row's differing neurons.

    One neuron that rounds across its threshold explains all of them, because it takes the place of
    another one in a full layer. The policy `top` compares membranes with each other, too.
    """
    layer, u, distance, scale = margins
    nearest = float(distance[step, sample][row].min())
    if layer.policy == "top" and row.sum() > 1:
        nearest = min(nearest, float(np.diff(np.sort(u[step, sample][row])).min()))
    return nearest / float(scale)


def _in_order(p: CrosscheckProblem, gradients: Gradients) -> List[np.ndarray]:
    """Order the reference's gradients like Result.gradients."""
    ordered = [
        gradient
        for gradient, shape in zip(gradients.weights, weight_shapes(p.network))
        if shape.role != "delays" or len(shape.shape) == 1  # those of synapses are constant
    ]
    for name in CONSTANTS:
        if name in p.trainable:
            by: List[Optional[np.ndarray]] = [getattr(of, name) for of in gradients.constants]
            ordered += [array for array in by if array is not None]
    return ordered


def _error(actual: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest error, relative to the largest wanted value or to 1."""
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    return float(np.abs(actual - wanted).max(initial=0.0)) / scale


def _cosine(actual: np.ndarray, wanted: np.ndarray) -> float:
    lengths = float(np.linalg.norm(actual) * np.linalg.norm(wanted))
    if lengths == 0.0:
        return 1.0 if np.array_equal(actual, wanted) else 0.0
    return float(np.vdot(actual.astype(np.float64), wanted)) / lengths


def _finite(value: float) -> Optional[float]:
    """Return None for infinities and NaN, which JSON does not have."""
    return value if np.isfinite(value) else None
