"""Initial kernels that make convolutions active."""

from __future__ import annotations

from typing import List, Sequence, Tuple

import numpy as np

from ipulse_ops.conv.reference import convolved, forward, planes_of
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.reference.spikes import check_spikes
from ipulse_ops.training.initialisation import inverse_variance, silence

Spikes = Tuple[np.ndarray, np.ndarray]


def balanced_kernels(
    layers: Sequence[ConvLIF],
    ids: np.ndarray,
    counts: np.ndarray,
    std: float = 1.0,
    seed: int = 0,
    before: int = 0,
) -> Tuple[List[np.ndarray], Spikes]:
    """Draw the kernels of layers in front of a network, and return what the last layer sends.

    ids, counts: a sample of input spikes, `[time, batch, slots]` and `[time, batch]`.
    std: standard deviation of the membranes in units of the threshold.
    before: layers in front of them, for messages.

    The equation is that of ipulse_ops.training.initialisation, with the mean number of spikes in a
    neuron's receptive field as n. Biases are 0.

    Returns:
        The kernels, each followed by the layer's bias, if any, float32; ids and counts of the
        spikes that leave the last pool.

    Raises ValueError if the sample does not fit, no spike reaches a layer, or its gain is 0.
    """
    check_spikes(ids, counts, layers[0].geometry.entering.sites)
    rng = np.random.Generator(np.random.PCG64(seed))
    planes = planes_of(layers[0].geometry.entering, ids, counts)
    weights: List[np.ndarray] = []
    for number, layer in enumerate(layers):
        ones = np.ones(layer.geometry.weights)
        arriving = float(convolved(layer.geometry, ones, planes).mean())
        if arriving == 0:
            raise ValueError(silence(before + number))
        scale = abs(layer.scale * layer.input_scale)
        if scale == 0:
            raise ValueError(
                f"layer {before + number + 1} needs a gain and an input_scale other than 0 to "
                "balance its weights"
            )
        settled = inverse_variance(np.asarray(layer.decay), len(planes))
        limit = np.sqrt(3) * std * layer.threshold * np.sqrt(settled / arriving) / scale
        uniform = 2 * rng.random(layer.geometry.weights) - 1
        own = [(uniform * limit).astype(np.float32)]
        if layer.bias:
            own.append(np.zeros(layer.geometry.filters, np.float32))
        planes = forward(layer, own[0].astype(np.float64), None, planes).pooled
        weights.extend(own)
    return weights, listed(planes)


def listed(planes: np.ndarray) -> Spikes:
    """Convert counts of spikes to ids and their numbers; an id is listed once for each spike."""
    flat = planes.reshape(-1, int(np.prod(planes.shape[2:]))).astype(np.int64)
    totals = flat.sum(axis=1)
    row, site = np.nonzero(flat)
    times = flat[row, site]
    rows = np.repeat(row, times)
    ids = np.zeros((len(flat), max(1, int(totals.max(initial=0)))), np.int32)
    slot = np.arange(len(rows)) - np.repeat(np.cumsum(totals) - totals, totals)
    ids[rows, slot] = np.repeat(site, times)
    leading = planes.shape[:2]
    return ids.reshape(*leading, -1), totals.reshape(leading).astype(np.int32)
