"""Neurons with a soma and a dendrite; dendrites of neighbours are coupled by graded currents.

In each step, with s for the spikes of the step before and closed ends:

    d[n] <- decay * d[n] + I[n] + coupling * (d[n-1] + d[n+1] - 2 * d[n])
    u[n] <- KEPT * u[n] * (1 - s[n]) + gain * d[n] / (1 + abs(d[n]))

A neuron spikes where u is above THRESHOLD.
"""

from __future__ import annotations

from typing import Dict, Mapping, Tuple

import numpy as np

from ipulse_ops.neuron_package import NeuronPackage, Parameter

KEPT, THRESHOLD, SLOPE = 0.75, 0.5, 5.0
Gradients = Tuple[np.ndarray, Dict[str, np.ndarray]]


class CoupledDendrites(NeuronPackage):
    """Reference and kernel are the same arithmetic, in float64 and in float32."""

    parameters = (
        Parameter("decay", default=0.7, minimum=0.0, maximum=0.95),
        Parameter("coupling", default=0.1, minimum=0.0, maximum=0.2, per_neuron=False),
        Parameter("gain", default=0.4, minimum=0.05, maximum=2.0),
    )

    def reference_forward(
        self, currents: np.ndarray, parameters: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """Return the spikes."""
        return _run(currents, parameters)[0]

    def reference_relaxed(
        self, currents: np.ndarray, parameters: Mapping[str, np.ndarray], spikes: np.ndarray
    ) -> np.ndarray:
        """Return a smooth step of u around the threshold; resets are those of `spikes`."""
        above = _run(currents, parameters, spikes)[1][1] - THRESHOLD
        return 0.5 + above / (1 + SLOPE * np.abs(above))

    def reference_adjoint(
        self,
        currents: np.ndarray,
        parameters: Mapping[str, np.ndarray],
        spikes: np.ndarray,
        by_spikes: np.ndarray,
    ) -> Gradients:
        """Return the gradients."""
        states = _run(currents, parameters, spikes)[1]
        return _adjoint(parameters, spikes, states, by_spikes)

    def forward(
        self, currents: np.ndarray, parameters: Mapping[str, np.ndarray]
    ) -> Tuple[np.ndarray, np.ndarray]:
        """Return the spikes, and the states of all steps: dendrites, then somas."""
        return _run(currents, parameters)

    def backward(
        self,
        currents: np.ndarray,
        parameters: Mapping[str, np.ndarray],
        spikes: np.ndarray,
        saved: np.ndarray,
        by_spikes: np.ndarray,
    ) -> Gradients:
        """Return the gradients."""
        return _adjoint(parameters, spikes, saved, by_spikes)


def _run(
    currents: np.ndarray, parameters: Mapping[str, np.ndarray], spikes: np.ndarray = None
) -> Tuple[np.ndarray, np.ndarray]:
    """Return spikes and states; with `spikes`, these reset."""
    _require_finite(currents, *parameters.values())
    sent, states = np.zeros_like(currents), np.zeros((2, *currents.shape), currents.dtype)
    d = u = s = np.zeros_like(currents[0])
    for t, current in enumerate(currents):
        d = parameters["decay"] * d + current + parameters["coupling"] * _from_neighbours(d)
        u = KEPT * u * (1 - s) + parameters["gain"] * (d / (1 + np.abs(d)))
        sent[t] = s = (u > THRESHOLD).astype(u.dtype) if spikes is None else spikes[t]
        states[0, t], states[1, t] = d, u
    return sent, states


def _adjoint(
    parameters: Mapping[str, np.ndarray],
    spikes: np.ndarray,
    states: np.ndarray,
    by_spikes: np.ndarray,
) -> Gradients:
    """Return the gradients of the currents, and the sums over steps and samples of parameters."""
    _require_finite(by_spikes, *parameters.values())
    by_currents = np.zeros_like(by_spikes)
    totals = {name: np.zeros_like(value) for name, value in parameters.items()}
    by_d = by_u = np.zeros_like(by_spikes[0])
    for t in reversed(range(len(by_spikes))):
        d, u = states[:, t]
        former = states[0, t - 1] if t else np.zeros_like(d)
        by_u = KEPT * (1 - spikes[t]) * by_u
        by_u = by_u + by_spikes[t] / (1 + SLOPE * np.abs(u - THRESHOLD)) ** 2
        by_d = parameters["decay"] * by_d + _from_neighbours(parameters["coupling"] * by_d)
        by_d = by_d + by_u * parameters["gain"] / (1 + np.abs(d)) ** 2
        by_currents[t] = by_d
        totals["decay"] += (by_d * former).sum(axis=0)
        totals["coupling"] += (by_d * _from_neighbours(former)).sum(axis=0)
        totals["gain"] += (by_u * (d / (1 + np.abs(d)))).sum(axis=0)
    return by_currents, totals


def _from_neighbours(d: np.ndarray) -> np.ndarray:
    """Return the sum of the differences to both neighbours; at the ends there is one."""
    found = np.zeros_like(d)
    step = d[:, 1:] - d[:, :-1]
    found[:, :-1] += step
    found[:, 1:] -= step
    return found


def _require_finite(*arrays: np.ndarray) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("currents, parameters and gradients must be finite")
