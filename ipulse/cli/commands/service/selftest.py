"""The `ipulse selftest` command: injects faults into a stack of its own and reports losses."""

from __future__ import annotations

import secrets
from typing import Annotated

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
    # Imported here: `ipulse` is also installed alone, and the suite is a part of the service.
    try:
        from ipulse_service.selftest import GROUPS, OLD_GROUPS, report, suite
        from ipulse_service.selftest.plan import Plan
    except ModuleNotFoundError as error:
        detail = f"ipulse selftest needs the whole stack: {install_hint('all')}"
        raise MissingDependency(detail) from error

    groups = [OLD_GROUPS.get(name, name) for name in only or GROUPS]
    for name in groups:
        if name not in GROUPS:
            detail = f"must be one of {', '.join(GROUPS)}; got {name[:60]!r}"
            raise InvalidInput(
                [Problem("/only", "not_a_choice", detail)], "unknown group of faults"
            )

    plan = Plan(
        seed=secrets.randbelow(2**31) if seed is None else seed,
        kills=kills,
        jobs=jobs,
        groups=tuple(groups),
        agents=agents,
        lease_seconds=lease,
        locked_seconds=locked,
        trains=training,
        postgresql=postgresql,
    )
    runner = "the real" if training else "a scripted"
    say(f"seed {plan.seed}: {agents} agents with {runner} runner, lease {lease:g} s")
    outcome = suite.run(plan, say)
    document = report.to_json(outcome)
    if as_json:
        emit(document)
    else:
        show_table(report.HEADERS, report.rows(document["faults"]))
        show()
        show_facts(report.facts(document))
        for kind in ("lost", "run_twice_officially", "old_runner_beside_next", "broken"):
            for finding in document[kind] or ():
                show(f"{kind.replace('_', ' ')}: {finding}", style="red")
    if outcome.logs:
        say(f"Logs and the database are kept in {outcome.logs}.")
    return Exit.OK if outcome.findings.is_clean else Exit.JOB_FAILED
