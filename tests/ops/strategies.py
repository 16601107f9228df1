"""Hypothesis strategies for LIF problems: a network, its weights and its input spikes.

A problem is drawn as a network, sizes and one seed, from which its arrays follow: small to print,
quick to draw. Every constant and weight is a float32 value, so that a float32 kernel starts from
the same numbers as the float64 reference and differs by its arithmetic only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Tuple, Union

import numpy as np
from hypothesis import strategies as st

from ops.lif.network import LIF, LeakyReadout, Network, SuperSpike


@dataclass(frozen=True, repr=False)
class Problem:
    """What `ops.lif.reference.forward` takes, and gradients for its `backward`."""

    network: Network
    seed: int
    weights: Tuple[np.ndarray, ...]  # float32 [N_in, N_out]
    ids: np.ndarray  # int32 [time, batch, slots]
    counts: np.ndarray  # int32 [time, batch]
    grad_membrane: np.ndarray  # float32 [time, batch, classes]
    grad_spikes: Tuple[np.ndarray, ...]  # float32 [time, batch, slots]

    def __repr__(self) -> str:
        """What it is, without its arrays: a failing test prints this."""
        layers = self.network.layers
        return (
            f"Problem(seed={self.seed}, [time, batch, slots]={list(self.ids.shape)}, "
            f"sizes={self.network.sizes}, capacities={[layer.capacity for layer in layers]}, "
            f"gates={[layer.second_threshold is not None for layer in layers]}, "
            f"reset_gradient={self.network.reset_gradient!r}, delay={self.network.delay}, "
            f"slope={self.network.surrogate.slope})"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # Hypothesis would print a dataclass field by field, and warn of the length.
        printer.text(repr(self))


def random_spikes(
    rng: np.random.Generator,
    steps: int,
    batch: int,
    neurons: int,
    slots: int,
    duplicates: bool = False,
) -> Tuple[np.ndarray, np.ndarray]:
    """Ascending ids int32 `[steps, batch, slots]`, counts int32: empty, full and between.

    Without duplicates, `slots` must not be above `neurons`.
    """
    counts = rng.integers(0, slots + 1, size=(steps, batch)).astype(np.int32)
    if duplicates:
        ids = rng.integers(0, neurons, size=(steps, batch, slots))
    else:
        ids = np.argsort(rng.random((steps, batch, neurons)), axis=2)[..., :slots]
    # Ascending in the counted slots, 0 behind them.
    ids = np.sort(np.where(np.arange(slots) < counts[..., None], ids, neurons), axis=2)
    return np.where(ids == neurons, 0, ids).astype(np.int32), counts


def random_problem(
    network: Network,
    seed: int,
    steps: int = 6,
    batch: int = 3,
    slots: Optional[int] = None,
    duplicates: bool = False,
    dyadic: bool = False,
) -> Problem:
    """The problem of a seed: weights that make membranes cross the thresholds now and then.

    dyadic: weights are k / 64 with |k| <= 16.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    slots = network.inputs if slots is None else slots
    ids, counts = random_spikes(rng, steps, batch, network.inputs, slots, duplicates)
    weights: List[np.ndarray] = []
    layers: Tuple[Union[LIF, LeakyReadout], ...] = (*network.layers, network.readout)
    for n_in, layer in zip(network.sizes, layers):
        if dyadic:
            matrix = rng.integers(-16, 17, size=(n_in, layer.neurons)) / 64
        else:
            gain = np.asarray(layer.gain) * (1 - np.asarray(layer.decay))
            # With some tenths of the inputs spiking, currents of about the thresholds' size.
            matrix = rng.normal(0.3, 1.5, (n_in, layer.neurons)) / (gain * np.sqrt(1 + n_in / 4))
        weights.append(matrix.astype(np.float32))
    return Problem(
        network=network,
        seed=seed,
        weights=tuple(weights),
        ids=ids,
        counts=counts,
        grad_membrane=rng.normal(size=(steps, batch, network.readout.neurons)).astype(np.float32),
        grad_spikes=tuple(
            rng.normal(size=(steps, batch, layer.slots)).astype(np.float32)
            for layer in network.layers
        ),
    )


@st.composite
def problems(
    draw: Any,
    dyadic: bool = False,
    max_layers: int = 3,
    max_neurons: int = 40,
    max_batch: int = 5,
    max_steps: int = 8,
) -> Problem:
    """Problems over the product of what a network can be.

    dyadic: constants and weights are such short binary fractions that a float32 forward makes no
        rounding error in whatever order it sums (at most 5 steps and 40 neurons or slots):
        every backend must agree to the bit. Membranes then often equal a threshold.
    """
    if dyadic:
        max_steps, max_neurons = min(max_steps, 5), min(max_neurons, 40)
    inputs = draw(st.integers(1, max_neurons))
    sizes = draw(st.lists(st.integers(1, max_neurons), min_size=1, max_size=max_layers))
    classes = draw(st.integers(1, 10))
    duplicates = draw(st.booleans())
    slots = draw(st.integers(1, max_neurons if duplicates else inputs))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    layers: List[LIF] = []
    for neurons in sizes:
        capacity = draw(st.none() | st.just(1) | st.just(neurons) | st.integers(1, neurons))
        gate = draw(st.booleans())
        threshold = _constants(rng, neurons, 0.5, 1.5, dyadic)
        layers.append(
            LIF(
                neurons=neurons,
                decay=_decays(rng, neurons, dyadic),
                threshold=threshold,
                second_threshold=threshold / 2 if gate else None,
                capacity=capacity,
                gain=_gains(rng, neurons, dyadic),
            )
        )
    network = Network(
        inputs=inputs,
        layers=tuple(layers),
        readout=LeakyReadout(
            neurons=classes,
            decay=_decays(rng, classes, dyadic),
            gain=_gains(rng, classes, dyadic),
        ),
        reset_gradient=draw(st.sampled_from(["mask", "term"])),
        delay=draw(st.sampled_from([0, 1])),
        surrogate=SuperSpike(slope=draw(st.sampled_from([1.0, 10.0, 100.0]))),
    )
    return random_problem(
        network,
        seed,
        steps=draw(st.integers(1, max_steps)),
        batch=draw(st.integers(1, max_batch)),
        slots=slots,
        duplicates=duplicates,
        dyadic=dyadic,
    )


def _decays(rng: np.random.Generator, neurons: int, dyadic: bool) -> np.ndarray:
    if dyadic:
        return rng.choice([0.0, 0.5, 0.75], size=neurons)
    # Some neurons without memory.
    decays = rng.uniform(0.3, 0.97, size=neurons) * (rng.random(neurons) > 0.1)
    return _float32_values(decays)


def _gains(rng: np.random.Generator, neurons: int, dyadic: bool) -> np.ndarray:
    if dyadic:
        return rng.choice([2.0, 4.0], size=neurons)
    return _float32_values(rng.uniform(1, 10, size=neurons))


def _constants(
    rng: np.random.Generator, neurons: int, low: float, high: float, dyadic: bool
) -> np.ndarray:
    if dyadic:
        return rng.choice([0.5, 0.75, 1.0, 1.25], size=neurons)
    return _float32_values(rng.uniform(low, high, size=neurons))


def _float32_values(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32).astype(np.float64)
