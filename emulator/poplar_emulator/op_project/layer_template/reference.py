"""pool_op in NumPy: what the op must compute, and what it runs without a kernel."""

from __future__ import annotations

import json
from typing import List, Sequence

import numpy as np

THRESHOLD = 0.5


def forward(inputs: Sequence[np.ndarray], attributes: str) -> List[np.ndarray]:
    """Return the outputs. `ipulse op test` calls it with float64, for differences, too.

    `inputs` are the spikes, then the weights in the order of op.json.
    """
    return [(_drive(inputs, attributes) >= THRESHOLD).astype(inputs[0].dtype)]


def backward(
    gradients: Sequence[np.ndarray],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    attributes: str,
) -> List[np.ndarray]:
    """Return the gradients of spikes and weights, given those of the outputs."""
    spikes, gain = inputs
    above = _drive(inputs, attributes) - THRESHOLD
    by_drive = gradients[0] / np.square(1 + np.abs(above))
    by_product = np.repeat(by_drive, _width(inputs, attributes), axis=-1)
    return [by_product * gain, (by_product * spikes).sum(axis=(0, 1))]


def relaxed(
    inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], attributes: str
) -> List[np.ndarray]:
    """Return differentiable outputs. Their gradient is the surrogate that `backward` returns.

    `ipulse op test` compares `backward` with differences of these outputs. If `forward` is
    differentiable, remove this function.
    """
    above = _drive(inputs, attributes) - THRESHOLD
    return [above / (1 + np.abs(above))]


def _drive(inputs: Sequence[np.ndarray], attributes: str) -> np.ndarray:
    """Return the weighted sum of each group of neighbouring spikes."""
    spikes, gain = inputs
    width = _width(inputs, attributes)
    groups = (spikes * gain).reshape(*spikes.shape[:-1], -1, width)
    drive: np.ndarray = groups[..., 0]
    for k in range(1, width):  # in the kernel's order, for equal bits
        drive = drive + groups[..., k]
    return drive


def _width(inputs: Sequence[np.ndarray], attributes: str) -> int:
    width: int = json.loads(attributes)["width"]
    senders = inputs[0].shape[-1]
    if senders % width:
        raise ValueError(f"{senders} senders cannot be divided by the width {width}")
    return width
