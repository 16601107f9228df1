"""What a side of a comparison is: the same training problem, as functions that a child calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Program:
    """One side with its weights and its optimizer. Every function returns when the work is done."""

    forward: Callable[[], float]  # the loss; keeps nothing for a backward pass
    train: Callable[[], float]  # forward, backward and Adam; the loss before the update
    # At the present weights: dL/dW, float32 [N_in, N_out] each, readout last.
    gradients: Callable[[], list[np.ndarray]]
    # Spikes per neuron and step of the hidden layers, at the present weights.
    rates: Callable[[], list[float]]
