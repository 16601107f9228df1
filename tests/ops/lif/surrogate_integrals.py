"""Integrals of surrogates: what a smooth twin of a network adds to its spikes."""

from __future__ import annotations

import numpy as np

from ipulse_ops.surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Surrogate, Table


def surrogate_integral(surrogate: Surrogate, x: np.ndarray, x_base: np.ndarray) -> np.ndarray:
    """F(x) on the piece of the surrogate that x_base is on: analytic, as complex steps need it."""
    sign = np.sign(x_base)
    result: np.ndarray
    if isinstance(surrogate, SuperSpike):
        result = x / (surrogate.slope * sign * x + 1)
    elif isinstance(surrogate, ArcTan):
        result = np.arctan(surrogate.slope * x) / surrogate.slope
    elif isinstance(surrogate, Boxcar):
        result = x * (np.abs(x_base) < surrogate.half_width)
    elif isinstance(surrogate, Exponential):
        result = -sign * np.exp(-surrogate.slope * sign * x) / surrogate.slope
    else:
        result = _integral_of_table(surrogate, x, x_base)
    return result


def _integral_of_table(table: Table, x: np.ndarray, x_base: np.ndarray) -> np.ndarray:
    knots = np.linspace(-table.width, table.width, len(table.values))
    values = np.array(table.values)
    k = np.clip(np.searchsorted(knots, x_base, side="right") - 1, 0, len(knots) - 2)
    rise = (values[k + 1] - values[k]) / (knots[k + 1] - knots[k])
    result: np.ndarray = values[k] * x + rise * (x - knots[k]) ** 2 / 2
    return result * (np.abs(x_base) <= table.width)
