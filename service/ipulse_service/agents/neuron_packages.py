"""The packages of neurons that specs name: whether they are signed off, and their parameters.

The service stores those packages of an agent that its own list has, so that what no agent has is
not signed off, or not installed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ipulse.spec import ExperimentSpec
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.spec.custom_ops import OpReference
from ipulse_core.spec.neuron_packages import (
    VARIABLE,
    PackageDescription,
    package_layers,
    parameter_problems,
)
from ipulse_service.agents import registry
from ipulse_service.db.engine import Database, Transaction


def check(transaction: Transaction, spec: ExperimentSpec) -> None:
    """Raises InvalidSpec if a package is not available, or has other parameters."""
    layers = package_layers(spec.network)
    if not layers:
        return
    known = registry.known(transaction)
    available = {each.package: each for agent in known for each in agent.neuron_packages}
    problems: list[Problem] = []
    for index, layer in layers:
        place, name = f"/network/layers/{index}/neuron", layer.neuron.package
        found = available.get(name)
        if found is None:
            detail = _unavailable(name, available)
            problems.append(Problem(f"{place}/package", "package_not_signed_off", detail))
            continue
        for problem in parameter_problems(found.parameters, layer.neuron):
            pointer = f"{place}{problem.pointer}"
            problems.append(Problem(pointer, problem.code, problem.detail))
    if problems:
        raise InvalidSpec(problems)


def signed_off(
    found: Iterable[PackageDescription], allowed: Collection[str]
) -> tuple[PackageDescription, ...]:
    """Returns the packages of an agent that the service signed off."""
    return tuple(each for each in found if each.package in allowed)


def withdraw(database: Database, allowed: Collection[str]) -> None:
    """Forgets the packages of all agents that the service does not sign off any more."""
    with database.write() as transaction:
        for agent in registry.known(transaction):
            kept = signed_off(agent.neuron_packages, allowed)
            if kept != agent.neuron_packages:
                registry.change(transaction, replace(agent, neuron_packages=kept))


def _unavailable(name: str, available: Collection[str]) -> str:
    wanted = OpReference.of(name).name
    same = sorted(each for each in available if OpReference.of(each).name == wanted)
    fix = (
        f"the owner of the service checks a package, installs it on a worker and lists it in "
        f"{VARIABLE} of the service and of the worker"
    )
    if same:
        return f"signed off is another digest: {', '.join(same)}; name it, or {fix}"
    others = ", ".join(sorted(available)) or "none"
    return f"no worker has it, or it is not signed off; available are: {others}; {fix}"
