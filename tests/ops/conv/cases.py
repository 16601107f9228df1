"""Random convolutions, their input, and the neurons that a run's slots stand for."""

from dataclasses import replace
from typing import Any, Dict, Iterator, NamedTuple

import numpy as np

from ipulse_core.spec.conv_geometry import Planes, conv_geometry
from ipulse_ops.conv.reference import ConvRun
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Table

GEOMETRIES: Dict[str, Dict[str, Any]] = {
    "plain": {"filters": 3, "kernel": (3, 3)},
    "same": {"filters": 5, "kernel": (3, 2), "padding": "same"},
    "strides": {"filters": 4, "kernel": (3, 5), "strides": (2, 3), "padding": "same"},
    "dilation": {"filters": 2, "kernel": (3, 2), "dilation": (2, 3), "padding": (2, 1)},
    "both": {"filters": 3, "kernel": (2, 4), "strides": (1, 2), "dilation": (3, 2)},
    "odd_pace": {"filters": 2, "kernel": (2, 4), "strides": (2, 2), "dilation": (1, 3)},
    "groups": {"filters": 8, "kernel": (2, 3), "groups": 2, "padding": (1, 1)},
    "depthwise": {"filters": 4, "kernel": (3, 3), "groups": 4},
    "pool": {"filters": 6, "kernel": (3, 3), "pool": (2, 2)},
    "cropped": {"filters": 3, "kernel": (2, 2), "padding": "same", "pool": (2, 3)},
    "wide": {"filters": 19, "kernel": (3, 3), "padding": "same", "pool": (3, 2)},
    "one_row": {"filters": 5, "kernel": (1, 7), "strides": (1, 2)},
}
SURROGATES = (
    SuperSpike(),
    ArcTan(5.0),
    Boxcar(0.5),
    Exponential(3.0),
    Table((0.0, 0.5, 1.0, 0.25), 0.75),
)


class Case(NamedTuple):
    """A layer with its weights, as float32, and input spikes."""

    layer: ConvLIF
    kernel: np.ndarray
    bias: Any
    ids: np.ndarray
    counts: np.ndarray


def case(
    name: str,
    seed: int,
    steps: int = 12,
    batch: int = 3,
    dyadic: bool = False,
    crowded: bool = False,
    **fields: Any,
) -> Case:
    """Draw a layer of this geometry.

    dyadic: every sum is exact in float32, for dyadic slots. crowded: many spikes, of ascending ids
    as a layer lists them, some twice.
    """
    rng = np.random.RandomState(seed)
    entering = Planes(9, 11, 4, channels_first=bool(rng.randint(2)))
    if name == "one_row":
        entering = replace(entering, height=1)
    fields.setdefault("decay", 0.5 if dyadic else 0.9)
    fields.setdefault("gain", 2.0 if dyadic else 8.0)
    fields.setdefault("surrogate", Boxcar(0.5) if dyadic else SuperSpike())
    layer = ConvLIF(geometry=conv_geometry(entering, **GEOMETRIES[name]), **fields)
    shape = layer.geometry.weights
    kernel = rng.randint(-32, 65, shape) / 64 if dyadic else rng.normal(0.2, 0.5, shape)
    kernel /= layer.input_scale
    bias = None
    if layer.bias:
        bias = rng.randint(0, 17, layer.geometry.filters) / 64
    slots = 900 if crowded else 40
    counts = rng.randint(0, slots + 1, (steps, batch))
    counts[rng.random_sample(counts.shape) < 0.2] = 0
    ids = rng.randint(0, entering.sites, (steps, batch, slots))  # some twice
    if crowded:
        ids.sort(axis=-1)
        counts[rng.random_sample(counts.shape) < 0.6] = slots
    return Case(
        layer,
        kernel.astype(np.float32),
        None if bias is None else bias.astype(np.float32),
        ids.astype(np.int32),
        counts.astype(np.int32),
    )


def variants() -> Iterator[Dict[str, Any]]:
    """Yield fields of layers: every reset and gradient, with and without the other options."""
    number = 0
    for reset in ("zero", "subtract", "none"):
        for gradient in ("mask", "term", "none"):
            for second in (None, 0.4):
                number += 1
                yield {
                    "reset": reset,
                    "reset_gradient": gradient,
                    "second_threshold": second,
                    "bias": number % 2 == 0,
                    "delay": (0, 1, 3)[number // 2 % 3],
                    "input_scale": 0.25 if number % 3 == 0 else 1.0,
                    "surrogate": SURROGATES[number % len(SURROGATES)],
                }


def by_neuron(
    layer: ConvLIF, run: ConvRun, ids: np.ndarray, counts: np.ndarray, slots: np.ndarray
) -> np.ndarray:
    """Return values of slots by neuron, by the rule of ipulse_ops.conv.tensorflow_op, in loops."""
    pooled, size = layer.geometry.pooled, layer.geometry.pool
    found = np.zeros(run.u.shape)
    for t, b in np.ndindex(*counts.shape[:2]):
        spikes, filled = (int(number) for number in counts[t, b])
        of_site = {int(ids[t, b, k]): slots[t, b, k] for k in range(spikes, filled)}
        slot = 0
        for y, x, f in np.ndindex(*run.u.shape[2:]):
            row, column = y // size[0], x // size[1]
            if row >= pooled.height or column >= pooled.width:
                continue
            site = (row * pooled.width + column) * pooled.channels + f
            if run.spikes[t, b, y, x, f]:
                assert ids[t, b, slot] == site
                found[t, b, y, x, f] = slots[t, b, slot]
                slot += 1
            elif run.carries[t, b, y, x, f]:
                found[t, b, y, x, f] = of_site[site]
        assert slot == spikes
    return found
