"""The LIF equations once more: sample by sample, step by step, neuron by neuron.

Written apart from the reference, in plain Python, so that the two do not share a mistake in
indexing. Sums run in the order of the slots, as the reference's do: results are equal to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from ipulse_ops.lif.network import LIF, Layer, Network
from tests.ops.philox_loops import random_below
from tests.ops.strategies import Problem


@dataclass(frozen=True)
class Slots:
    """One layer, sample and step."""

    spiking: List[int]  # those with a slot
    gradient_only: List[int]
    dropped: List[int]


class _Layer:
    """One layer of one sample, with its state."""

    def __init__(self, layer: Layer, arrays: List[np.ndarray], number: Callable[[Any], Any]):
        self.layer = layer
        self.number = number
        ones = np.ones(layer.neurons)
        self.decay = [number(x) for x in layer.decay * ones]
        self.scale = [
            number(gain if decay == 1 else gain * (1 - decay))
            for gain, decay in zip(layer.gain * ones, layer.decay * ones)
        ]
        self.synapse = None if layer.synapse_decay is None else layer.synapse_decay * ones
        self.matrix = arrays.pop(0)
        self.recurrent = arrays.pop(0) if isinstance(layer, LIF) and layer.recurrent else None
        self.bias = arrays.pop(0) if layer.bias else None
        if isinstance(layer, LIF):
            self.threshold = [number(x) for x in layer.threshold * ones]
            second = layer.second_threshold
            self.second = None if second is None else [number(x) for x in second * ones]
            self.strength, self.rate = (
                [number(x) for x in (0.0 if value is None else value) * ones]
                for value in (layer.adaptation_strength, layer.adaptation_decay)
            )
        self.b = [number(0)] * layer.neurons
        self.v = [number(0)] * layer.neurons
        self.i = [number(0)] * layer.neurons
        self.spikes: List[int] = []

    def update(self, arriving: Sequence[int]) -> List[Any]:
        number = self.number
        result = []
        for n in range(self.layer.neurons):
            current = number(0)
            for j in arriving:
                current += number(self.matrix[j, n])
            if self.recurrent is not None:
                back = number(0)
                for j in self.spikes:
                    back += number(self.recurrent[j, n])
                current += back
            if self.bias is not None:
                current += number(self.bias[n])
            if self.synapse is not None:
                beta = number(self.synapse[n])
                current = beta * self.i[n] + (number(1) - beta) * current
            self.i[n] = current
            result.append(self.decay[n] * self.v[n] + self.scale[n] * current)
        return result

    def spike(self, network: Network, u: List[Any], offset: int) -> Slots:
        slots = self._slots(u, offset)
        self.spikes = slots.spiking
        fallen = slots.spiking + (slots.dropped if network.reset_on == "state" else [])
        self.v = list(u)
        for n in fallen:
            if network.reset == "zero":
                self.v[n] = self.number(0)
            elif network.reset == "subtract":
                self.v[n] = u[n] - self._raised(self.threshold, n)
        for n in range(self.layer.neurons):
            self.b[n] = self.rate[n] * self.b[n] + self.number(n in fallen)
        return slots

    def _raised(self, thresholds: List[Any], n: int) -> Any:
        return thresholds[n] + self.strength[n] * self.b[n]

    def _slots(self, u: List[Any], offset: int) -> Slots:
        layer = self.layer
        assert isinstance(layer, LIF)
        ids = list(range(layer.neurons))
        if layer.policy == "cyclic":
            ids = ids[offset:] + ids[:offset]
        elif layer.policy == "top":
            ids.sort(key=lambda n: (-u[n], n))
        spiking = [n for n in ids if u[n] > self._raised(self.threshold, n)]
        others = [
            n
            for n in ids
            if n not in spiking and (self.second is None or u[n] > self._raised(self.second, n))
        ]
        room = layer.neurons if layer.capacity is None else layer.capacity
        kept = spiking[:room]
        return Slots(sorted(kept), sorted(others[: room - len(kept)]), sorted(spiking[room:]))


def simulate(
    problem: Problem, number: Callable[[Any], Any] = float
) -> Tuple[np.ndarray, List[np.ndarray], Dict[Tuple[int, int, int], Slots]]:
    """Membrane `[time, batch, classes]`, u of each spiking layer, slots by (layer, step, sample).

    number: the arithmetic, float or np.float32.
    """
    network = problem.network
    steps, batch = problem.counts.shape
    everyone = [*network.layers, network.readout]
    u = [np.zeros((steps, batch, layer.neurons)) for layer in everyone]
    slots: Dict[Tuple[int, int, int], Slots] = {}
    for b in range(batch):
        arrays = list(problem.weights)
        layers = [_Layer(layer, arrays, number) for layer in everyone]
        for t in range(steps):
            sent = t - network.delays[0]
            arriving = []
            if sent >= 0:
                arriving = [int(j) for j in problem.ids[sent, b, : problem.counts[sent, b]]]
            for place, layer in enumerate(layers):
                membrane = layer.update(arriving)
                u[place][t, b] = membrane
                if not isinstance(layer.layer, LIF):
                    layer.v = membrane
                    continue
                offset = random_below(problem.seed, (t, place, b, 0), layer.layer.neurons)
                slots[place, t, b] = layer.spike(network, membrane, offset)
                delay = network.delays[min(place + 1, len(layers) - 1)]
                source = slots.get((place, t - delay, b))
                arriving = source.spiking if source is not None else []
    return u[-1], u[: len(network.spiking)], slots
