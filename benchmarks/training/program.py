"""The interface of a measured system: the same training problem as functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Program:
    """A network with its weights and optimizer. Every function returns when its work is done."""

    forward: Callable[[], float]  # returns the loss; stores nothing for a backward pass
    train: Callable[[], float]  # forward, backward and Adam; returns the loss before the update
    # dL/dW at the present weights: float32 [N_in, N_out] each, readout last.
    gradients: Callable[[], list[np.ndarray]]
    # Spikes per neuron and step of each hidden layer, at the present weights.
    rates: Callable[[], list[float]]
