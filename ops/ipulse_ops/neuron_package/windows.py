"""Gradients of a package that do not pass from a window of steps to the one before."""

from __future__ import annotations

from typing import Callable, Tuple

import numpy as np

from ipulse_ops.neuron_package.interface import Gradients


def window_gradients(
    backward: Callable[[np.ndarray], Tuple[np.ndarray, Gradients]],
    by_spikes: np.ndarray,
    steps: int,
) -> np.ndarray:
    """Return the gradients of the currents within windows of `steps` steps.

    A package runs whole sequences, and its gradients are linear in those of the spikes. It is
    called for each window with the gradients of the window's spikes alone; what they give currents
    of earlier windows is left out. Gradients of parameters are sums over all steps and are lost.

    backward: returns the gradients of currents and parameters by those of the spikes.
    by_spikes: `[time, batch, neurons]`.
    """
    found = np.zeros_like(by_spikes)
    for first in range(0, len(by_spikes), steps):
        window = slice(first, first + steps)
        alone = np.zeros_like(by_spikes)
        alone[window] = by_spikes[window]
        found[window] = backward(alone)[0][window]
    return found
