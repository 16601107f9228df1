"""submit and continue: jobs from spec files, and more epochs of jobs that have ended."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer

from ipulse.cli.commands.jobs.programs import is_program, program_of
from ipulse.cli.commands.jobs.watch import follow
from ipulse.cli.exits import Exit
from ipulse.cli.options import (
    Address,
    AsJSON,
    Group,
    JobId,
    Note,
    Settings,
    SpecPath,
    Tags,
    addressed,
)
from ipulse.cli.pages import job_address
from ipulse.cli.terminal import emit, say, short_id, show
from ipulse.client import Client, Job
from ipulse.spec import (
    AnySpec,
    ExperimentSpec,
    parse_spec,
    spec_to_json,
)
from ipulse.spec.document.file import read_spec_file
from ipulse.spec.document.settings import spec_of
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.limits import HIGHEST_PRIORITY, LOWEST_PRIORITY
from ipulse_core.worker_faults import errors_name


@addressed
def submit(
    at: Address,
    file: SpecPath,
    settings: Settings = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Follow the job to its end.")
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
    """Submit a job from a spec in YAML or JSON: a training, or a Poplar program.

    The spec is checked here first, so that problems are reported with their lines. The id is
    printed, and on a terminal the address of the job's page. With --json the
    job is printed; with --json and --watch every event is one line, and the last line is the job.
    """
    read = read_spec_file(file)
    with ExitStack() as stack:
        spec: AnySpec
        if is_program(read):
            if weights is not None:
                detail = "a program has no network: leave out --weights"
                raise InvalidInput([Problem("/weights", "inconsistent", detail)], detail)
            client = stack.enter_context(at.connect())
            spec = program_of(read, settings, client.push_program)
        else:
            trained = spec_of(read, settings)
            client = stack.enter_context(at.connect())
            spec = trained if weights is None else _with_weights(client, trained, weights)
        job = client.submit(
            spec,
            key,
            priority=priority,
            queue_seconds=queue_seconds,
            run_seconds=run_seconds,
            total_seconds=total_seconds,
            tags=tags or (),
            group=group,
            notes=note,
            after=[_dependency(client, text) for text in after or ()],
            start_from=None if start_from is None else client.find_id(start_from),
            start_mode=start_mode,
        )
        return show_submitted(client, job, watch, as_json)


def _with_weights(client: Client, spec: ExperimentSpec, weights: Path) -> ExperimentSpec:
    """Upload weights and return the spec that begins with them."""
    with errors_name(weights):
        digest = client.upload_weights(weights)
    initial = spec.network.initial
    if initial is not None and initial.sha256 not in (None, digest):
        detail = f"the spec wants {initial.sha256}, and {weights} is {digest}"
        raise InvalidInput([Problem("/network/initial/sha256", "inconsistent", detail)], detail)
    document = spec_to_json(spec)
    missing = {} if initial is None else {"missing": initial.missing}
    document["network"]["initial"] = {"upload": digest, **missing}
    return parse_spec(document)


def _dependency(client: Client, text: str) -> str:
    """Return a dependency with the full id of its job."""
    reference, colon, on = text.partition(":")
    return f"{client.find_id(reference)}{colon}{on}"


@addressed
def continue_job(
    at: Address,
    job_id: JobId,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs to add.")],
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Follow the job to its end.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Train a job that has ended for more epochs, as a new job from its last checkpoint.

    The spec is the same but for the number of epochs. The result is that of one longer training,
    bit for bit, on one kind of device and with a constant learning rate.
    """
    with at.connect() as client:
        job = client.continue_training(client.find_id(job_id), epochs)
        return show_submitted(client, job, watch, as_json)


def show_submitted(client: Client, job: Job, watch: bool, as_json: bool) -> Exit:
    """Print a job that was just submitted, and follow it where asked."""
    if not as_json:
        show(job.id)
        if sys.stderr.isatty():
            say(job_address(client, job.id))
    if watch:
        return follow(client, job, as_json)
    if as_json:
        emit(job.json)
    elif sys.stderr.isatty():
        say(f"Follow it: `ipulse watch {short_id(job.id)}`")
    return Exit.OK
