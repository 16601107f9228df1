"""Compares the adjoint of a package with central differences of its smooth function, in float64."""

from __future__ import annotations

from typing import Dict, Iterator

import numpy as np

from ipulse_ops.neuron_package.calls import PackageCalls
from ipulse_ops.neuron_package.check.cases import Case

STEP = 1e-5  # of the differences, relative to the values
CLOSE = 1e-5  # relative to the largest gradient
_DIRECTIONS = 4


def adjoint_problems(calls: PackageCalls, case: Case) -> Iterator[str]:
    """Yield gradients of reference_adjoint that are not those of reference_relaxed.

    Every number of the input is varied alone: the input is small.
    """
    spikes = calls.reference_forward(case.currents, case.parameters)
    by_currents, by_parameters = calls.reference_adjoint(
        case.currents, case.parameters, spikes, case.weights
    )

    def loss(currents: np.ndarray, parameters: Dict[str, np.ndarray]) -> float:
        relaxed = calls.reference_relaxed(currents, parameters, spikes)
        return float((case.weights * relaxed).sum())

    scale = STEP * max(1e-3, float(np.abs(case.currents).max()))
    differences = np.empty_like(case.currents)
    for place in np.ndindex(*case.currents.shape):
        step = np.zeros_like(case.currents)
        step[place] = scale
        above = loss(case.currents + step, case.parameters)
        below = loss(case.currents - step, case.parameters)
        differences[place] = (above - below) / (2 * scale)
    yield from _far("the currents", by_currents, differences)
    for name in calls.trainable:
        values = case.parameters[name]
        scale = STEP * max(1e-3, float(np.abs(values).max()))
        differences = np.empty_like(values)
        for at in range(len(values)):
            step = np.zeros_like(values)
            step[at] = scale
            above = loss(case.currents, {**case.parameters, name: values + step})
            below = loss(case.currents, {**case.parameters, name: values - step})
            differences[at] = (above - below) / (2 * scale)
        yield from _far(f"the parameter {name}", by_parameters[name], differences)


def _far(name: str, found: np.ndarray, wanted: np.ndarray) -> Iterator[str]:
    errors, largest = np.abs(found - wanted), float(np.abs(wanted).max())
    if not float(errors.max()) <= CLOSE * max(largest, 1e-3):
        place = np.unravel_index(int(np.argmax(errors)), errors.shape)
        yield (
            f"the gradient of {name} at {tuple(map(int, place))} is {found[place]:.8g} and central "
            f"differences give {wanted[place]:.8g}; {CLOSE:g} of the largest, {largest:.3g}, are "
            "allowed"
        )


def product_problems(calls: PackageCalls, case: Case) -> Iterator[str]:
    """Yield directions in which the adjoint's product differs from a difference of all numbers."""
    spikes = calls.reference_forward(case.currents, case.parameters)
    by_currents, by_parameters = calls.reference_adjoint(
        case.currents, case.parameters, spikes, case.weights
    )
    rng = np.random.Generator(np.random.PCG64(7))
    for number in range(_DIRECTIONS):
        moved = rng.standard_normal(case.currents.shape)
        turned = {
            name: rng.standard_normal(case.parameters[name].shape) for name in calls.trainable
        }

        above = _relaxed_at(calls, case, spikes, STEP * moved, _scaled(turned, STEP))
        below = _relaxed_at(calls, case, spikes, -STEP * moved, _scaled(turned, -STEP))
        tangent = (above - below) / (2 * STEP)
        terms = [by_currents * moved, *(by_parameters[name] * turned[name] for name in turned)]
        forward = float((tangent * case.weights).sum())
        backward = float(sum(each.sum() for each in terms))
        size = max(1e-3, float(np.abs(tangent * case.weights).sum()))
        if not abs(forward - backward) <= CLOSE * size:
            yield (
                f"direction {number}: the product of the derivative is {forward:.8g}, that of "
                f"reference_adjoint {backward:.8g}; {CLOSE:g} of {size:.3g} are allowed"
            )


def _scaled(arrays: Dict[str, np.ndarray], factor: float) -> Dict[str, np.ndarray]:
    return {name: factor * array for name, array in arrays.items()}


def _relaxed_at(
    calls: PackageCalls,
    case: Case,
    spikes: np.ndarray,
    moved: np.ndarray,
    turned: Dict[str, np.ndarray],
) -> np.ndarray:
    """Return the smooth function of currents and parameters that are changed by these."""
    changed = {name: case.parameters[name] + change for name, change in turned.items()}
    return calls.reference_relaxed(case.currents + moved, {**case.parameters, **changed}, spikes)
