"""Jobs that wait for others: queued when those have ended as they should, else cancelled.

Only jobs that exist can be named, so that there are no circles. What has ended is read from the
database, so that a crash loses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import Row, Select, delete, func, insert, select, update

from ipulse_core.errors import Conflict, InvalidInput, Problem
from ipulse_core.states import JobState, Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import ENDED, job_dependencies, jobs
from ipulse_service.jobs import outbox, store, transitions
from ipulse_service.jobs.job import JobRow

OnEnd = Literal["success", "end", "failure", "compiled"]

# States of a job that has compiled its executable, or that will not compile it now.
_COMPILED = (
    *(JobState.RUNNING.value, JobState.REPORTING.value, JobState.PAUSED.value),
    *(JobState.CANCELLING.value, JobState.PAUSING.value),
)
COMPILE_WAIT_MS = 600_000  # from the first attempt of the job that compiles

MAX_DEPENDENCIES = 32
AT_ONCE = 100  # that one transaction settles, so that other writers need not wait for long
NAMED = 5  # jobs that a message names

WAITING, MET, BROKEN = "waiting", "met", "broken"  # states of a dependency


class DependencyFailed(Conflict):
    """A job that the new one should wait for has ended already, and not as it should."""

    code = "dependency_failed"


@dataclass(frozen=True)
class Dependency:
    """A job to wait for, and how it must end; for `compiled`, that it has compiled or ended."""

    job_id: str
    on: OnEnd = "success"

    def is_met_by(self, state: JobState) -> bool:
        """Returns whether an end in this state is the one that is waited for."""
        wanted = {"success": JobState.SUCCEEDED, "failure": JobState.FAILED}.get(self.on)
        return wanted is None or state is wanted


class _Edge(NamedTuple):
    job_pk: int
    needs_id: str
    on_end: OnEnd
    ended: str  # the state of the job that is waited for; the final one but for `compiled`


class Awaited(NamedTuple):
    """The jobs that a blocked one waits for."""

    is_compilation: bool  # else the end of jobs
    detail: str  # all of them, in words
    first_id: str | None = None
    first_name: str | None = None  # None after its deletion


def unmet(transaction: Transaction, after: Sequence[Dependency]) -> list[tuple[Dependency, JobRow]]:
    """Returns the jobs that have not ended; they are locked until the transaction ends.

    Raises NotFound, InvalidInput for a job that is named twice, and DependencyFailed.
    """
    names = [dependency.job_id for dependency in after]
    if len(set(names)) != len(names):
        raise InvalidInput([Problem("/query/after", "repeated", "a job is named twice")])
    waiting = []
    for dependency in sorted(after, key=lambda one: one.job_id):  # one order of locks
        job = store.get(transaction, dependency.job_id)
        if not job.state.is_terminal:
            waiting.append((dependency, job))
        elif not dependency.is_met_by(job.state):
            raise DependencyFailed(
                f"the job {job.id} is {job.state.value} already, and its {dependency.on} is "
                "waited for"
            )
    return waiting


def add(
    transaction: Transaction, job: JobRow, waiting: Sequence[tuple[Dependency, JobRow]]
) -> None:
    """Stores what a blocked job waits for."""
    rows = [
        {
            "job_pk": job.pk,
            "needs_id": needs.id,
            "needs_pk": needs.pk,
            "on_end": dependency.on,
            "state": WAITING,
        }
        for dependency, needs in waiting
    ]
    transaction.connection.execute(insert(job_dependencies), rows)


def is_due(transaction: Transaction) -> bool:
    """Returns whether a job has ended, or compiled, for which another one waits."""
    return transaction.connection.execute(_ended(transaction).limit(1)).first() is not None


def settle(transaction: Transaction) -> list[JobRow]:
    """Queues or cancels jobs after the end of their dependencies; returns them.

    Cancelled ones may be waited for, too: it is called again until nothing is due.
    """
    changed = []
    for row in transaction.connection.execute(_ended(transaction).limit(AT_ONCE)).all():
        edge = _Edge._make(row)
        job = store.find_by_pk(transaction, edge.job_pk)
        is_met = Dependency(edge.needs_id, edge.on_end).is_met_by(JobState(edge.ended))
        _mark(transaction, edge, MET if is_met else BROKEN)
        if job is None or job.state is not JobState.BLOCKED:
            continue  # it was cancelled, or is too late
        if not is_met:
            message = f"The job {edge.needs_id} is {edge.ended}; its {edge.on_end} was waited for."
            changed.append(
                transitions.move(
                    transaction, job, JobState.CANCELLED, Reason.DEPENDENCY_FAILED, message
                )
            )
        elif not _count(transaction, job):
            # The place in the queue is that of now, unless only the service made it wait.
            place = job.queued_at if edge.on_end == "compiled" else transaction.now
            queued = transitions.move(transaction, job, JobState.QUEUED, queued_at=place)
            outbox.add(transaction, queued)
            changed.append(queued)
    return changed


def waiting_for(transaction: Transaction, blocked: Sequence[JobRow]) -> dict[int, Awaited]:
    """Returns what blocked jobs wait for, by their keys."""
    edges: dict[int, list[Row[*tuple[Any, ...]]]] = {job.pk: [] for job in blocked}
    if not edges:
        return {}
    query = (
        select(
            job_dependencies.c.job_pk,
            job_dependencies.c.needs_id,
            job_dependencies.c.on_end,
            jobs.c.state,
            jobs.c.name,
            jobs.c.project,
        )
        .outerjoin(jobs, jobs.c.pk == job_dependencies.c.needs_pk)
        .where(job_dependencies.c.job_pk.in_(list(edges)), job_dependencies.c.state == WAITING)
        .order_by(job_dependencies.c.needs_pk)
    )
    for row in transaction.connection.execute(query):
        edges[row.job_pk].append(row)
    return {pk: _awaited(transaction, rows) for pk, rows in edges.items()}


def _awaited(transaction: Transaction, rows: Sequence[Row[*tuple[Any, ...]]]) -> Awaited:
    if any(row.project and not transaction.access.sees(row.project) for row in rows):
        return Awaited(rows[0].on_end == "compiled", "a job of another project")
    if rows and rows[0].on_end == "compiled":
        first = rows[0]
        detail = f"{first.needs_id} ({first.state}) compiles its executable"
        return Awaited(True, detail, first.needs_id, first.name)
    named = [f"the {row.on_end} of {row.needs_id} ({row.state})" for row in rows[:NAMED]]
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    detail = f"{', '.join(named)}{more}"
    return Awaited(False, detail, rows[0].needs_id, rows[0].name) if rows else Awaited(False, "")


def forget(transaction: Transaction, ended: Collection[JobRow]) -> None:
    """Removes deleted jobs; others that still wait for them keep how they ended."""
    pks = [job.pk for job in ended]
    transaction.connection.execute(
        delete(job_dependencies).where(job_dependencies.c.job_pk.in_(pks))
    )
    final = select(jobs.c.state).where(jobs.c.pk == job_dependencies.c.needs_pk).scalar_subquery()
    transaction.connection.execute(
        update(job_dependencies)
        .where(job_dependencies.c.needs_pk.in_(pks))
        .values(needs_state=final, needs_pk=None)
    )


def _ended(transaction: Transaction) -> Select[Any]:
    """Returns a query of the edges that are not settled yet."""
    has_compiled = (job_dependencies.c.on_end == "compiled") & (
        jobs.c.state.in_(_COMPILED) | (jobs.c.started_at <= transaction.now - COMPILE_WAIT_MS)
    )
    state = func.coalesce(jobs.c.state, job_dependencies.c.needs_state)
    return (
        select(
            job_dependencies.c.job_pk,
            job_dependencies.c.needs_id,
            job_dependencies.c.on_end,
            state,
        )
        .outerjoin(jobs, jobs.c.pk == job_dependencies.c.needs_pk)
        .where(job_dependencies.c.state == WAITING, state.in_(ENDED) | has_compiled)
        .order_by(job_dependencies.c.job_pk)
    )


def _mark(transaction: Transaction, edge: _Edge, state: str) -> None:
    this = (
        job_dependencies.c.job_pk == edge.job_pk,
        job_dependencies.c.needs_id == edge.needs_id,
    )
    transaction.connection.execute(update(job_dependencies).where(*this).values(state=state))


def _count(transaction: Transaction, job: JobRow) -> int:
    query = select(func.count()).where(
        job_dependencies.c.job_pk == job.pk, job_dependencies.c.state == WAITING
    )
    return int(transaction.connection.execute(query).scalar_one())


def job_pointer(index: int) -> str:
    """Returns the pointer of a job in a request with several."""
    return f"/jobs/{index}"


def placed(place: str, problem: Problem) -> Problem:
    """Returns a problem of one submission with its place in a request with several."""
    parameter = problem.pointer.removeprefix("/query")
    within = f"/spec{problem.pointer}" if parameter == problem.pointer else parameter
    return Problem(place + within, problem.code, problem.detail)
