"""edit: names, tags, groups, notes and priorities of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ipulse.cli.commands.jobs.many_jobs import Change, ChosenJobs
from ipulse.cli.commands.jobs.status import print_jobs
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, addressed, with_options
from ipulse.cli.terminal import show
from ipulse.client import BatchResult, JobHandle, JobSelection
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.limits import HIGHEST_PRIORITY, LOWEST_PRIORITY


@addressed
@with_options(ChosenJobs)
def edit(
    chosen: ChosenJobs,
    at: Address,
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="New name, of one job only.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Add this tag. May be repeated.")
    ] = None,
    untag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Remove this tag. May be repeated.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="New group; an empty text: no group.")
    ] = None,
    note: Annotated[
        str | None, typer.Option(metavar="TEXT", help="New notes, in Markdown; not with -q.")
    ] = None,
    priority: Annotated[
        int | None,
        typer.Option(
            min=LOWEST_PRIORITY,
            max=HIGHEST_PRIORITY,
            help="New priority; jobs with a greater one start first.",
        ),
    ] = None,
) -> Exit:
    """Change names, tags, groups, notes or priorities of jobs.

    With --json the job is printed; of several jobs, an object with the list `jobs`; with -q, how
    many were changed. A job that a query finds and that cannot be changed so is left as it is,
    such as the priority of one that has ended.
    """
    if name is not None and (chosen.query is not None or len(chosen.job_ids or ()) > 1):
        detail = "several jobs cannot get one name: give a single id"
        raise InvalidInput([Problem("/name", "several_jobs", detail)], detail)
    if note is not None and chosen.query is not None:
        detail = "notes are of single jobs: give their ids"
        raise InvalidInput([Problem("/note", "several_jobs", detail)], detail)
    if (name, tag, untag, group, note, priority) == (None,) * 6:
        detail = "give --name, --tag, --untag, --group, --note or --priority"
        raise InvalidInput([Problem("", "missing", detail)], "there is nothing to change")
    with at.connect() as connection:

        def one(job: JobHandle) -> JobHandle:
            return job.edit(
                name=name,
                notes=note,
                add_tags=tag or (),
                remove_tags=untag or (),
                group=group,
                priority=priority,
            )

        def many(selection: JobSelection, dry_run: bool) -> BatchResult:
            return connection.edit_all(
                selection,
                add_tags=tag or (),
                remove_tags=untag or (),
                group=group,
                priority=priority,
                dry_run=dry_run,
            )

        return chosen.change(connection, one, Change("edit", "changed", many), _report)


def _report(jobs: Sequence[JobHandle], as_json: bool) -> Exit:
    if as_json:
        return print_jobs(jobs, as_json)
    for job in jobs:
        show(_line(job))
    return Exit.OK


def _line(job: JobHandle) -> str:
    """Return a job's attributes in one line."""
    facts = [f"tags {', '.join(job.json['tags'])}"] if job.json["tags"] else []
    if job.json["group"]:
        facts.append(f"group {job.json['group']}")
    if job.json["priority"]:
        facts.append(f"priority {job.json['priority']}")
    return "  ".join([job.id, job.name, *facts])
