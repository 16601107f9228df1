"""Leaky integrators with a trained time constant each, in NumPy alone."""

from __future__ import annotations

import json
from typing import List, Optional, Sequence, Tuple

import numpy as np

SLOPE = 2.0  # of the surrogate gradient


def forward(inputs: Sequence[np.ndarray], attributes: str) -> List[np.ndarray]:
    """Return the spikes of the neurons."""
    _, sent = _run(inputs, attributes)
    return [sent]


def relaxed(
    inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], attributes: str
) -> List[np.ndarray]:
    """Return smooth values in place of spikes; `backward` is their gradient, but for resets."""
    above, _ = _run(inputs, attributes, resets=outputs[0])
    return [above / (1 + SLOPE * np.abs(above))]


def backward(
    gradients: Sequence[np.ndarray],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    attributes: str,
) -> List[np.ndarray]:
    """Return the gradients of spikes, weights and decays."""
    spikes, weights, decay = inputs
    threshold = json.loads(attributes)["threshold"]
    above, sent = _run(inputs, attributes)
    left = above + threshold * (1 - sent)  # of the membrane, behind the reset
    by_membrane = gradients[0] / np.square(1 + SLOPE * np.abs(above))
    by_current, by_decay = np.zeros_like(above), np.zeros_like(decay)
    later = np.zeros_like(above[0])
    for step in reversed(range(len(above))):
        later = by_membrane[step] + decay * later
        by_current[step] = later
        if step:
            by_decay += (later * left[step - 1]).sum(axis=0)
    return [by_current @ weights.T, np.einsum("tbs,tbn->sn", spikes, by_current), by_decay]


def _run(
    inputs: Sequence[np.ndarray], attributes: str, resets: Optional[np.ndarray] = None
) -> Tuple[np.ndarray, np.ndarray]:
    """Return membranes minus the threshold, and spikes. `resets`: where to reset instead."""
    spikes, weights, decay = inputs
    threshold = json.loads(attributes)["threshold"]
    current = spikes @ weights
    above, sent = np.zeros_like(current), np.zeros_like(current)
    membrane = np.zeros_like(current[0])
    for step in range(len(current)):
        membrane = decay * membrane + current[step]
        above[step] = membrane - threshold
        sent[step] = above[step] >= 0
        membrane = membrane - threshold * (sent if resets is None else resets)[step]
    return above, sent
