"""sweep pause, resume, retry, stop, extend and delete."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ipulse.cli.completing import complete_setting
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Yes, addressed
from ipulse.cli.sweep_reference import SweepId, find_sweep
from ipulse.cli.terminal import confirm, show_done
from ipulse.client import JobSelection
from ipulse.sweeps import RunningJobs, parse_sweep
from ipulse.sweeps.file import varied

from .show import print_sweep


@addressed
def pause_sweep(at: Address, sweep: SweepId, as_json: AsJSON = False) -> Exit:
    """Begin no more trials for now; those that have begun continue."""
    with at.connect() as connection:
        return print_sweep(find_sweep(connection, sweep).pause(), as_json)


@addressed
def resume_sweep(at: Address, sweep: SweepId, as_json: AsJSON = False) -> Exit:
    """Begin trials of a paused sweep again."""
    with at.connect() as connection:
        return print_sweep(find_sweep(connection, sweep).resume(), as_json)


@addressed
def retry_sweep(
    at: Address,
    sweep: SweepId,
    failed: Annotated[
        bool, typer.Option("--failed", help="Jobs that failed. [default, if nothing else is given]")
    ] = False,
    deleted: Annotated[bool, typer.Option("--deleted", help="Jobs that were deleted.")] = False,
    trials: Annotated[
        list[int] | None,
        typer.Option(
            "--trial",
            metavar="N",
            min=1,
            help="All of this trial that failed, was cancelled or was deleted. May be repeated.",
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Repeat a part of a sweep: the trials keep their numbers.

    A job that failed is retried under its id, from its last checkpoint; another job takes the place
    of one that was cancelled or deleted. Failed trials get jobs of seeds that were added since.
    """
    with at.connect() as connection:
        found = find_sweep(connection, sweep)
        repeated = found.retry(failed=failed, deleted=deleted, trials=trials or ())
        return print_sweep(repeated, as_json)


@addressed
def stop_sweep(
    at: Address,
    sweep: SweepId,
    running: Annotated[
        RunningJobs,
        typer.Option(
            help="Jobs that run: keep them to their end, finish them now with their results, or "
            "cancel them."
        ),
    ] = "keep",
    as_json: AsJSON = False,
) -> Exit:
    """Begin no more trials, and cancel those that wait."""
    with at.connect() as connection:
        return print_sweep(find_sweep(connection, sweep).stop(running), as_json)


@addressed
def extend_sweep(
    at: Address,
    sweep: SweepId,
    trials: Annotated[int | None, typer.Option(min=1, help="Number of trials in all.")] = None,
    parallel: Annotated[int | None, typer.Option(min=1, help="Trials at the same time.")] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=V1,V2",
            help="More values of a setting of a grid.",
            autocompletion=complete_setting,
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=100, help="Jobs of each trial in all.")
    ] = None,
    run_seconds: Annotated[
        int | None,
        typer.Option(min=1, help="Another limit of its time; it counts from the continuation."),
    ] = None,
    device_hours: Annotated[
        float | None, typer.Option(min=0, help="Another limit of the device hours in all.")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Another value of the objective that is good enough.")
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Add trials, values of a grid or seeds, or change limits; a sweep that has ended continues.

    A sweep that reached its device hours or its target needs another one to continue. Further
    seeds are added to the trials that have succeeded, or run, or begin later.
    """
    with at.connect() as connection:
        found = find_sweep(connection, sweep)
        config = parse_sweep(found.json["config"])
        values: dict[str, list[Any]] = {}
        for text in vary or ():
            name, parameter = varied(config.spec, text)
            values.setdefault(name, []).extend(parameter.get("values", ()))
        has = config.all_seeds
        more = [max(has) + number for number in range(1, (seeds or 0) - len(has) + 1)]
        given = {"run_seconds": run_seconds, "device_hours": device_hours, "target": target}
        changes = {name: value for name, value in given.items() if value is not None}
        changed = found.extend(
            trials,
            parallel,
            values=values,
            seeds=more,
            limits={**config.limits.model_dump(), **changes} if changes else None,
        )
    return print_sweep(changed, as_json)


@addressed
def delete_sweep(
    at: Address,
    sweep: SweepId,
    jobs: Annotated[bool, typer.Option("--jobs", help="Delete its jobs, too.")] = False,
    yes: Yes = False,
    as_json: AsJSON = False,
) -> Exit:
    """Delete a sweep that has ended. Its jobs stay, unless --jobs is given."""
    with at.connect() as connection:
        found = find_sweep(connection, sweep)
        what = f"{found.id} ({found.name})" + (" and its jobs" if jobs else "")
        confirm("delete", what, yes)
        if jobs and found.status.has_ended:
            connection.change_all("delete", JobSelection(query=f"group:{found.id}"))
        found.delete()
    show_done("deleted", found.id, as_json)
    return Exit.OK
