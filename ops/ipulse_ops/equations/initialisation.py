"""Initial weights that make a layer with equations active."""

from __future__ import annotations

from typing import List, Optional, Tuple

import numpy as np

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.conv.spike_conv_reference import spike_conv
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.reference import run_equations
from ipulse_ops.reference.spike_matmul import spike_matmul
from ipulse_ops.training.initialisation import silence

_ROUNDS = 12
_CLOSE = 0.02  # relative
_LEAST_CLOSE = 3.0  # a factor
_DIGITS = 3  # of the scale, so that rounding of sums cannot change it


def balanced_layer(
    layer: LayerEquations,
    senders: int,
    ids: np.ndarray,
    counts: np.ndarray,
    std: float,
    seed: int,
    number: int,
    geometry: Optional[ConvGeometry] = None,
    input_scale: float = 1.0,
) -> Tuple[List[np.ndarray], np.ndarray]:
    """Return float32 weights `[senders, neurons]`, or a kernel, and the layer's spikes.

    A recurrent layer has recurrent weights as well; see `with_recurrent_weights`.

    Weights are uniform in -w to w. Without a spike, the value that `spike` is compared with 0 is
    at rest without input, and input makes it vary: w is such that its standard deviation is `std`
    times its mean distance from 0 at rest, or `std` where that is 0. It is found by measurement.

    ids, counts: a sample of input spikes, `[time, batch, slots]` and `[time, batch]`.
    number: of the layer, from 0, for messages.
    geometry: of a convolution; None: each sender has a weight to each neuron.
    input_scale: factor of the weights, as after an average pool.

    Raises ValueError if the sample has no spikes, or the input does not change the value.
    """
    if not counts.size or not counts.any():
        raise ValueError(silence(number))
    rng = np.random.Generator(np.random.PCG64(seed))
    shape: Tuple[int, ...] = (senders, layer.neurons)
    if geometry is not None:
        shape = geometry.weights
    uniform = 2 * rng.random(shape) - 1
    current = _current(uniform, ids, counts, geometry, input_scale)
    parameters = layer.values()
    at_rest = run_equations(layer, parameters, np.zeros_like(current[:, :1])).x
    distance = float(np.abs(at_rest).mean())
    target = std * (distance if distance > 0 else 1.0)
    rest = run_equations(layer, parameters, np.zeros_like(current[:, :1]), may_spike=False).x
    scale, found = 1.0, 0.0
    for _ in range(_ROUNDS):
        with np.errstate(all="ignore"):
            moved = run_equations(layer, parameters, scale * current, may_spike=False).x - rest
            found = float(moved.std())
        if not np.isfinite(found):
            scale /= 16
        elif found == 0:
            scale *= 16
        elif abs(found / target - 1) < _CLOSE:
            break
        else:
            scale *= float(np.clip(target / found, 1 / 16, 16))
    if not 1 / _LEAST_CLOSE < found / target < _LEAST_CLOSE:
        raise ValueError(
            f"no weights of layer {number + 1} make its value of spike vary by {target:.3g}: its "
            f"equations hardly depend on I, or are not finite; with weights of {scale:.3g} it "
            f"varies by {found:.3g}"
        )
    weights = [(uniform * _rounded(scale)).astype(np.float32)]
    spikes = (
        run_equations(layer, parameters, _current(weights[0], ids, counts, geometry, input_scale)).x
        > 0
    )
    if layer.recurrent:
        shape = layer.recurrent_weights
        weights = with_recurrent_weights(rng, uniform, scale, counts, spikes, shape)
        current = _current(weights[0], ids, counts, geometry, input_scale)
        spikes = run_equations(layer, parameters, current, recurrent=weights[1]).x > 0
    return weights, spikes.astype(np.float32)


def with_recurrent_weights(
    rng: np.random.Generator,
    uniform: np.ndarray,
    scale: float,
    counts: np.ndarray,
    spikes: np.ndarray,
    shape: Tuple[int, ...],
) -> List[np.ndarray]:
    """Return the input weights of a layer and its recurrent ones, float32.

    Both are smaller by the root of the share of spikes that come from the senders.

    uniform, scale: the input weights without recurrence are `uniform * scale`.
    counts, spikes: numbers of spikes of the senders, and spikes of the layer without recurrence.
    shape: of the recurrent weights.
    """
    arriving, own = float(counts.sum()), float(spikes.sum())
    scale = _rounded(scale * float(np.sqrt(arriving / (arriving + own))))
    again = 2 * rng.random(shape) - 1
    return [(each * scale).astype(np.float32) for each in (uniform, again)]


def _current(
    weights: np.ndarray,
    ids: np.ndarray,
    counts: np.ndarray,
    geometry: Optional[ConvGeometry],
    input_scale: float,
) -> np.ndarray:
    """Return the current of each neuron in float64."""
    if geometry is None:
        return spike_matmul(weights, ids, counts) * input_scale
    return spike_conv(geometry, weights.astype(np.float64), ids, counts, input_scale=input_scale)


def _rounded(scale: float) -> float:
    return float(f"{scale:.{_DIGITS}g}")
