"""cancel and delete: one job, or all jobs that pass filters."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

import typer

from ipulse.cli.commands.jobs import print_job
from ipulse.cli.completing import complete_job
from ipulse.cli.exits import Exit
from ipulse.cli.job_reference import find_job
from ipulse.cli.options import JOB_HELP, Address, AsJSON, addressed, with_options
from ipulse.cli.terminal import emit, say, show
from ipulse.client import BatchResult, Client, JobSelection
from ipulse.client.resources import time_of
from ipulse_core.errors import InvalidInput, Problem

OneJob = Annotated[
    str | None,
    typer.Argument(metavar="[ID]", help=JOB_HELP, show_default=False, autocompletion=complete_job),
]
States = Annotated[
    list[str] | None, typer.Option("--state", metavar="STATE", help="All jobs in this state.")
]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", metavar="KIND", help="All jobs for this kind of device."),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=VALUE", help="All jobs with this metadata."),
]
Fields = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="POINTER=VALUE", help="All jobs with this value in the spec."),
]
CreatedAfter = Annotated[
    str | None, typer.Option(metavar="TIME", help="All jobs submitted at this time or later.")
]
CreatedBefore = Annotated[
    str | None, typer.Option(metavar="TIME", help="All jobs submitted before this time.")
]
Every = Annotated[bool, typer.Option("--all", help="All jobs, if there is no filter.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count the jobs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@dataclass(frozen=True)
class Target:
    """The job or the jobs that a command ends, and whether it asks before."""

    job_id: OneJob = None
    state: States = None
    device: Devices = None
    label: Labels = None
    field: Fields = None
    created_after: CreatedAfter = None
    created_before: CreatedBefore = None
    every: Every = False
    dry_run: DryRun = False
    yes: Yes = False
    as_json: AsJSON = False

    def selection(self) -> JobSelection:
        """Return the jobs that pass the filters.

        Raises:
            InvalidInput: Unless there is either an id or a selection.
        """
        selection = JobSelection(
            states=tuple(self.state or ()),
            devices=tuple(self.device or ()),
            labels=tuple(self.label or ()),
            fields=tuple(self.field or ()),
            every=self.every,
            created_after=_time("created_after", self.created_after),
            created_before=_time("created_before", self.created_before),
        )
        has_selection = selection != JobSelection()
        if self.job_id is not None and (has_selection or self.dry_run):
            detail = "give either an id, or filters"
            raise InvalidInput([Problem("/ID", "id_and_filters", detail)], detail)
        if self.job_id is None and not has_selection and not self.dry_run:
            detail = "give the id of a job, a filter such as --state queued, or --all"
            raise InvalidInput([Problem("/ID", "missing", detail)], detail)
        return selection


@addressed
@with_options(Target)
def cancel(target: Target, at: Address) -> Exit:
    """Cancel a job, or all jobs that pass the filters. Jobs that have ended do not change."""
    selection = target.selection()
    with at.connect() as client:
        if target.job_id is not None:
            return print_job(client.cancel(find_job(client, target.job_id)), target.as_json)
        return _change("cancel", client.cancel_all, selection, target)


@addressed
@with_options(Target)
def delete(target: Target, at: Address) -> Exit:
    """Delete a job that has ended, or all such jobs that pass the filters, with their files."""
    selection = target.selection()
    with at.connect() as client:
        if target.job_id is not None:
            return _delete_one(client, find_job(client, target.job_id), target.as_json)
        return _change("delete", client.delete_all, selection, target)


def _delete_one(client: Client, job_id: str, as_json: bool) -> Exit:
    job = client.get(job_id)
    files = client.artifacts(job_id)
    client.delete(job_id)
    size = sum(file.size for file in files)
    if as_json:
        emit({"deleted": job.id, "name": job.name, "files": len(files), "bytes": size})
    else:
        name = f" {job.name}" if job.name else ""
        show(f"deleted {job.id}{name} ({job.state.value}), {len(files)} files, {size:,} bytes")
    return Exit.OK


def _change(
    verb: str,
    change: Callable[[JobSelection, bool], BatchResult],
    selection: JobSelection,
    target: Target,
) -> Exit:
    if target.dry_run or not target.yes:
        counted = change(selection, True)
        found = ", ".join(f"{count:,} {state}" for state, count in counted.by_state.items())
        if target.dry_run:
            if target.as_json:
                emit(counted.json)
            else:
                show(_jobs(counted.matched) + (f": {found}" if found else ""))
            return Exit.OK
        if not counted.matched:
            say("No job passes the filters.")
        elif not sys.stdin.isatty():
            detail = f"{_jobs(counted.matched)} would change, and nobody can be asked: add --yes"
            raise InvalidInput([Problem("/yes", "not_confirmed", detail)], "not confirmed")
        elif not _confirmed(f"{verb} {_jobs(counted.matched)} ({found})?"):
            say("Nothing was changed.")
            return Exit.INTERRUPTED
        if selection.created_before is None:  # only what was counted
            selection = replace(selection, created_before=counted.as_of)
    result = change(selection, False)
    if target.as_json:
        emit(result.json)
    else:
        done = {"cancel": "cancelled", "delete": "deleted"}[verb]
        show(f"{_jobs(result.changed)} {done}, {result.unchanged:,} left unchanged")
    return Exit.OK


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"


def _confirmed(question: str) -> bool:
    """Ask on standard error, because standard output is for the result."""
    say(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _time(name: str, text: str | None) -> datetime | None:
    """Read a time; without a time zone it is local."""
    if text is None:
        return None
    try:
        return time_of(text)
    except ValueError:
        detail = f"must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z; got {text[:60]!r}"
        raise InvalidInput([Problem(f"/{name}", "wrong_form", detail)], "no such time") from None
