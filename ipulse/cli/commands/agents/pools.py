"""pool: sets of workers, and the projects that may use them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from enum import StrEnum
from typing import Annotated, Any

import typer

from ipulse.cli.commands.agents.agents import labels_text, parse_labels
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Wide, Yes, addressed, parse_time
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import confirm, emit, minute_text, show, show_done
from ipulse.client import Pool
from ipulse_core.errors import InvalidInput, Problem


class Preemption(StrEnum):
    """Which jobs may make others stop."""

    NEVER = "never"
    PRIORITY = "priority"
    SHARE = "share"


PoolName = Annotated[
    str, typer.Argument(metavar="POOL", help="Name of the pool.", show_default=False)
]
Description = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What it is for.", show_default=False)
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=VALUE,...",
        help="Workers that have all of these labels are in it.",
        show_default=False,
    ),
]
Agents = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,...",
        help="Workers that are in it with any labels; pod-* stands for all such names.",
        show_default=False,
    ),
]
Projects = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,...",
        help="Only these projects may use it; `all` lifts that.",
        show_default=False,
    ),
]
Preempt = Annotated[
    Preemption | None,
    typer.Option(
        help="Which jobs may make others stop at their next checkpoint and return to the queue. "
        "priority: those of a higher priority; share: these, and those of a project that uses "
        "fewer devices than its share.",
        show_default=False,
    ),
]


@addressed
def create_pool(
    at: Address,
    name: PoolName,
    description: Description = None,
    labels: Labels = None,
    agents: Agents = None,
    projects: Projects = None,
    preemption: Preempt = None,
    as_json: AsJSON = False,
) -> Exit:
    """Create a pool of workers. For administrators.

    A job runs in the pool that its spec names (`--set device.pool=POOL`), else in `default`, which
    has all workers that no other pool has.
    """
    given = _given(description, labels, agents, projects, preemption)
    with at.connect() as connection:
        pool = connection.create_pool(name, **given)
    return _show_change("created", pool, as_json)


@addressed
def list_pools(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the pools, their workers, and the projects that may use them."""
    with at.connect() as connection:
        pools = connection.pools()
    rows = [
        (
            pool.name,
            ",".join(pool.members),
            "all" if pool.projects is None else ",".join(pool.projects),
            pool.preemption,
            labels_text(pool.labels),
            ",".join(pool.agents),
            pool.description,
        )
        for pool in pools
    ]
    headers = ["POOL", "WORKERS", "PROJECTS", "PREEMPTION", "LABELS", "AGENTS", "DESCRIPTION"]
    show_list("pools", [pool.json for pool in pools], headers, rows, as_json, wide)
    return Exit.OK


@addressed
def edit_pool(
    at: Address,
    name: PoolName,
    description: Description = None,
    labels: Labels = None,
    agents: Agents = None,
    projects: Projects = None,
    preemption: Preempt = None,
    as_json: AsJSON = False,
) -> Exit:
    """Change the workers of a pool, or the projects that may use it. For administrators.

    An option replaces what was there; an empty text removes it. Jobs that run go on.
    """
    given = _given(description, labels, agents, projects, preemption)
    if not given:
        detail = "give at least one option: there is nothing to change"
        raise InvalidInput([Problem("", "nothing_to_change", detail)], detail)
    with at.connect() as connection:
        pool = connection.change_pool(name, given)
    return _show_change("changed", pool, as_json)


@addressed
def delete_pool(at: Address, name: PoolName, yes: Yes = False, as_json: AsJSON = False) -> Exit:
    """Delete a pool for which no job asks; its workers are in others then."""
    confirm("delete", f"the pool {name}", yes)
    with at.connect() as connection:
        connection.delete_pool(name)
    show_done("deleted", name, as_json)
    return Exit.OK


@addressed
def reserve(
    at: Address,
    name: PoolName,
    project: Annotated[
        str, typer.Option(metavar="PROJECT", help="The project that gets them.", show_default=False)
    ],
    agents: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="N", help="How many workers.")
    ] = 1,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Such as 2026-02-01T09:00, in your time zone. [default: now]",
            show_default=False,
        ),
    ] = None,
    hours: Annotated[
        float, typer.Option(min=0.01, max=8784, metavar="HOURS", help="How long.")
    ] = 1.0,
    as_json: AsJSON = False,
) -> Exit:
    """Let workers of a pool run only the jobs of one project for a while. For administrators.

    Other jobs start on them only if they are expected to end before. Those that run go on, unless
    the pool allows preemption.
    """
    starts_at = parse_time("from", begin)
    first = starts_at or datetime.now(timezone.utc)
    with at.connect() as connection:
        made = connection.reserve(
            name, project, agents, starts_at=starts_at, ends_at=first + timedelta(hours=hours)
        )
    if as_json:
        emit(made.json)
    else:
        workers = "1 worker" if agents == 1 else f"{agents} workers"
        span = f"{minute_text(made.starts_at)} to {minute_text(made.ends_at)}"
        show(f"{made.id}: {workers} of the pool {name} for the project {project}, {span}")
    return Exit.OK


@addressed
def list_reservations(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the reservations that are not over."""
    with at.connect() as connection:
        found = connection.reservations()
    rows = [
        (
            each.id,
            each.pool,
            each.project or "another",
            str(each.agents),
            minute_text(each.starts_at),
            minute_text(each.ends_at),
        )
        for each in found
    ]
    headers = ["ID", "POOL", "PROJECT", "WORKERS", "FROM", "TO"]
    show_list("reservations", [each.json for each in found], headers, rows, as_json, wide)
    return Exit.OK


@addressed
def release(
    at: Address,
    reservation_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the reservation.", show_default=False)
    ],
    as_json: AsJSON = False,
) -> Exit:
    """End a reservation at once."""
    with at.connect() as connection:
        connection.end_reservation(reservation_id)
    show_done("released", reservation_id, as_json)
    return Exit.OK


def _given(
    description: str | None,
    labels: str | None,
    agents: str | None,
    projects: str | None,
    preemption: Preemption | None,
) -> dict[str, Any]:
    given: dict[str, Any] = {
        "description": description,
        "labels": None if labels is None else parse_labels(labels),
        "agents": None if agents is None else _names(agents),
        "preemption": None if preemption is None else preemption.value,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if projects is not None:
        given["projects"] = None if projects == "all" else _names(projects)
    return given


def _names(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]


def _show_change(done: str, pool: Pool, as_json: bool) -> Exit:
    if as_json:
        emit(pool.json)
    else:
        members = ", ".join(pool.members) or "no worker yet"
        show(f"{done} the pool {pool.name}: {members}")
    return Exit.OK
