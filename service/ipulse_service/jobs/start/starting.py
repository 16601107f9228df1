"""The job that another one starts from: its checkpoint, to train on, or its weights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select

from ipulse.spec import AnySpec, ExperimentSpec
from ipulse_core import strict_json
from ipulse_core.errors import Conflict, InvalidInput, InvalidSpec, Problem
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_core.spec.start_weights import mismatches
from ipulse_core.spec.upgrade import upgrade
from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import events
from ipulse_service.files.stored import ArtifactRow
from ipulse_service.jobs import artifacts, store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.start import child_names
from ipulse_service.jobs.start.start_file import StartFile, StartMode
from ipulse_service.ops import in_specs

# Fields of a spec that a continued training may change: they do not touch what is trained so far.
_FREE = (
    "/name",
    "/metadata",
    "/device/where",
    "/device/pool",
    "/export",
    "/profile",
    "/training/epochs",
    "/training/checkpoint_epochs",
    "/training/schedule",
)
MAX_PROBLEMS = 20


class NothingToStartFrom(Conflict):
    """The job has no such file to start from."""

    code = "nothing_to_start_from"


@dataclass(frozen=True)
class StartRequest:
    """The job to start from, and how."""

    job_id: str
    mode: StartMode


def resolve(
    transaction: Transaction, request: StartRequest, spec: AnySpec, value: dict[str, Any]
) -> StartFile:
    """Returns the file to start from; its digest is fixed now.

    `spec` is that of the new job, and `value` its JSON.

    Raises NotFound, NothingToStartFrom, and InvalidInput for a spec that does not fit.
    """
    parent = store.get(transaction, request.job_id)
    if not (parent.state.is_terminal or parent.state is JobState.PAUSED):
        raise NothingToStartFrom(
            f"the job {parent.id} is {parent.state.value}: wait for its end, pause or stop it"
        )
    if not isinstance(spec, ExperimentSpec):
        detail = "only the training of a network starts from another job: leave it out"
        raise InvalidInput([Problem("/query/start_from", "inconsistent", detail)])
    former = _spec_of(transaction, parent)
    if request.mode == "weights":
        return _weights(transaction, parent, former, spec)
    found = artifacts.latest_checkpoint(transaction, parent)
    if found is None:
        raise NothingToStartFrom(f"the job {parent.id} has no checkpoint to continue from")
    epoch = checkpoint_epoch(transaction, parent)
    problems = list(_differences(former, value, ""))[:MAX_PROBLEMS]
    epochs = spec.training.epochs
    if epochs <= epoch:
        detail = (
            f"the checkpoint has {epoch:,} epochs already, and this is the number in all: "
            f"got {epochs:,}"
        )
        problems.append(Problem("/training/epochs", "out_of_range", detail))
    if problems:
        raise InvalidInput(problems, "the spec does not continue that of the job")
    name = child_names.next_name(transaction, parent.name, spec.name)
    return replace(_file(parent, "continue", found, epoch), child_name=name)


def _spec_of(transaction: Transaction, parent: JobRow) -> dict[str, Any]:
    """Returns the spec of a training as JSON. Raises NothingToStartFrom for another job."""
    try:
        spec = upgrade(json.loads(store.spec_of(transaction, parent)))
    except InvalidSpec as error:
        raise NothingToStartFrom(f"the job {parent.id} is of a version with other specs") from error
    if spec["kind"] != "training":
        raise NothingToStartFrom(f"the job {parent.id} trains no network")
    return spec


def checkpoint_epoch(transaction: Transaction, job: JobRow) -> int:
    """Returns the whole epochs that a job's last checkpoint has."""
    query = (
        select(events.c.body)
        .where(events.c.job_pk == job.pk, events.c.kind == "checkpoint")
        .order_by(events.c.seq.desc())
        .limit(1)
    )
    body = transaction.connection.execute(query).scalar_one_or_none()
    return 0 if body is None else int(json.loads(body)["epoch"])


def _weights(
    transaction: Transaction, parent: JobRow, former: dict[str, Any], spec: ExperimentSpec
) -> StartFile:
    found = artifacts.of_role(transaction, parent, "weights")
    if found is None:
        raise NothingToStartFrom(
            f"the job {parent.id} has no weights, which are written at its end; "
            "start_mode=continue starts from a checkpoint"
        )
    if spec.network.initial is not None:
        detail = "the weights come from another job: leave this out, or start_from"
        raise InvalidInput([Problem("/network/initial", "inconsistent", detail)])
    ours = in_specs.start_shapes_of(transaction, spec)
    theirs = in_specs.start_shapes_of(transaction, read_spec(former))
    # An op of the other job that was deleted: the worker compares the arrays.
    sentences = [] if ours is None or theirs is None else mismatches(ours, theirs)
    if sentences:
        problems = [Problem("/network", "inconsistent", each) for each in sentences[:MAX_PROBLEMS]]
        raise InvalidInput(problems, f"the weights of {parent.id} do not fit the network")
    return _file(parent, "weights", found, None)


def _file(parent: JobRow, mode: StartMode, found: ArtifactRow, epoch: int | None) -> StartFile:
    return StartFile(
        job=parent.id,
        mode=mode,
        artifact_id=found.id,
        name=found.name,
        role=found.role,
        media_type=found.media_type,
        sha256=found.sha256,
        size=found.size,
        epoch=epoch,
    )


def _differences(before: Any, after: Any, pointer: str) -> Iterator[Problem]:
    """Yields a problem for each field that differs and must not."""
    if pointer in _FREE or before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            inside = f"{pointer}/{strict_json.escape(name)}"
            yield from _differences(before.get(name), after.get(name), inside)
        return
    detail = (
        "it differs from the job that is continued; start_mode=weights takes its weights into "
        "another training"
    )
    yield Problem(pointer, "differs", detail)
