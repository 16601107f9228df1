"""Hypothesis strategies for LIF problems: a network, its weights and its input spikes.

A problem is drawn as a network, sizes and one seed, from which its arrays follow: small to print,
quick to draw. Every constant and weight is a float32 value, so that a float32 kernel starts from
the same numbers as the float64 reference and differs by its arithmetic only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
from hypothesis import strategies as st

from ipulse_ops.lif.network import LIF, Layer, LeakyReadout, Network
from ipulse_ops.lif.neuron_constants import current_scale
from ipulse_ops.lif.weights import WeightShape, weight_shapes
from ipulse_ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Surrogate, Table
from tests.ops.layer_strategies import _integrator_fields, _spiking_fields

SURROGATES: Tuple[Surrogate, ...] = (
    SuperSpike(slope=4.0),
    ArcTan(slope=3.0),
    Boxcar(half_width=0.4),
    Exponential(slope=2.0),
    Table(values=(0.0, 0.25, 1.0, 0.75, 0.0), width=1.5),
)


@dataclass(frozen=True, repr=False)
class Problem:
    """Arguments of `ipulse_ops.lif.reference.network_pass.forward`, and gradients for its
    `backward`."""

    network: Network
    seed: int  # of its arrays, and of the run
    weights: Tuple[np.ndarray, ...]  # float32, as weight_shapes(network) says
    ids: np.ndarray  # int32 [time, batch, slots]
    counts: np.ndarray  # int32 [time, batch]
    grad_membrane: np.ndarray  # float32 [time, batch, classes]
    grad_spikes: Tuple[np.ndarray, ...]  # float32 [time, batch, slots], of each spiking layer
    grad_u: Tuple[np.ndarray, ...]  # float32 [time, batch, neurons], of each hidden layer

    def __repr__(self) -> str:
        """Describe the problem without its arrays, for the message of a failing test."""
        network = self.network
        layers = [
            f"({layer.neurons}, capacity={layer.capacity}, "
            f"gate={layer.second_threshold is not None}, recurrent={layer.recurrent}, "
            f"bias={layer.bias}, synapse={layer.synapse_decay is not None}, "
            f"policy={layer.policy!r}, adapts={layer.adapts})"
            for layer in network.spiking
        ]
        return (
            f"Problem(seed={self.seed}, [time, batch, slots]={list(self.ids.shape)}, "
            f"sizes={network.sizes}, spiking={layers}, reset={network.reset!r}, "
            f"reset_gradient={network.reset_gradient!r}, reset_on={network.reset_on!r}, "
            f"delay={network.delay}, surrogate={network.surrogate})"
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
    layers: Tuple[Layer, ...] = (*network.layers, network.readout)
    weights = [
        _random_weights(rng, shape, layers[shape.layer], dyadic) for shape in weight_shapes(network)
    ]
    return Problem(
        network=network,
        seed=seed,
        weights=tuple(weights),
        ids=ids,
        counts=counts,
        grad_membrane=rng.normal(size=(steps, batch, network.readout.neurons)).astype(np.float32),
        grad_spikes=tuple(
            rng.normal(size=(steps, batch, layer.slots)).astype(np.float32)
            for layer in network.spiking
        ),
        grad_u=tuple(
            rng.normal(size=(steps, batch, layer.neurons)).astype(np.float32)
            for layer in network.layers
        ),
    )


def _random_weights(
    rng: np.random.Generator, expected: WeightShape, layer: Layer, dyadic: bool
) -> np.ndarray:
    if dyadic:
        return (rng.integers(-16, 17, size=expected.shape) / 64).astype(np.float32)
    if expected.role == "delays":
        assert layer.delays is not None
        delays = rng.uniform(0, layer.delays.longest, expected.shape)
        if not layer.delays.are_trained:
            delays = np.round(delays)
        return delays.astype(np.float32)
    scale = current_scale(np.asarray(layer.decay), np.asarray(layer.gain))
    if expected.role == "bias":
        return (rng.normal(0.1, 0.3, expected.shape) / scale).astype(np.float32)
    # With some tenths of the inputs spiking, currents of about the thresholds' size.
    mean, std = (0.3, 1.5) if expected.role == "input" else (0.0, 1.0)
    matrix = rng.normal(mean, std, expected.shape) / (scale * np.sqrt(1 + expected.shape[0] / 4))
    return matrix.astype(np.float32)


@st.composite
def problems(
    draw: Any,
    dyadic: bool = False,
    variants: bool = False,
    max_layers: int = 3,
    max_neurons: int = 40,
    max_batch: int = 5,
    max_steps: int = 8,
    adapts: bool = True,
    delays: bool = True,
) -> Problem:
    """Problems over the product of what a network can be.

    variants: all of it; without, the simplest networks, which take the kernels' fastest loops.

    adapts: variants may have adaptive thresholds; delays: and delays other than 0 and 1.

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
        layers.append(LIF(**draw(_spiking_fields(rng, neurons, dyadic, variants, adapts))))
    readout: Layer
    if variants and draw(st.booleans()):
        readout = LIF(**draw(_spiking_fields(rng, classes, dyadic, variants, adapts)))
    else:
        readout = LeakyReadout(**draw(_integrator_fields(rng, classes, dyadic, variants)))
    reset_gradients = ["mask", "term", "none"] if variants else ["mask", "term"]
    more: Dict[str, Any] = {"surrogate": SuperSpike(draw(st.sampled_from([1.0, 10.0, 100.0])))}
    if variants:
        more = {
            "surrogate": draw(st.sampled_from(SURROGATES)),
            "reset": draw(st.sampled_from(["zero", "subtract", "none"])),
            "reset_on": draw(st.sampled_from(["state", "emission"])),
        }
    steps_between: List[Any] = [0, 1]
    if variants and delays:
        steps_between += [2, tuple(rng.integers(0, 4, len(sizes) + 1).tolist())]
    network = Network(
        inputs=inputs,
        layers=tuple(layers),
        readout=readout,
        reset_gradient=draw(st.sampled_from(reset_gradients)),
        delay=draw(st.sampled_from(steps_between)),
        **more,
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
