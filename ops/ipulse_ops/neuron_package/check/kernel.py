"""Checks of the kernel: against the reference, of its bits, and of what it refuses."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, Tuple

import numpy as np

from ipulse_ops.neuron_package.calls import BrokenPackage, PackageCalls
from ipulse_ops.neuron_package.check.cases import Case
from ipulse_ops.neuron_package.interface import NeuronPackage

NEAR = 1e-3  # of the smooth function to 0.5, where float32 may decide otherwise
CLOSE = 3e-4  # of gradients, relative to the largest
Singles = Tuple[np.ndarray, Dict[str, np.ndarray], np.ndarray]


def kernel_problems(calls: PackageCalls, case: Case) -> Iterator[str]:
    """Yield how the kernel differs from the reference on one input."""
    currents, parameters, weights = _singles(case)
    spikes, saved = calls.forward(currents, parameters)
    reference = calls.reference_forward(case.currents, case.parameters)
    relaxed = calls.reference_relaxed(case.currents, case.parameters, reference)
    differs = (spikes != reference).any(axis=0)
    for sample, neuron in np.argwhere(differs):
        step = int(np.argmax(spikes[:, sample, neuron] != reference[:, sample, neuron]))
        value = relaxed[step, sample, neuron]
        if not abs(value - 0.5) <= NEAR:
            yield (
                f"step {step}, sample {sample}, neuron {neuron}: the kernel has "
                f"{spikes[step, sample, neuron]:g} and the reference "
                f"{reference[step, sample, neuron]:g}, where reference_relaxed is {value:.6g}; "
                f"{int(differs.sum())} of {differs.size} neurons differ"
            )
            return
    # Gradients are compared where both have the same spikes.
    weights = weights * ~differs
    by_currents, by_parameters = calls.backward(currents, parameters, spikes, saved, weights)
    wanted, wanted_parameters = calls.reference_adjoint(
        case.currents, case.parameters, reference, weights.astype(np.float64)
    )
    yield from _far("currents", by_currents * ~differs, wanted * ~differs)
    # The terms of a parameter's sum are as large as states times gradients, and may cancel.
    terms = float(np.abs(case.currents).max() * np.abs(wanted).sum())
    for name in calls.trainable:
        yield from _far(f"parameter {name}", by_parameters[name], wanted_parameters[name], terms)


def _far(name: str, found: np.ndarray, wanted: np.ndarray, terms: float = 0.0) -> Iterator[str]:
    single = np.finfo(np.float32)
    error, largest = float(np.abs(found - wanted).max()), float(np.abs(wanted).max())
    allowed = float(CLOSE * largest + single.eps * terms + single.tiny)
    if not error <= allowed:
        yield (
            f"the kernel's gradient of the {name} differs from reference_adjoint by {error:.3g}, "
            f"its largest value is {largest:.3g}; {allowed:.3g} is allowed"
        )


def bit_problems(calls: PackageCalls, case: Case) -> Iterator[str]:
    """Yield where results depend on calls before, on the batch, or on later steps."""
    currents, parameters, weights = _singles(case)
    spikes, saved = calls.forward(currents, parameters)
    gradients = calls.backward(currents, parameters, spikes, saved, weights)
    calls.forward(2 * currents[::-1].copy(), parameters)  # must leave nothing behind
    again, saved_again = calls.forward(currents, parameters)
    repeated = calls.backward(currents, parameters, again, saved_again, weights)
    if not (_equal(spikes, again) and _equal(saved, saved_again)):
        yield "forward: a second call with the same arguments has other bits"
    names = calls.trainable
    if not _equal(gradients[0], repeated[0]) or not all(
        _equal(gradients[1][name], repeated[1][name]) for name in names
    ):
        yield "backward: a second call with the same arguments has other bits"
    for sample in range(currents.shape[1]):
        part = np.ascontiguousarray(currents[:, sample : sample + 1])
        alone, alone_saved = calls.forward(part, parameters)
        by_alone = np.ascontiguousarray(weights[:, sample : sample + 1])
        found, _ = calls.backward(part, parameters, alone, alone_saved, by_alone)
        if not _equal(alone, spikes[:, sample : sample + 1]):
            yield f"forward: sample {sample} alone has other spikes than in the batch"
            return
        if not _equal(found, gradients[0][:, sample : sample + 1]):
            yield f"backward: sample {sample} alone has other gradients than in the batch"
            return
    yield from _causality_problems(calls, currents, parameters, spikes)


def _causality_problems(
    calls: PackageCalls, currents: np.ndarray, parameters: Dict[str, np.ndarray], spikes: np.ndarray
) -> Iterator[str]:
    steps, half = len(currents), max(1, len(currents) // 2)
    begin, _ = calls.forward(currents[:half].copy(), parameters)
    if not _equal(begin, spikes[:half]):
        yield f"forward: the first {half} of {steps} steps depend on the currents of later steps"


def refusal_problems(neurons: NeuronPackage, case: Case) -> Iterator[str]:
    """Yield methods that take arguments that are not finite."""
    currents, parameters, weights = _singles(case)
    spikes, saved = neurons.forward(currents, parameters)
    for value in (np.nan, np.inf):
        bad, wide = _spoilt(currents, value), _spoilt(case.currents, value)
        yield from _taken(value, neurons.forward, bad, parameters)
        yield from _taken(value, neurons.reference_forward, wide, case.parameters)
        for name in parameters:
            changed = {**parameters, name: _spoilt(parameters[name], value)}
            yield from _taken(value, neurons.forward, currents, changed)
        by_spikes = _spoilt(weights, value)
        yield from _taken(value, neurons.backward, currents, parameters, spikes, saved, by_spikes)


def _spoilt(array: np.ndarray, value: float) -> np.ndarray:
    found: np.ndarray = array.copy()
    found.flat[0] = value
    return found


def _taken(value: float, method: Callable[..., Any], *arguments: Any) -> Iterator[str]:
    name = method.__name__
    try:
        with np.errstate(all="ignore"):
            method(*arguments)
    except ValueError:
        return
    except Exception as error:  # noqa: BLE001 - the code of the package may raise anything
        yield f"{name}: {value} raises {type(error).__name__} ({error}); wanted is ValueError"
        return
    yield f"{name} takes {value} and raises no ValueError"


def output_problems(calls: PackageCalls, case: Case) -> Iterator[str]:
    """Yield results that the interface does not allow, or that are not finite."""
    currents, parameters, weights = _singles(case)
    try:
        spikes, saved = calls.forward(currents, parameters)
        by_currents, by_parameters = calls.backward(currents, parameters, spikes, saved, weights)
        reference = calls.reference_forward(case.currents, case.parameters)
        relaxed = calls.reference_relaxed(case.currents, case.parameters, reference)
        adjoint, _ = calls.reference_adjoint(
            case.currents, case.parameters, reference, case.weights
        )
    except BrokenPackage as error:
        yield str(error)
        return
    results = {"backward": by_currents, "reference_relaxed": relaxed, "reference_adjoint": adjoint}
    results.update({f"backward ({name})": each for name, each in by_parameters.items()})
    for name, array in results.items():
        if not np.isfinite(array).all():
            yield f"{name} returns numbers that are not finite"
    wrong = (relaxed > 0.5) != (reference == 1)
    if wrong.any():
        step, sample, neuron = np.argwhere(wrong)[0]
        yield (
            f"reference_relaxed is {relaxed[step, sample, neuron]:.6g} at step {step}, sample "
            f"{sample}, neuron {neuron}, where the spike is {reference[step, sample, neuron]:g}: "
            f"it must be above 0.5 exactly where neurons spike; {int(wrong.sum())} of {wrong.size} "
            "are wrong"
        )


def _singles(case: Case) -> Singles:
    parameters = {name: values.astype(np.float32) for name, values in case.parameters.items()}
    return case.currents.astype(np.float32), parameters, case.weights.astype(np.float32)


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()
