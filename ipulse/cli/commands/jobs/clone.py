"""clone: a job once more with other settings."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.commands.jobs.submit import show_submitted
from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import (
    Address,
    AsJSON,
    Group,
    JobId,
    JobName,
    Note,
    Settings,
    Tags,
    addressed,
    with_name,
)
from ipulse.spec.document.file import SpecFile
from ipulse.spec.document.settings import with_settings


@addressed
def clone(
    at: Address,
    job_id: JobId,
    settings: Settings = None,
    name: JobName = None,
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
        spec = with_settings(file, with_name(settings, name)).job_spec()
        made = connection.submit(spec, tags=tags or (), group=group, notes=note)
        return show_submitted([made], watch, as_json)
