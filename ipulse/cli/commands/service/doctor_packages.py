"""doctor: the packages of neurons that are signed off on this machine, and those of agents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from ipulse.cli.commands.service.check_result import CheckResult
from ipulse.cli.exits import exit_of
from ipulse.cli.installed_neurons import (
    NOT_SIGNED_OFF,
    USABLE,
    fix_of,
    packages_of,
    reference_of,
    states_here,
)
from ipulse.client import AgentStatus
from ipulse_core.errors import IPUlseError
from ipulse_core.spec.neuron_packages import VARIABLE

HERE = "neuron package"
AT_AGENTS = "neuron packages of agents"


def packages_here(states: list[dict[str, Any]]) -> Iterator[CheckResult]:
    """Check the packages that are signed off here, and append their states to a list."""
    if not os.environ.get(VARIABLE, "").strip():
        yield CheckResult(HERE, True, f"none is signed off here ({VARIABLE} is not set)")
        return
    try:
        found = states_here()
    except IPUlseError as error:
        yield CheckResult(HERE, False, error.message, exit_of(error))
        return
    if found["problem"]:
        yield CheckResult(HERE, False, found["problem"])
    for state in found["packages"]:
        if state["digest"] and state["state"] != NOT_SIGNED_OFF:
            states.append(state)
            yield _result(state, found["python"])


def packages_at_agents(
    agents: Sequence[AgentStatus], states: Sequence[dict[str, Any]]
) -> Iterator[CheckResult]:
    """Return the packages of agents; one that only this machine can use is a fault."""
    accepted = packages_of(agents)
    for each in accepted:
        detail = f"{each.package} ({each.version}): {', '.join(each.agents)}"
        yield CheckResult(AT_AGENTS, True, detail)
    known = {each.package for each in accepted}
    for package in [reference_of(state) for state in states if state["state"] == USABLE]:
        if package not in known:
            detail = (
                f"no agent has {package}: set {VARIABLE} for the service and its agents to the "
                "list of this machine, and start them again"
            )
            yield CheckResult(AT_AGENTS, False, detail)


def _result(state: dict[str, Any], python: str) -> CheckResult:
    if state["state"] == USABLE:
        detail = f"{reference_of(state)} ({state['version']}) is usable in {python}"
        return CheckResult(HERE, True, detail)
    return CheckResult(HERE, False, f"{state['detail']}; fix: {fix_of(state)}")
