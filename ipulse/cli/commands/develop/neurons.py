"""neurons check and neurons list: packages of neurons on this machine and in the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.installed_neurons import (
    CHECK,
    AgentPackage,
    fix_of,
    packages_of,
    reference_of,
    run_in_runner,
    states_here,
)
from ipulse.cli.options import Address, AsJSON, Wide, addressed
from ipulse.cli.tables import show_table
from ipulse.cli.terminal import emit, last_line, say, show
from ipulse_core.errors import InvalidInput, IPUlseError, MissingDependency, Problem
from ipulse_core.spec.custom_ops import OpReference
from ipulse_core.spec.neuron_packages import VARIABLE

_UNFIT = 2  # exit code of the check if the package is not there, or cannot be used


def check_package(
    package: Annotated[
        str,
        typer.Argument(
            metavar="NAME[@sha256:DIGEST]",
            help="Name of its entry point; with a digest, only this one is checked.",
            show_default=False,
        ),
    ],
    digest: Annotated[
        bool, typer.Option("--digest", help="Print the digest only; nothing is imported.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Check an installed package of neurons, and print the line that signs it off.

    Its reference, adjoint and kernel are compared in the runner's Python (IPULSE_RUNNER_PYTHON).
    This runs its code: read it first. Exit code 0: fit; 1: a check failed; 2: it is not installed,
    has another digest or cannot be used.
    """
    wanted = OpReference.of(package)
    reference = _checked(wanted.name, "--digest").strip()
    if wanted.digest and package != reference:
        detail = f"installed is {reference}: name it, or install the wheel that was signed off"
        raise InvalidInput([Problem("/package", "other_digest", detail)])
    if digest:
        name = OpReference.of(reference)
        emit({"package": reference, "digest": name.digest}) if as_json else show(reference)
        return Exit.OK
    report: dict[str, Any] = json.loads(last_line(_checked(wanted.name, "--json")))
    if as_json:
        emit(report)
    else:
        _show_report(wanted.name, report)
    return Exit.OK if report["fine"] else Exit.JOB_FAILED


@addressed
def list_packages(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List packages of neurons: those on this machine, and those that the service accepts.

    The service accepts a package if it signs it off and an agent has it. Only packages that are
    signed off on this machine are imported.
    """
    states: list[dict[str, Any]] = []
    accepted: list[AgentPackage] = []
    problems: list[IPUlseError] = []
    try:
        found = states_here()
        states = found["packages"]
        if found["problem"]:
            problems.append(IPUlseError(found["problem"]))
    except IPUlseError as error:
        problems.append(error)
    try:
        with at.connect() as connection:
            accepted = packages_of(
                agent for agent in connection.agents() if agent.state != "offline"
            )
    except IPUlseError as error:
        problems.append(error)
        if not states:
            raise
    rows = list(_merged(states, accepted))
    if as_json:
        emit({"neuron_packages": rows, "problems": [each.message for each in problems]})
        return Exit.OK
    for each in problems:
        say(each.message, "yellow")
    cells = [
        (row["package"], row["version"], row["here"] or "no", ", ".join(row["agents"]) or "none")
        for row in rows
    ]
    show_table(["PACKAGE", "VERSION", "ON THIS MACHINE", "AGENTS"], cells, wide)
    for row in rows:
        if row["fix"]:
            say(f"{row['package']}: {row['detail']}; {row['fix']}")
    return Exit.OK


def _merged(states: list[dict[str, Any]], accepted: list[AgentPackage]) -> Iterator[dict[str, Any]]:
    """Yield each package once, with its state on this machine and the agents that have it."""
    known = {each.package: each for each in accepted}
    for state in states:
        package = reference_of(state)
        at_agents = known.pop(package, None)
        yield {
            "package": package,
            "version": state["version"],
            "here": state["state"],
            "detail": state["detail"],
            "fix": fix_of(state),
            "agents": list(at_agents.agents) if at_agents else [],
            "parameters": list(at_agents.parameters) if at_agents else state["parameters"],
        }
    for each in known.values():
        yield {
            "package": each.package,
            "version": each.version,
            "here": None,
            "detail": "",
            "fix": "",
            "agents": list(each.agents),
            "parameters": list(each.parameters),
        }


def _checked(name: str, option: str) -> str:
    """Return the output of the check. Raises InvalidInput if the package cannot be used."""
    done = run_in_runner(CHECK, option, "--", name)
    if done.returncode == _UNFIT:
        raise InvalidInput([Problem("/package", "unfit_package", last_line(done.stderr))])
    if not done.stdout:
        raise MissingDependency(f"the check did not run: {last_line(done.stderr)}")
    return done.stdout


def _show_report(name: str, report: dict[str, Any]) -> None:
    show(f"{name} ({report['version']})")
    for finding in report["findings"]:
        problems = finding["problems"]
        line = f"{'failed' if problems else 'passed'}  {finding['check']}: {finding['case']}"
        show(line, "red" if problems else "")
        for problem in problems:
            show(f"        {problem}", "red")
    if report["fine"]:
        show("fit: to sign it off, list it for the service and for each worker with it:")
        show(f"{VARIABLE}={report['package']}")
    else:
        failed = sum(bool(finding["problems"]) for finding in report["findings"])
        show(f"{report['package']}")
        show(f"not fit: {failed} of {len(report['findings'])} checks failed", "red")
