"""edit: names, tags, groups, notes and priorities of jobs."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.job_reference import find_job
from ipulse.cli.options import Address, AsJSON, JobIds, addressed
from ipulse.cli.terminal import emit, show
from ipulse.client import Job
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.limits import HIGHEST_PRIORITY, LOWEST_PRIORITY


@addressed
def edit(
    at: Address,
    job_ids: JobIds = None,
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
        str | None, typer.Option(metavar="TEXT", help="New notes, in Markdown.")
    ] = None,
    priority: Annotated[
        int | None,
        typer.Option(
            min=LOWEST_PRIORITY,
            max=HIGHEST_PRIORITY,
            help="New priority; jobs with a greater one start first.",
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Change names, tags, groups, notes or priorities of jobs.

    With --json the job is printed; of several jobs, an object with the list `jobs`.
    """
    if not job_ids:
        detail = "give the id of a job"
        raise InvalidInput([Problem("/ID", "missing", detail)], detail)
    if name is not None and len(job_ids) > 1:
        detail = "several jobs cannot get one name: give a single id"
        raise InvalidInput([Problem("/name", "several_jobs", detail)], detail)
    if (name, tag, untag, group, note, priority) == (None,) * 6:
        detail = "give --name, --tag, --untag, --group, --note or --priority"
        raise InvalidInput([Problem("", "missing", detail)], "there is nothing to change")
    with at.connect() as client:
        found = [find_job(client, job_id) for job_id in job_ids]
        edited = []
        for job_id in found:
            job = client.edit(
                job_id,
                name=name,
                notes=note,
                add_tags=tag or (),
                remove_tags=untag or (),
                group=group,
                priority=priority,
            )
            edited.append(job)
            if not as_json:
                show(_line(job))
    if as_json:
        emit(edited[0].json if len(edited) == 1 else {"jobs": [job.json for job in edited]})
    return Exit.OK


def _line(job: Job) -> str:
    """Return a job's attributes in one line."""
    facts = [f"tags {', '.join(job.json['tags'])}"] if job.json["tags"] else []
    if job.json["group"]:
        facts.append(f"group {job.json['group']}")
    if job.json["priority"]:
        facts.append(f"priority {job.json['priority']}")
    return "  ".join([job.id, job.name, *facts])
