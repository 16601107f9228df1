"""The `ipulse selftest` command: injects faults into a stack of its own and reports losses."""

from __future__ import annotations

import secrets
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON
from ipulse.cli.tables import show_table
from ipulse.cli.terminal import emit, say, show, show_facts
from ipulse.install_hint import install_hint
from ipulse_core.errors import InvalidInput, MissingDependency, Problem


def selftest(
    faults: Annotated[bool, typer.Option("--faults", help="Inject faults; required.")] = False,
    kills: Annotated[int, typer.Option(min=0, max=10_000, help="Number of SIGKILLs.")] = 100,
    jobs: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Minimum number of jobs; the kills are spread over them.",
        ),
    ] = 0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of all random choices. [default: random]")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUP",
            help="Run only this group of faults, such as `kills`; may be repeated. An unknown "
            "name lists all of them.",
        ),
    ] = None,
    training: Annotated[
        bool, typer.Option("--training", help="Train for real, instead of with a scripted runner.")
    ] = False,
    postgresql: Annotated[
        bool,
        typer.Option("--postgresql", help="Use a PostgreSQL server of its own, with a standby."),
    ] = False,
    agents: Annotated[int, typer.Option(min=2, max=64, help="Number of agents.")] = 4,
    lease: Annotated[float, typer.Option(min=1, help="Lease of an attempt, in seconds.")] = 30.0,
    locked: Annotated[
        float, typer.Option(min=1, help="How long the database is locked, in seconds.")
    ] = 30.0,
    as_json: AsJSON = False,
) -> Exit:
    """Inject faults into a temporary stack and count what is lost.

    The stack runs in a temporary folder and touches no other: processes are killed, stopped and
    restarted, disks fill up and messages are forged while jobs are submitted. Exit code 1: an
    accepted job was lost or run twice, or another guarantee was broken.
    """
    if not faults:
        detail = "is required: ipulse selftest --faults"
        raise InvalidInput([Problem("/faults", "missing", detail)], "nothing to test")
    run_faults = _fault_suite()
    seed = secrets.randbelow(2**31) if seed is None else seed
    runner = "the real" if training else "a scripted"
    say(f"seed {seed}: {agents} agents with {runner} runner, lease {lease:g} s")
    report = run_faults(
        say,
        only,
        seed=seed,
        kills=kills,
        jobs=jobs,
        agents=agents,
        lease_seconds=lease,
        locked_seconds=locked,
        trains=training,
        postgresql=postgresql,
    )
    if as_json:
        emit(report.document)
    else:
        show_table(report.headers, report.rows)
        show()
        show_facts(report.facts)
        for kind in ("lost", "run_twice_officially", "old_runner_beside_next", "broken"):
            for finding in report.document[kind] or ():
                show(f"{kind.replace('_', ' ')}: {finding}", style="red")
    if report.logs:
        say(f"Logs and the database are kept in {report.logs}.")
    return Exit.OK if report.is_clean else Exit.JOB_FAILED


def _fault_suite() -> Any:
    """Return the function with which the service's distribution runs its fault suite.

    `ipulse` is also installed alone: then it raises MissingDependency.
    """
    try:
        (entry,) = entry_points(group="ipulse.selftest", name="faults")
        return entry.load()
    except (ValueError, ModuleNotFoundError) as error:
        detail = f"ipulse selftest needs the whole stack: {install_hint('all')}"
        raise MissingDependency(detail) from error
