"""cancel and delete: some jobs, or all jobs that pass filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

import typer

from ipulse.cli.commands.jobs.status import print_jobs
from ipulse.cli.exits import Exit
from ipulse.cli.options import (
    Address,
    AsJSON,
    DryRun,
    JobIds,
    JobQuery,
    Yes,
    addressed,
    with_options,
)
from ipulse.cli.terminal import confirm, emit, jobs_text, say, show
from ipulse.client import Artifact, BatchResult, Client, Job, JobSelection
from ipulse.times import time_of
from ipulse_core.errors import Conflict, InvalidInput, Problem

LISTED = 10  # jobs that a question names

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


@dataclass(frozen=True)
class Target:
    """The jobs that a command ends, and whether it asks before."""

    job_ids: JobIds = None
    query: JobQuery = None
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
            query=self.query or "",
            created_after=_time("created_after", self.created_after),
            created_before=_time("created_before", self.created_before),
        )
        has_selection = selection != JobSelection()
        if self.job_ids and (has_selection or self.dry_run):
            detail = "give either ids, or filters"
            raise InvalidInput([Problem("/ID", "id_and_filters", detail)], detail)
        if not self.job_ids and not has_selection and not self.dry_run:
            detail = "give the id of a job, a query, a filter such as --state queued, or --all"
            raise InvalidInput([Problem("/ID", "missing", detail)], detail)
        return selection


@addressed
@with_options(Target)
def cancel(target: Target, at: Address) -> Exit:
    """Cancel jobs, or all jobs that pass the filters. Jobs that have ended do not change."""
    selection = target.selection()
    with at.connect() as client:
        if target.job_ids:
            ids = [client.find_id(job_id) for job_id in target.job_ids]
            return print_jobs([client.cancel(job_id) for job_id in ids], target.as_json)
        return _change("cancel", client.cancel_all, selection, target)


@addressed
@with_options(Target)
def delete(target: Target, at: Address) -> Exit:
    """Delete jobs that have ended, or all such jobs that pass the filters, with their files.

    It asks before, and needs --yes where nobody can be asked.
    """
    selection = target.selection()
    with at.connect() as client:
        if target.job_ids:
            ids = [client.find_id(job_id) for job_id in target.job_ids]
            return _delete_named(client, list(dict.fromkeys(ids)), target)
        return _change("delete", client.delete_all, selection, target)


def _delete_named(client: Client, job_ids: Sequence[str], target: Target) -> Exit:
    found = [(client.get(job_id), client.artifacts(job_id)) for job_id in job_ids]
    lines = [_described(job, files) for job, files in found]
    for job, _ in found:
        if not job.state.is_terminal:
            raise Conflict(f"{job.id} is {job.state.value}: cancel it before you delete it")
    confirm("delete", _listed(lines), target.yes)
    deleted = []
    for (job, files), line in zip(found, lines, strict=True):
        client.delete(job.id)
        size = sum(file.size for file in files)
        deleted.append({"deleted": job.id, "name": job.name, "files": len(files), "bytes": size})
        if not target.as_json:
            show(f"deleted {line}")
    if target.as_json:
        emit(deleted[0] if len(deleted) == 1 else {"jobs": deleted})
    return Exit.OK


def _described(job: Job, files: Sequence[Artifact]) -> str:
    name = f" {job.name}" if job.name else ""
    size = sum(file.size for file in files)
    return f"{job.id}{name} ({job.state.value}), {len(files)} files, {size:,} bytes"


def _listed(lines: Sequence[str]) -> str:
    """Return one line as it is, and several below their number."""
    if len(lines) == 1:
        return lines[0]
    more = [f"  and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    shown = [f"  {line}" for line in lines[:LISTED]]
    return "\n".join([f"{jobs_text(len(lines))}:", *shown, *more])


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
                show(jobs_text(counted.matched) + (f": {found}" if found else ""))
            return Exit.OK
        if not counted.matched:
            say("No job passes the filters.")
        else:
            confirm(verb, f"{jobs_text(counted.matched)} ({found})", target.yes)
        if selection.created_before is None:  # only what was counted
            selection = replace(selection, created_before=counted.as_of)
    result = change(selection, False)
    if target.as_json:
        emit(result.json)
    else:
        done = {"cancel": "cancelled", "delete": "deleted"}[verb]
        show(f"{jobs_text(result.changed)} {done}, {result.unchanged:,} left unchanged")
    return Exit.OK


def _time(name: str, text: str | None) -> datetime | None:
    """Read a time; without a time zone it is local."""
    if text is None:
        return None
    try:
        return time_of(text)
    except ValueError:
        detail = f"must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z; got {text[:60]!r}"
        raise InvalidInput([Problem(f"/{name}", "wrong_form", detail)], "no such time") from None
