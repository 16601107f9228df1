"""doctor: checks this machine and the service, with a hint for each thing that is missing."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from ipulse.cli.called import as_called
from ipulse.cli.commands.service.check_result import CheckResult
from ipulse.cli.commands.service.doctor_packages import packages_at_agents, packages_here
from ipulse.cli.exits import Exit, exit_of
from ipulse.cli.options import Address, AsJSON, addressed
from ipulse.cli.terminal import emit, show, size_text
from ipulse.client import AgentStatus
from ipulse.client.location import find_service
from ipulse.stack.home import home_folder
from ipulse.stack.redis_server import describe_redis_server, find_redis_server
from ipulse_core.build_cache.op_builds import OpBuilds, limits_of_op_builds
from ipulse_core.capabilities import FIXES, SANDBOX
from ipulse_core.errors import IPUlseError
from ipulse_core.version import version

LEAST_BYTES = 2**30  # of free disk space for jobs and results

# Where the service reads documents of users, in words.
_READS_DOCUMENTS = {
    "bubblewrap": "the service reads documents of users in a sandbox",
    "unknown": "the service does not know yet whether its sandbox for documents of users works; it "
    "reads none before the sandbox has answered: ask again in a minute",
    "off": "the service reads documents of users without a sandbox (IPULSE_SANDBOX=none), in "
    "processes with limits of memory and time",
    "missing": "the service reads documents of users without a sandbox, in processes with limits "
    "of memory and time: install bubblewrap there, or refuse them with IPULSE_REQUIRE_SANDBOX=1",
}
# The states of an agent's sandbox in words.
_SANDBOX = {
    "bubblewrap": "programs and ops of users run in a sandbox",
    "off": "programs and ops of users run without a sandbox (IPULSE_SANDBOX=none)",
    "missing": "no programs and ops of users run there",
}


@addressed
def doctor(at: Address, as_json: AsJSON = False) -> Exit:
    """Check what a stack and the service need. Exit code 0: everything works.

    Exit code 5: no service answers, or a dependency is not installed. If other things are wrong,
    too, it is 6.
    """
    packages: list[dict[str, Any]] = []  # of neurons, signed off on this machine
    findings = list(_examine(at, packages))
    fine = all(finding.fine for finding in findings)
    if as_json:
        names = ("name", "fine", "detail")
        shown = [{name: getattr(finding, name) for name in names} for finding in findings]
        emit({"fine": fine, "findings": shown, "neuron_packages": packages})
    else:
        for finding in findings:
            style = "green" if finding.fine else "red"
            mark = "ok" if finding.fine else "NO"
            show(f"{mark}  {finding.name}: {as_called(finding.detail)}", style)
    exits = {finding.exit for finding in findings if not finding.fine}
    return Exit.OK if fine else exits.pop() if len(exits) == 1 else Exit.OTHER


def _examine(at: Address, packages: list[dict[str, Any]]) -> Iterator[CheckResult]:
    yield CheckResult("ipulse", True, f"{version()} on Python {platform.python_version()}")
    yield _compiler()
    yield _op_builds()
    yield from packages_here(packages)
    yield _check("redis-server", _redis_server)
    home = home_folder(at.home, os.environ)
    yield _home(home)
    yield _disk(home)
    yield _check("address", lambda: _source(at))
    service = _check("service", lambda: _ask_service(at))
    yield service
    if service.fine:
        yield from _documents(at)
        yield from _agents(at, packages)


def _redis_server() -> str:
    program = find_redis_server()
    return f"{program}: {describe_redis_server(program, date.today())}"


def _op_builds() -> CheckResult:
    """Report the size of the builds of custom ops in this machine's cache."""
    try:
        limit = limits_of_op_builds().bytes
    except ValueError as error:
        return CheckResult("op builds", False, str(error))
    entries = OpBuilds().entries()
    size = size_text(sum(entry.bytes for entry in entries))
    return CheckResult("op builds", True, f"{len(entries)}, {size} of {size_text(limit)}")


def _compiler() -> CheckResult:
    for name in ("g++", "clang++", "c++"):
        path = shutil.which(name)
        if path:
            return CheckResult("C++ compiler", True, path)
    hint = "none found, and the kernels need one: sudo apt-get install g++"
    return CheckResult("C++ compiler", False, hint, Exit.UNAVAILABLE)


def _home(home: Path) -> CheckResult:
    if not home.exists():
        return CheckResult("home", True, f"{home} does not exist yet; `ipulse up` creates it")
    mode = home.stat().st_mode & 0o777
    if mode & 0o077:
        hint = f"other users can read {home} (mode {mode:03o}): chmod 700 {home}"
        return CheckResult("home", False, hint)
    return CheckResult("home", True, f"{home}, mode {mode:03o}")


def _disk(home: Path) -> CheckResult:
    place = home
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    detail = f"{free / 2**30:.1f} GiB free at {place}"
    is_enough = free >= LEAST_BYTES
    return CheckResult(
        "disk", is_enough, detail if is_enough else f"only {detail}, 1 GiB is needed"
    )


def _source(at: Address) -> str:
    """Return the address of the service, and where it and the token come from."""
    found = find_service(at.url, None, at.token_file, at.home, ca=at.ca)
    return f"{found.url} from {found.url_from}, token from {found.token_from}"


def _ask_service(at: Address) -> str:
    with at.connect() as connection:
        connection.ready()
        next(iter(connection.jobs(page_size=1)), None)  # checks the token, which readiness does not
        return f"{connection.url} is ready and accepts the token"


def _documents(at: Address) -> Iterator[CheckResult]:
    """Report where the service reads archives, data sets and other documents of users."""
    with at.connect() as connection:
        ready = connection.ready()
    sandbox = ready.get("document_sandbox")
    if ready.get("accepts_documents") is False:
        hint = (
            "the service has no sandbox and refuses documents of users "
            "(IPULSE_REQUIRE_SANDBOX=1): install bubblewrap on its machine"
        )
        yield CheckResult("documents", False, hint, Exit.UNAVAILABLE)
    elif sandbox in _READS_DOCUMENTS:  # services before 0.3 do not say it
        yield CheckResult("documents", True, _READS_DOCUMENTS[sandbox])


def _agents(at: Address, packages: list[dict[str, Any]]) -> Iterator[CheckResult]:
    """Check that the agents of the service can run jobs."""
    try:
        with at.connect() as connection:
            agents = connection.agents()
    except IPUlseError as error:
        yield CheckResult("agents", False, error.message)
        return
    faulty = [agent for agent in agents if agent.fault]
    for agent in faulty:
        yield CheckResult("agent", False, f"{agent.name} takes no job: {agent.fault}")
    if not faulty:
        yield CheckResult("agents", True, "none reports a full disk or another fault")
    present = [agent for agent in agents if agent.state != "offline"]
    yield from sandbox_results(present)
    yield from software_results(present)
    yield from packages_at_agents(present, packages)


def sandbox_results(agents: list[AgentStatus]) -> Iterator[CheckResult]:
    """Return which agents run programs and ops of users; one without a sandbox is no fault."""
    for state, text in _SANDBOX.items():
        named: dict[str, list[str]] = {}
        for agent in agents:
            if agent.sandbox == state:
                named.setdefault(agent.json["sandbox"]["message"], []).append(agent.name)
        for message, names in sorted(named.items()):
            more = f": {message}" if message else ""
            yield CheckResult("sandbox", True, f"{', '.join(names)}: {text}{more}")


def software_results(agents: Sequence[AgentStatus]) -> Iterator[CheckResult]:
    """Yield what agents lack for jobs, with the remedy; a sandbox has results of its own."""
    for name in FIXES:
        if name == SANDBOX:
            continue
        lacking = [agent for agent in agents if name in agent.missing]
        if not lacking:
            continue
        names = ", ".join(agent.name for agent in lacking)
        reasons = "; ".join(sorted({agent.missing[name] for agent in lacking}))
        has_other = len(lacking) < len(agents)
        where = "jobs that need it run on other agents" if has_other else "jobs that need it wait"
        detail = f"{names}: no {name} ({reasons}), so that {where}; fix: {FIXES[name]}"
        yield CheckResult("agents", has_other, detail)


def _check(name: str, examine: Callable[[], str]) -> CheckResult:
    try:
        return CheckResult(name, True, examine())
    except IPUlseError as error:
        return CheckResult(name, False, str(error), exit_of(error))
