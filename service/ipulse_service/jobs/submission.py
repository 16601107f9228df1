"""Submission of a job: one transaction stores its row, idempotency key and wake-up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ipulse.spec import AnySpec, ExperimentSpec, spec_to_json
from ipulse.spec.tile_fit import check_fit, tile_fit
from ipulse_core import strict_json
from ipulse_core.errors import Conflict, InvalidInput, InvalidSpec, NotFound, Problem
from ipulse_core.quotas import Quota
from ipulse_core.spec.upgrade import chosen
from ipulse_service.agents.needs import Needs
from ipulse_service.datasets import references
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.jobs import dependencies, idempotency, outbox, submitted_text, transitions
from ipulse_service.jobs.dependencies import Dependency
from ipulse_service.jobs.idempotency import Replay
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.job_view import JobView
from ipulse_service.jobs.queue import admission
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.jobs.search import settings_index
from ipulse_service.jobs.start import starting, uploaded_files
from ipulse_service.jobs.start.start_file import StartFile
from ipulse_service.jobs.start.starting import StartRequest
from ipulse_service.jobs.submitted_text import SubmittedText
from ipulse_service.ops import in_specs, job_ops
from ipulse_service.quotas import store as quotas

_DEFAULT_OPTIONS = SchedulingOptions()
_NO_ATTRIBUTES = JobAttributes()


@dataclass(frozen=True)
class ResolvedSpec:
    """A spec with all defaults: the model, its JSON, the canonical text, and the text's SHA-256."""

    spec: AnySpec
    value: dict[str, Any]
    text: str
    sha256: str

    @cached_property
    def needs(self) -> Needs:
        """What an agent must have for it."""
        return Needs.of_spec(self.spec)

    @cached_property
    def settings(self) -> dict[str, dict[str, Any]]:
        """The columns of its settings in the index, by name."""
        return settings_index.rows_of(self.value)


@dataclass(frozen=True)
class Submission:
    """A job that a client wants: its spec, its attributes, and what it waits for or starts from."""

    resolved: ResolvedSpec
    options: SchedulingOptions = _DEFAULT_OPTIONS
    attributes: JobAttributes = _NO_ATTRIBUTES
    start: StartRequest | None = None
    after: tuple[Dependency, ...] = ()
    text: SubmittedText | None = None  # the client's own; comments do not make another job

    def chosen(self) -> dict[str, Any]:
        """Returns what makes this job another than one with defaults, as JSON.

        Defaults are left out, so that another version, which has more of them, returns the same.
        """
        return {
            "spec": chosen(self.resolved.value),
            **_chosen_fields(self.options),
            **_chosen_fields(self.attributes),
            **({} if self.start is None else {"start": _chosen_fields(self.start)}),
            **({"after": [_chosen_fields(one) for one in self.after]} if self.after else {}),
        }


@dataclass(frozen=True)
class Submitted:
    """The job of a submission, and whether an earlier request with the same key created it."""

    view: JobView
    replay: Replay

    @property
    def job(self) -> JobRow:
        """The row of the job."""
        return self.view.job


def resolve(spec: AnySpec) -> ResolvedSpec:
    """Returns the spec with all defaults filled in."""
    value = spec_to_json(spec)
    text = strict_json.dumps(value)
    return ResolvedSpec(spec, value, text, hashlib.sha256(text.encode()).hexdigest())


def with_data(transaction: Transaction, resolved: ResolvedSpec) -> ResolvedSpec:
    """Returns the spec with the digest of its uploaded data in place of their name.

    Raises what `references.resolve` raises.
    """
    spec = references.resolve(transaction, resolved.spec, resolved.value)
    return resolved if spec is resolved.spec else resolve(spec)


def submit(database: Database, submission: Submission, caller: str, key: str | None) -> Submitted:
    """Stores a job once. The same key from the same caller returns the same job for a day.

    Raises what `submit_all` raises.
    """
    jobs, replay = _once(
        database, [submission], caller, key, lambda transaction: [_store(transaction, submission)]
    )
    return Submitted(jobs[0], replay)


def submit_all(
    database: Database, submissions: Sequence[Submission], caller: str, key: str | None
) -> tuple[list[JobView], Replay]:
    """Stores several jobs in one transaction; returns them, and whether the key was used before.

    Raises `idempotency.KeyInUse` while another request with that key is under way, KeyReused if
    the key was used for other jobs, and what `starting.resolve`, `admission.check` and
    `dependencies.unmet` raise; of several jobs all problems, with the pointer of each job.
    """
    return _once(
        database, submissions, caller, key, lambda transaction: _store_all(transaction, submissions)
    )


def _once(
    database: Database,
    submissions: Sequence[Submission],
    caller: str,
    key: str | None,
    store: Callable[[Transaction], list[JobView]],
) -> tuple[list[JobView], Replay]:
    for submission in submissions:
        if isinstance(submission.resolved.spec, ExperimentSpec):
            tile_fit(submission.resolved.spec)  # it is kept: all writers wait for the transaction
        _ = submission.resolved.settings, submission.resolved.needs  # as well
    wanted = [submission.chosen() for submission in submissions] if key is not None else []
    return idempotency.once(database, caller, key, wanted, store)


def _chosen_fields(part: Any) -> dict[str, Any]:
    """Returns the fields of a dataclass that differ from their defaults."""
    values = asdict(part)
    return {one.name: values[one.name] for one in fields(part) if values[one.name] != one.default}


def _store_all(transaction: Transaction, submissions: Sequence[Submission]) -> list[JobView]:
    """Stores jobs in order. Raises the problems of all of them, or the error of the only one."""
    made: dict[str, str] = {}  # ids by the pointer of the job in the request
    jobs: list[JobView] = []
    problems: list[Problem] = []
    for index, submission in enumerate(submissions):
        place = dependencies.job_pointer(index)
        if any(one.job_id.startswith("/") and one.job_id not in made for one in submission.after):
            continue  # after a job that has a problem
        try:
            view = _store(transaction, submission, made)
        except InvalidInput as error:
            placed = [dependencies.placed(place, problem) for problem in error.problems]
            if len(submissions) == 1:
                raise type(error)(placed, error.message) from None
            problems += placed
        except (Conflict, NotFound) as error:
            if len(submissions) == 1:
                raise
            problems.append(Problem(place, error.code, error.message))
        else:
            made[place] = view.job.id
            jobs.append(view)
    if problems:
        raise InvalidSpec(problems)
    return jobs


def _store(
    transaction: Transaction, submission: Submission, made: Mapping[str, str] = MappingProxyType({})
) -> JobView:
    """Stores one job; `made` has the ids of those that it may name by their pointers."""
    after = [replace(one, job_id=made.get(one.job_id, one.job_id)) for one in submission.after]
    resolved = with_data(transaction, submission.resolved)
    file = None
    if submission.start is not None:
        file = starting.resolve(transaction, submission.start, resolved.spec, resolved.value)
    options, attributes = submission.options, submission.attributes
    job = _store_whole(transaction, resolved, options, attributes, file, after)
    if submission.text is not None:
        submitted_text.add(transaction, job, submission.text)
    return JobView(job, resolved.text)


def check_admission(transaction: Transaction, resolved: ResolvedSpec) -> ResolvedSpec:
    """Returns the spec with the digest of its data.

    Raises what `in_specs.check` and `admission.check` raise, too.
    """
    resolved = with_data(transaction, resolved)
    in_specs.check(transaction, resolved.spec)
    _check(transaction, resolved, transaction.access.preferred_project)
    return resolved


def _check(transaction: Transaction, resolved: ResolvedSpec, project: str) -> None:
    if isinstance(resolved.spec, ExperimentSpec):
        check_fit(resolved.spec)
    admission.check(transaction, resolved.needs, project)


def store_job(
    transaction: Transaction,
    resolved: ResolvedSpec,
    options: SchedulingOptions = _DEFAULT_OPTIONS,
    attributes: JobAttributes = _NO_ATTRIBUTES,
    after: Sequence[Dependency] = (),
) -> JobRow:
    """Stores a queued job and its wake-up, or a blocked one, in this transaction.

    Raises what `with_data`, `uploaded_files.uploaded`, `in_specs.check`, `check_fit`,
    `admission.check` and `dependencies.unmet` raise.
    """
    whole = with_data(transaction, resolved)
    return _store_whole(transaction, whole, options, attributes, None, after)


def _store_whole(
    transaction: Transaction,
    resolved: ResolvedSpec,
    options: SchedulingOptions,
    attributes: JobAttributes,
    start: StartFile | None,
    after: Sequence[Dependency],
) -> JobRow:
    """Stores a job with the digest of its data."""
    access = transaction.access
    project, owner = access.project, access.name
    quotas.check_priority(transaction, project, owner, options.priority, "/query/priority")
    quotas.check(transaction, Quota.QUEUED_JOBS, project, owner)
    quotas.check(transaction, Quota.BYTES, project, owner, 0)
    references.pin(transaction, resolved.spec)
    start = start or uploaded_files.uploaded(transaction, resolved.spec)
    used = in_specs.check(transaction, resolved.spec)
    _check(transaction, resolved, project)
    waiting = dependencies.unmet(transaction, after) if after else []
    job = transitions.add(
        transaction,
        resolved.spec,
        resolved.needs,
        resolved.text,
        resolved.sha256,
        options,
        attributes,
        start,
        is_blocked=bool(waiting),
    )
    job_ops.add(transaction, job.pk, used)
    settings_index.add(transaction, job.pk, resolved.settings)
    if waiting:
        dependencies.add(transaction, job, waiting)
    else:
        outbox.add(transaction, job)
    return job
