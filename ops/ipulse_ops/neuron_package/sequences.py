"""Recurrence and truncated gradients of packages, which run whole sequences.

The spikes of a step depend on no later currents, so that with recurrence each call makes one more
step final: calls are repeated until the spikes give the currents that they came from. The gradient
is found in the same way, from the last step on. Sums are in a fixed order.
"""

from __future__ import annotations

from typing import Callable, Tuple

import numpy as np

from ipulse_ops.neuron_package.calls import BrokenPackage, PackageCalls
from ipulse_ops.neuron_package.interface import Gradients, Values


def recurrent_forward(
    calls: PackageCalls, currents: np.ndarray, parameters: Values, weights: np.ndarray
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return spikes, what the backward pass needs, and the currents of senders and own spikes.

    currents: float32 `[time, batch, neurons]` of the senders.
    weights: float32 `[neurons, neurons]` by sender.

    Raises BrokenPackage if later currents change earlier spikes.
    """
    total = currents
    for _ in range(max(1, len(currents))):
        spikes, saved = calls.forward(total, parameters)
        found = with_own_spikes(currents, spikes, weights)
        if np.array_equal(found, total):
            return spikes, saved, total
        total = found
    raise BrokenPackage("forward: later currents change earlier spikes")


def with_own_spikes(currents: np.ndarray, spikes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the currents with those of the spikes of the step before, senders ascending."""
    total = np.array(currents)
    for sender, row in enumerate(weights):
        sent = np.nonzero(spikes[:-1, :, sender])
        total[1:][sent] += row
    return total


def recurrent_backward(
    calls: PackageCalls,
    currents: np.ndarray,
    parameters: Values,
    spikes: np.ndarray,
    saved: np.ndarray,
    by_spikes: np.ndarray,
    weights: np.ndarray,
) -> Tuple[np.ndarray, Gradients]:
    """Return the gradients of the currents and of the trainable parameters.

    currents, spikes, saved: those of `recurrent_forward`.
    by_spikes: the gradient of the spikes, without what they give the next step.
    """
    received = by_spikes
    for _ in range(max(1, len(currents))):
        by_currents, by_parameters = calls.backward(currents, parameters, spikes, saved, received)
        found = np.array(by_spikes)
        for receiver, column in enumerate(weights.T):
            found[:-1] += by_currents[1:, :, receiver, None] * column
        if np.array_equal(found, received):
            break
        received = found
    return by_currents, by_parameters


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
