"""Runs all checks of a package of neurons, one after the other."""

from __future__ import annotations

from typing import Any, Callable, Iterable, List, NamedTuple, Sequence, Tuple

from ipulse_ops.neuron_package.calls import BrokenPackage, PackageCalls
from ipulse_ops.neuron_package.check.cases import Case, NeverSpikes, cases, drive_of, small_case
from ipulse_ops.neuron_package.check.differences import adjoint_problems, product_problems
from ipulse_ops.neuron_package.check.kernel import (
    bit_problems,
    kernel_problems,
    output_problems,
    refusal_problems,
)
from ipulse_ops.neuron_package.interface import NeuronPackage

_SMALL_CASES = 3


class CheckedCase(NamedTuple):
    """The result of one check on one input."""

    check: str
    case: str
    problems: Tuple[str, ...]


def judge(neurons: NeuronPackage) -> List[CheckedCase]:
    """Return the result of every check; a package is fit if none has a problem."""
    calls, declared = PackageCalls(neurons), neurons.parameters
    try:
        drive = drive_of(calls, declared)
    except (NeverSpikes, BrokenPackage) as error:
        return [CheckedCase("some spikes", "random currents", (str(error),))]
    inputs = cases(declared, drive)
    found = _all("results", output_problems, calls, inputs)
    if any(each.problems for each in found):
        return found  # the other checks need them
    small = [small_case(declared, drive, seed) for seed in range(_SMALL_CASES)]
    found += _all("adjoint against differences", adjoint_problems, calls, small)
    found += _all("products of the adjoint", product_problems, calls, inputs[:2])
    found += _all("kernel against reference", kernel_problems, calls, inputs)
    found += _all("equal bits", bit_problems, calls, inputs)
    return found + _all("refusals", refusal_problems, neurons, inputs[:1])


def _all(
    name: str,
    check: Callable[[Any, Case], Iterable[str]],
    subject: Any,
    inputs: Sequence[Case],
) -> List[CheckedCase]:
    return [CheckedCase(name, case.name, _problems(check, subject, case)) for case in inputs]


def _problems(
    check: Callable[[Any, Case], Iterable[str]], subject: Any, case: Case
) -> Tuple[str, ...]:
    try:
        return tuple(check(subject, case))
    except BrokenPackage as error:
        return (str(error),)
