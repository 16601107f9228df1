"""pool_op in NumPy: what the op must compute, and what it runs without a kernel."""

from __future__ import annotations

import json
from typing import List, Sequence, Tuple

import numpy as np


def forward(inputs: Sequence[np.ndarray], attributes: str) -> List[np.ndarray]:
    """Return the outputs. `ipulse op test` calls it with float64, for differences, too."""
    groups, _ = _groups(inputs[0], attributes)
    return [groups.max(axis=-1)]


def backward(
    gradients: Sequence[np.ndarray],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    attributes: str,
) -> List[np.ndarray]:
    """Return the gradients of the inputs, given those of the outputs."""
    groups, first = _groups(inputs[0], attributes)
    chosen = np.arange(groups.shape[-1]) == first[..., None]
    return [(chosen * gradients[0][..., None]).reshape(inputs[0].shape)]


def _groups(spikes: np.ndarray, attributes: str) -> Tuple[np.ndarray, np.ndarray]:
    """Return the groups of neighbours, and the first of the largest in each."""
    width = json.loads(attributes)["width"]
    if spikes.shape[-1] % width:
        raise ValueError(f"{spikes.shape[-1]} senders cannot be divided by the width {width}")
    groups = spikes.reshape(*spikes.shape[:-1], -1, width)
    return groups, groups.argmax(axis=-1)
