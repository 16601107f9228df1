"""clone and wait: a job once more with other settings, and the end of jobs for scripts."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.commands.jobs.submit import show_submitted
from ipulse.cli.display.progress import outcome, style_of
from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import (
    Address,
    AsJSON,
    Group,
    JobId,
    Note,
    OneOrMoreJobs,
    Settings,
    Tags,
    addressed,
)
from ipulse.cli.terminal import emit, show
from ipulse.spec.document.file import SpecFile
from ipulse.spec.document.settings import with_settings


@addressed
def clone(
    at: Address,
    job_id: JobId,
    settings: Settings = None,
    tags: Tags = None,
    group: Group = None,
    note: Note = "",
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Follow the job to its end.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Submit the spec of a job once more, with other values where --set says so."""
    with at.connect() as connection:
        job = find_newest(connection, job_id)
        file = SpecFile(f"the spec of {job.id}", job.json["spec"], None)
        spec = with_settings(file, settings or ()).job_spec()
        made = connection.submit(spec, tags=tags or (), group=group, notes=note)
        return show_submitted([made], watch, as_json)


@addressed
def wait(
    at: Address,
    job_ids: OneOrMoreJobs,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="Give up after so long, with exit code 6."),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Wait until jobs have ended, for scripts: exit code 0 if all have succeeded, else 1."""
    ended = []
    with at.connect() as connection:
        for job in [find_newest(connection, job_id) for job_id in job_ids]:
            ended.append(job.wait(timeout, check=False))
            if not as_json:
                show(f"{job.id}  {outcome(job)}", style=style_of(job))
    if as_json:
        emit({"jobs": [job.json for job in ended]})
    return Exit.OK if all(job.succeeded for job in ended) else Exit.JOB_FAILED
