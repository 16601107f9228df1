"""Inputs with which a package of neurons is checked."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence

import numpy as np

from ipulse_core.spec.neuron_packages import PackageParameter
from ipulse_ops.neuron_package.calls import PackageCalls

_SEED = 20
_ACTIVE = (0.01, 0.6)  # shares of spikes
_DRIVES = [2.0**power for power in (0, 1, -1, 2, -2, 3, -3, 4, -4, 5, 6, 7, 8, 9, 10)]
SATURATED = 1e3  # times the drive


class Case(NamedTuple):
    """Currents and parameters, float64 with values of float32."""

    name: str
    currents: np.ndarray
    parameters: Dict[str, np.ndarray]
    weights: np.ndarray  # a gradient for each spike


class NeverSpikes(ValueError):
    """The package has no drive at which some spikes are sent, and not most."""


def drive_of(calls: PackageCalls, declared: Sequence[PackageParameter]) -> float:
    """Return the standard deviation of currents that make neurons spike. Raises NeverSpikes."""
    parameters = {each.name: np.full(16, _single(each.default)) for each in declared}
    noise = _rng(0).standard_normal((40, 4, 16))
    shares = []
    for drive in _DRIVES:
        share = float(calls.reference_forward(_rounded(drive * noise), parameters).mean())
        if _ACTIVE[0] <= share <= _ACTIVE[1]:
            return drive
        shares.append(share)
    raise NeverSpikes(
        f"with random currents of standard deviations from {min(_DRIVES):g} to {max(_DRIVES):g} "
        f"the share of spikes is {min(shares):.3g} to {max(shares):.3g}; wanted is a drive with "
        f"{_ACTIVE[0]:g} to {_ACTIVE[1]:g}"
    )


def cases(declared: Sequence[PackageParameter], drive: float) -> List[Case]:
    """Return the inputs of all checks but that of differences."""
    found = [
        _case("active", declared, (30, 4, 12), drive, 1),
        _case("random parameters", declared, (30, 4, 12), drive, 2, spread=True),
        _case("one step", declared, (1, 4, 12), drive, 3),
        _case("one neuron", declared, (30, 4, 1), drive, 4, spread=True),
        _case("one sample", declared, (30, 1, 12), drive, 5),
        _case("silent", declared, (30, 2, 5), 0.0, 6),
    ]
    saturated = _case("saturated", declared, (30, 2, 5), drive, 7)
    driven = np.abs(saturated.currents) + _single(drive) * SATURATED
    return [*found, saturated._replace(currents=_rounded(driven))]


def small_case(declared: Sequence[PackageParameter], drive: float, seed: int) -> Case:
    """Return an input of which every number can be varied."""
    return _case("small", declared, (5, 2, 3), drive, 100 + seed, spread=True)


def _case(
    name: str,
    declared: Sequence[PackageParameter],
    shape: Sequence[int],
    drive: float,
    seed: int,
    spread: Optional[bool] = None,
) -> Case:
    """Return an input; spread: parameters vary between neurons, within their bounds."""
    rng, neurons = _rng(seed), shape[2]
    parameters = {}
    for each in declared:
        values = np.full(neurons, each.default)
        if spread:
            # Between the default and a bound, and not at it, where a kernel may have a kink.
            bound = np.where(rng.random(neurons) < 0.5, each.minimum, each.maximum)
            share = 0.5 * rng.random(neurons if each.per_neuron else 1)
            values = each.default + share * np.clip(bound - each.default, -1, 1)
            values = values if each.per_neuron else np.full(neurons, values[0])
        parameters[each.name] = _rounded(values)
    currents = _rounded(drive * rng.standard_normal(shape))
    return Case(name, currents, parameters, _rounded(rng.standard_normal(shape)))


def _rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([_SEED, seed]))


def _rounded(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).astype(np.float64)


def _single(value: float) -> float:
    return float(np.float32(value))
