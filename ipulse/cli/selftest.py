"""selftest: breaks a stack of its own on purpose and says what was lost."""

from __future__ import annotations

import secrets
from typing import Annotated, List, Optional

import typer

from ipulse_core.errors import InvalidInput, Problem
from ipulse_service.selftest import GROUPS

from .exits import Exit
from .options import AsJSON
from .terminal import emit, say, show, show_facts, show_table


def selftest(
    faults: Annotated[bool, typer.Option("--faults", help="Yes, break things.")] = False,
    kills: Annotated[
        int, typer.Option(min=0, max=10_000, help="How often SIGKILL strikes some part.")
    ] = 100,
    jobs: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000_000,
            help="How many are submitted at least; the kills spread over them.",
        ),
    ] = 0,
    seed: Annotated[
        Optional[int], typer.Option(min=0, help="Of all that is left to chance. [default: any]")
    ] = None,
    only: Annotated[
        Optional[List[str]],
        typer.Option(metavar="GROUP", help=f"One of {', '.join(GROUPS)}; may be repeated."),
    ] = None,
    training: Annotated[
        bool, typer.Option("--training", help="Really train, instead of a scripted runner.")
    ] = False,
    postgresql: Annotated[
        bool,
        typer.Option("--postgresql", help="On a PostgreSQL of its own, with a standby."),
    ] = False,
    agents: Annotated[int, typer.Option(min=2, max=64, help="How many take jobs.")] = 4,
    lease: Annotated[float, typer.Option(min=1, help="Seconds an agent may be silent.")] = 15.0,
    locked: Annotated[
        float, typer.Option(min=1, help="Seconds for which the database is locked.")
    ] = 30.0,
    as_json: AsJSON = False,
) -> Exit:
    """Break a stack of its own and count what is lost.

    It runs in a temporary folder and touches no other stack: parts are killed, stopped and
    started again, disks fill up, messages are forged, while jobs are submitted. It ends with 1
    if an accepted job was lost or run twice, or another promise was broken.
    """
    if not faults:
        detail = "is the one test there is: ipulse selftest --faults"
        raise InvalidInput([Problem("/faults", "missing", detail)], "nothing to test")
    for name in only or ():
        if name not in GROUPS:
            detail = f"must be one of {', '.join(GROUPS)}; got {name[:60]!r}"
            raise InvalidInput([Problem("/only", "not_a_choice", detail)], "no such faults")
    from ipulse_service.selftest import (  # what starts a stack is of no use to other commands
        report,
        suite,
    )

    plan = suite.Plan(
        seed=secrets.randbelow(2**31) if seed is None else seed,
        kills=kills,
        jobs=jobs,
        groups=tuple(only or GROUPS),
        agents=agents,
        lease_seconds=lease,
        locked_seconds=locked,
        trains=training,
        postgresql=postgresql,
    )
    runner = "the real" if training else "a scripted"
    say(f"seed {plan.seed}: {agents} agents with {runner} runner, a lease of {lease:g} s")
    outcome = suite.run(plan, say)
    told = report.to_json(outcome)
    if as_json:
        emit(told)
    else:
        show_table(report.HEADERS, report.rows(told["faults"]))
        show()
        show_facts(report.facts(told))
        for kind in ("lost", "run_twice_officially", "old_runner_beside_next", "broken"):
            for one in told[kind] or ():
                show(f"{kind.replace('_', ' ')}: {one}", style="red")
    if outcome.logs:
        say(f"Logs and database are kept in {outcome.logs}.")
    return Exit.OK if outcome.findings.is_clean else Exit.JOB_FAILED
