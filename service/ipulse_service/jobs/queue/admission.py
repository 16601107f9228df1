"""Refuses jobs that no known agent can run, and names what there is instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ipulse_core.capabilities import FIXES, TEXTS, UNITS
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.limits import DEFAULT_POOL
from ipulse_core.spec.neuron_packages import VARIABLE
from ipulse_service.agents import pools, registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction

NAMES = 20  # data sets or labels that a message lists


class NoSuchDevice(InvalidInput):
    """No registered agent has the kind of device that the job needs."""

    code = "no_such_device"


class NoMatchingAgent(InvalidInput):
    """No registered agent has all that the job needs."""

    code = "no_matching_agent"


def check(transaction: Transaction, needs: Needs, project: str) -> None:
    """Raises NoSuchDevice or NoMatchingAgent if agents are known and none can run the job.

    Raises PoolNotAllowed if jobs of the project may not run in its pool.

    While none has ever registered, a job may wait for the first. Absent agents count for a week,
    and those that have joined until they are removed, because they may come back; but not on a host
    where others are present: those have taken over. While all agents with the device are absent,
    only its kind is checked, because they may come back with more.
    """
    if (needs, project) in transaction.admitted:
        return
    pools.check_use(transaction, needs.pool, project)
    now = transaction.now
    registered = without_replaced(registry.known(transaction), now)
    known = [agent for agent in registered if agent.pool == needs.pool]
    if not known or any(agent.can_run(needs) for agent in known):
        transaction.admitted.add((needs, project))
        return
    with_device = [agent for agent in known if needs.device in agent.device_kinds]
    if not with_device or any(agent.is_present(now) for agent in with_device):
        raise misfit(known, needs)


def awaited(known: Collection[KnownAgent], needs: Needs, now: int) -> list[KnownAgent]:
    """Returns the absent agents for which a job with these needs is not refused."""
    counted = without_replaced(known, now)
    return [agent for agent in counted if not agent.is_present(now) and agent.can_run(needs)]


def misfit(known: Collection[KnownAgent], needs: Needs) -> InvalidInput:
    """Returns the error that says what is missing and what these agents have."""
    with_device = [agent for agent in known if needs.device in agent.device_kinds]
    if not with_device:
        kinds = sorted({kind for agent in known for kind in agent.device_kinds})
        detail = f"the agents of {_of_pool(needs)} have {', '.join(kinds)}; got {needs.device}"
        return NoSuchDevice([Problem("/device/kind", "no_such_device", detail)])
    problems = []
    if not any(agent.has_ipus(needs) for agent in with_device):
        problems.append(_too_few_ipus(with_device, needs))
    if not any(agent.has_data(needs) for agent in with_device):
        problems.append(_no_such_data(with_device, needs))
    if not any(agent.has_labels(needs) for agent in with_device):
        problems.append(_no_such_labels(with_device, needs))
    for name in needs.requirements.software:
        if not any(agent.may_have(name) for agent in with_device):
            problems.append(_no_software(with_device, name))
    if not any(agent.has_packages(needs) for agent in with_device):
        problems.append(_no_packages(needs))
    if not any(agent.has_more(needs) for agent in with_device):
        problems.append(_too_little(with_device, needs))
    return NoMatchingAgent(problems or [_no_such_combination(with_device, needs)])


def _of_pool(needs: Needs) -> str:
    return "this service" if needs.pool == DEFAULT_POOL else f"the pool {needs.pool}"


def _no_such_combination(with_device: Sequence[KnownAgent], needs: Needs) -> Problem:
    wanted, fixes = [], []
    if needs.ipus:
        wanted.append(f"{needs.ipus} IPUs")
        fixes.append("lower device.ipus")
    if needs.data_set is not None:
        wanted.append(f"the data set {needs.data_set}")
        fixes.append("put the data set into the data directory of another worker")
    requirements = needs.requirements
    if requirements.labels:
        wanted.append(f"the labels {_written(requirements.labels)}")
        fixes.append("change device.where")
    for name in requirements.software:
        if not all(agent.may_have(name) for agent in with_device):
            wanted.append(TEXTS[name])
            fixes.append(FIXES[name])
    if requirements.neuron_packages:
        wanted.append(f"the packages of neurons {', '.join(requirements.neuron_packages)}")
        fixes.append("install them on such a worker")
    if requirements.too_little:
        wanted.append(too_little_text(needs))
        fixes.append("free the disk of such a worker")
    detail = f"no agent has all of: {', '.join(wanted)}. Change one: {', or '.join(fixes)}"
    pointer = "/device/kind"
    if needs.ipus or requirements.labels:
        pointer = "/device/ipus" if needs.ipus else "/device/where"
    return Problem(pointer, "no_such_combination", detail)


def _no_such_labels(with_device: Iterable[KnownAgent], needs: Needs) -> Problem:
    found = sorted({_written(agent.labels) for agent in with_device if agent.labels})
    listed = "; ".join(found[:NAMES]) or "none"
    more = f"; and {len(found) - NAMES} others" if len(found) > NAMES else ""
    detail = (
        f"no agent with the device {needs.device} has the labels "
        f"{_written(needs.requirements.labels)}; they have: {listed}{more}. Labels "
        "come with the token with which an agent joins (ipulse agent token --labels)"
    )
    return Problem("/device/where", "no_such_labels", detail)


def _written(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))


def _too_few_ipus(with_device: Iterable[KnownAgent], needs: Needs) -> Problem:
    most = max(agent.ipus[needs.device] for agent in with_device)
    more = " (ipulse up --emulated-ipus)" if needs.device == "emulator" else ""
    detail = (
        f"no agent has more than {most} IPUs of the kind {needs.device}; got {needs.ipus}: "
        f"lower device.ipus, or start a worker with more{more}"
    )
    return Problem("/device/ipus", "too_few_devices", detail)


def _no_such_data(with_device: Iterable[KnownAgent], needs: Needs) -> Problem:
    kind, _, name = (needs.data_set or "").partition("/")
    found = sorted({each for agent in with_device for each in agent.data_sets or ()})
    listed = ", ".join(found[:NAMES]) or "none"
    more = f" and {len(found) - NAMES} others" if len(found) > NAMES else ""
    detail = (
        f"no agent with the device {needs.device} has a data set {name} of the kind {kind}; "
        f"they have: {listed}{more}. Put it into a worker's data directory (ipulse up --data DIR); "
        "the service knows of it within half a minute"
    )
    return Problem("/data/name", "no_such_data_set", detail)


def _no_software(with_device: Iterable[KnownAgent], name: str) -> Problem:
    agents = list(with_device)
    reason = next((agent.remarks[name] for agent in agents if agent.remarks.get(name)), "")
    fix = f"{FIXES[name]}; its agent finds it within five minutes, or when it is started again"
    silent = [agent.name for agent in agents if name not in agent.capabilities]
    if silent:
        reason = reason or f"{silent[0]} does not say whether it has one"
        fix = f"upgrade agents of older versions, or {fix}"
    detail = (
        f"no agent with this device has {TEXTS[name]}{f' ({reason})' if reason else ''}: {fix}; "
        "`ipulse doctor` shows which agents have it"
    )
    return Problem("/device/kind", f"no_{name.replace('-', '_')}", detail)


def _no_packages(needs: Needs) -> Problem:
    names = ", ".join(needs.requirements.neuron_packages)
    detail = (
        f"no agent with this device has the packages of neurons {names}: the owner of the service "
        f"installs them on a worker, lists them there in {VARIABLE} and starts its agent again"
    )
    return Problem("/network/layers", "no_such_package", detail)


def _too_little(with_device: Iterable[KnownAgent], needs: Needs) -> Problem:
    detail = (
        f"the job needs {too_little_text(needs)}, more than any present worker has "
        f"({amounts(with_device, needs)}): free the disk of a worker, or start one with more"
    )
    return Problem("/device/kind", "too_little_room", detail)


def too_little_text(needs: Needs) -> str:
    """Returns what a job needs, by what was not enough for it on a worker."""
    amounts = sorted(needs.requirements.too_little.items())
    return " and ".join(f"more than {tried:,} {UNITS[name]}" for name, tried in amounts)


def amounts(agents: Iterable[KnownAgent], needs: Needs) -> str:
    """Returns what agents have of what was not enough, the greatest amounts first."""
    found = sorted(
        (
            (agent.capabilities[name], UNITS[name], agent.name)
            for agent in agents
            for name in needs.requirements.too_little
            if name in agent.capabilities
        ),
        reverse=True,
    )
    listed = [f"{agent}: {amount:,} {unit}" for amount, unit, agent in found[:NAMES]]
    return ", ".join(listed) or "none says how much it has"


def without_replaced(known: Collection[KnownAgent], now: int) -> list[KnownAgent]:
    """Returns the registered agents without absent ones on hosts where others are present."""
    registered = [agent for agent in known if agent.device_kinds]  # others have only joined
    in_use = {agent.host for agent in registered if agent.host and agent.is_present(now)}
    return [agent for agent in registered if agent.is_present(now) or agent.host not in in_use]
