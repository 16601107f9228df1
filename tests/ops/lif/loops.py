"""The LIF equations once more: sample by sample, step by step, neuron by neuron.

Written apart from the reference, in plain Python, so that the two do not share a mistake in
indexing. Sums run in the order of the slots, as the reference's do: results are equal to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Tuple, Union

import numpy as np

from ops.lif.network import LIF, LeakyReadout
from tests.ops.strategies import Problem


@dataclass(frozen=True)
class Slots:
    """One layer, sample and step."""

    spiking: List[int]  # those with a slot
    gradient_only: List[int]
    dropped: int


def simulate(
    problem: Problem,
) -> Tuple[np.ndarray, List[np.ndarray], Dict[Tuple[int, int, int], Slots]]:
    """Membrane `[time, batch, classes]`, u of each layer, slots by (layer, step, sample)."""
    network = problem.network
    steps, batch = problem.counts.shape
    membrane = np.zeros((steps, batch, network.readout.neurons))
    u = [np.zeros((steps, batch, layer.neurons)) for layer in network.layers]
    slots: Dict[Tuple[int, int, int], Slots] = {}
    for b in range(batch):
        for t in range(steps):
            arriving = [int(i) for i in problem.ids[t, b, : problem.counts[t, b]]]
            for number, layer in enumerate(network.layers):
                threshold = np.broadcast_to(layer.threshold, (layer.neurons,))
                for n in range(layer.neurons):
                    before = u[number][t - 1, b, n] if t > 0 else 0.0
                    kept = 0.0 if before > threshold[n] else before
                    u[number][t, b, n] = _update(layer, n, kept, problem.weights[number], arriving)
                slots[number, t, b] = _slots(layer, threshold, u[number][t, b])
                source = slots.get((number, t - network.delay, b))
                arriving = source.spiking if source is not None else []
            for n in range(network.readout.neurons):
                before = membrane[t - 1, b, n] if t > 0 else 0.0
                membrane[t, b, n] = _update(
                    network.readout, n, before, problem.weights[-1], arriving
                )
    return membrane, u, slots


def _update(
    layer: Union[LIF, LeakyReadout],
    n: int,
    kept: float,
    weights: np.ndarray,
    arriving: List[int],
) -> float:
    decay = np.broadcast_to(layer.decay, (layer.neurons,))[n]
    gain = np.broadcast_to(layer.gain, (layer.neurons,))[n]
    current = 0.0
    for i in arriving:
        current += float(weights[i, n])
    return float(decay * kept + gain * (1 - decay) * current)


def _slots(layer: LIF, threshold: np.ndarray, u: np.ndarray) -> Slots:
    second = np.broadcast_to(np.asarray(layer.second_threshold, dtype=object), (layer.neurons,))
    spiking: List[int] = []
    gradient_only: List[int] = []
    for n in range(layer.neurons):
        if u[n] > threshold[n]:
            spiking.append(n)
        elif second[n] is None or u[n] > second[n]:
            gradient_only.append(n)
    capacity = layer.neurons if layer.capacity is None else layer.capacity
    kept = spiking[:capacity]
    return Slots(kept, gradient_only[: capacity - len(kept)], len(spiking) - len(kept))
