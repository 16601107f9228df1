"""submit and continue: jobs from spec files, and more epochs of jobs that have ended."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ipulse.cli.commands.jobs.programs import has_package, with_package
from ipulse.cli.commands.jobs.watch import follow
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
    SpecPaths,
    Tags,
    addressed,
    with_name,
)
from ipulse.cli.terminal import emit, say, say_folder, show
from ipulse.client import Connection, JobHandle, JobRequest, SpecSource
from ipulse.client.jobs.requests import Spec, each_placed
from ipulse.spec import parse_spec
from ipulse.spec.document.file import SpecFile, read_spec_file
from ipulse.spec.document.settings import spec_of, with_settings
from ipulse_core.errors import InvalidInput, InvalidSpec, Problem
from ipulse_core.ids import short_id
from ipulse_core.limits import HIGHEST_PRIORITY, LOWEST_PRIORITY
from ipulse_core.worker_faults import errors_name


@addressed
def submit(
    at: Address,
    files: SpecPaths,
    settings: Settings = None,
    name: JobName = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Follow the jobs to their ends.")
    ] = False,
    key: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Idempotency key: the same key never creates two jobs."),
    ] = None,
    priority: Annotated[
        int | None,
        typer.Option(
            min=LOWEST_PRIORITY,
            max=HIGHEST_PRIORITY,
            help="Jobs of a higher priority start first.",
        ),
    ] = None,
    queue_seconds: Annotated[
        int | None, typer.Option(min=1, help="Fail if the job waits longer.")
    ] = None,
    run_seconds: Annotated[
        int | None, typer.Option(min=1, help="Fail if the job runs longer.")
    ] = None,
    total_seconds: Annotated[
        int | None, typer.Option(min=1, help="Fail if the job takes longer in all.")
    ] = None,
    tags: Tags = None,
    group: Group = None,
    note: Note = "",
    after: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Queue it when this job has succeeded; ID:end or ID:failure for another end. "
            "May be repeated.",
        ),
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="ID",
            help="Start from this job: train on from its checkpoint, or --start-mode weights.",
        ),
    ] = None,
    start_mode: Annotated[
        Literal["continue", "weights"] | None,
        typer.Option(
            help="continue: the same spec with more epochs; weights: begin another training with "
            "the weights, by the names of layers. [default: continue]"
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Upload this npz file and begin with its weights, as network.initial of the spec.",
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Submit jobs from specs in YAML or JSON: trainings, Poplar programs, or scripts.

    Of several files all jobs are submitted, or none if one has a problem. The specs are checked
    here first, so that problems are reported with their lines; the service keeps their text. The
    ids are printed, and on a terminal the address of a single job's page. With --json the job is
    printed; with --json and --watch every event is one line, and the last line is the job.
    """
    if name is not None and len(files) > 1:
        detail = "several jobs cannot get one name: give a single file"
        raise InvalidInput([Problem("/name", "several_jobs", detail)], detail)
    settings = with_name(settings, name)
    reads = [read_spec_file(file) for file in files]
    trained = _checked(reads, settings)
    if weights is not None and None in trained:
        detail = "a program or script has no network: leave out --weights"
        raise InvalidInput([Problem("/weights", "inconsistent", detail)], detail)
    with at.connect() as connection:
        template = JobRequest(
            {},
            priority=priority,
            queue_seconds=queue_seconds,
            run_seconds=run_seconds,
            total_seconds=total_seconds,
            tags=tags or (),
            group=group,
            notes=note,
            after=[_dependency(connection, text) for text in after or ()],
            start_from=None if start_from is None else find_newest(connection, start_from).id,
            start_mode=start_mode,
        )
        requests = []
        for read, checked in zip(reads, trained, strict=True):
            spec: Spec
            if checked is None:
                spec = with_package(
                    read, settings, partial(connection.push_program, on_folder=say_folder)
                )
            else:
                spec = checked if weights is None else _with_weights(connection, checked, weights)
            source = SpecSource.of_file(with_settings(read, settings) if settings else read)
            requests.append(replace(template, spec=spec, source=source))
        try:
            jobs = connection.submit_all(requests, key)
        except InvalidInput as error:
            raise each_placed(error, lambda at, problem: reads[at].placed(problem)) from None
        return show_submitted(jobs, watch, as_json)


def _checked(
    reads: Sequence[SpecFile], settings: Sequence[str] | None
) -> list[dict[str, Any] | None]:
    """Return the specs of trainings as they were written, None for programs and scripts.

    Raises the problems of all files.
    """
    specs: list[dict[str, Any] | None] = []
    problems: list[Problem] = []
    for read in reads:
        try:
            if has_package(read):
                specs.append(None)
                continue
            spec_of(read, settings)
            specs.append((with_settings(read, settings) if settings else read).value)
        except InvalidSpec as error:
            problems += error.problems
    if problems:
        raise InvalidSpec(problems)
    return specs


def _with_weights(connection: Connection, spec: dict[str, Any], weights: Path) -> dict[str, Any]:
    """Upload weights and return the spec that begins with them."""
    with errors_name(weights):
        digest = connection.upload_weights(weights)
    initial = spec["network"].get("initial") or {}
    if initial.get("sha256") not in (None, digest):
        detail = f"the spec wants {initial['sha256']}, and {weights} is {digest}"
        raise InvalidInput([Problem("/network/initial/sha256", "inconsistent", detail)], detail)
    kept = {name: value for name, value in initial.items() if name == "missing"}
    network = {**spec["network"], "initial": {"upload": digest, **kept}}
    changed = {**spec, "network": network}
    parse_spec(changed)
    return changed


def _dependency(connection: Connection, text: str) -> str:
    """Return a dependency with the full id of its job."""
    reference, colon, on = text.partition(":")
    return f"{find_newest(connection, reference).id}{colon}{on}"


@addressed
def continue_job(
    at: Address,
    job_id: JobId,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs to add.")],
    settings: Settings = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Follow the job to its end.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Train a job that has ended for more epochs, as a new job from its last checkpoint.

    The spec is the same but for the number of epochs and --set, which may change what does not
    touch the training so far: name, schedule, checkpoints, exports. The result is that of one
    longer training, bit for bit, on one kind of device and with a constant learning rate.
    """
    with at.connect() as connection:
        parent = find_newest(connection, job_id)
        if not settings:
            return show_submitted([parent.continue_training(epochs)], watch, as_json)
        done = max((e.fields["epoch"] for e in parent.events(kinds=["checkpoint"])), default=0)
        total = f"/training/epochs={done + epochs}"
        file = SpecFile(f"the spec of {parent.id}", parent.json["spec"], None)
        spec = with_settings(file, [total, *settings]).job_spec()
        more = connection.submit(spec, start_from=parent, start_mode="continue")
        return show_submitted([more], watch, as_json)


def show_submitted(jobs: Sequence[JobHandle], watch: bool, as_json: bool) -> Exit:
    """Print jobs that were just submitted, and follow them where asked."""
    if not as_json:
        for job in jobs:
            show(job.id)
        if sys.stderr.isatty() and len(jobs) == 1:
            say(jobs[0].url)
    if watch:
        return max(follow(job, as_json) for job in jobs)
    if as_json:
        emit(jobs[0].json if len(jobs) == 1 else {"jobs": [job.json for job in jobs]})
    elif sys.stderr.isatty():
        verb = (
            "Follow it: `ipulse watch" if len(jobs) == 1 else "Wait for them: `ipulse watch --quiet"
        )
        say(f"{verb} {' '.join(short_id(job.id) for job in jobs)}`")
    return Exit.OK
