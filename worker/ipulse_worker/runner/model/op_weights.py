"""The initial values of the weights of custom ops."""

from __future__ import annotations

import numpy as np

from ipulse_core.op_manifest.weights import OpInitialiser, OpWeight
from ipulse_core.spec.start_weights import Shape
from ipulse_worker.runner.randomness import Purpose, stream


def draw(weight: OpWeight, shape: Shape, seed: int, layer: int, number: int) -> np.ndarray:
    """Return float32 values within the bounds of a weight; equal arguments give equal values.

    layer: its index in the network. number: of the weight in the op, from 0.
    """
    random = stream(Purpose.OP_WEIGHTS, seed, layer, number)
    made = _drawn(weight.initialiser, shape, random).astype(np.float32)
    return within_bounds(weight, made)


def within_bounds(weight: OpWeight, values: np.ndarray) -> np.ndarray:
    """Return the values, limited to the bounds that the weight declares."""
    if weight.minimum is None and weight.maximum is None:
        return values
    made: np.ndarray = np.clip(values, weight.minimum, weight.maximum).astype(np.float32)
    return made


def _drawn(initialiser: OpInitialiser, shape: Shape, random: np.random.RandomState) -> np.ndarray:
    numbers = initialiser.numbers
    if initialiser.name == "zeros":
        return np.zeros(shape)
    if initialiser.name == "ones":
        return np.ones(shape)
    if initialiser.name == "constant":
        return np.full(shape, numbers["value"])
    if initialiser.name == "uniform":
        return random.uniform(numbers["low"], numbers["high"], shape)
    if initialiser.name == "normal":
        return random.normal(numbers["mean"], numbers["std"], shape)
    limit = np.sqrt(6 / (shape[0] + shape[-1]))  # glorot_uniform
    return random.uniform(-limit, limit, shape)
