"""Claims: an agent gets the first queued job that it can run."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from ipulse_core.errors import Conflict
from ipulse_core.states import JobState
from ipulse_service.agents import pools, registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import leases, outbox, store, transitions
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue import fair_share, order
from ipulse_service.jobs.queue import room as rooms

START_PROTOCOL = 7  # agents from this protocol on start from a stored file


class NotClaimable(Conflict):
    """The job is held by another attempt, not due yet, or has ended."""

    code = "not_claimable"


@dataclass(frozen=True)
class Claim:
    """A new attempt, its job, and the fencing token, which only its agent receives."""

    job: JobRow
    attempt: AttemptRow
    fence: str


def claim(
    transaction: Transaction,
    job_id: str | None,
    agent: str,
    device_kinds: Collection[str],
    lease_seconds: float,
    protocol: int = 0,
    fence: str = "",
) -> Claim:
    """Starts an attempt at the first queued job that the agent can run.

    `job_id` is the job that a wake-up named; it must be queued, but another one may come first.
    A request with the same `fence`, the token that the agent has made for this claim, gets the
    same attempt. Raises NotFound or NotClaimable.
    """
    if fence:
        repeated = _repeated(transaction, agent, fence, lease_seconds)
        if repeated is not None:
            return repeated
    known = registry.find(transaction, agent)
    if known is None:
        known = KnownAgent(agent, (), pool=pools.pool_of(transaction, agent, {}))
    has_what_it_needs = replace(known, device_kinds=tuple(device_kinds)).can_run

    def can_run(needs: Needs) -> bool:
        return has_what_it_needs(needs) and (protocol >= START_PROTOCOL or not needs.starts)

    named = None if job_id is None else store.peek(transaction, job_id)
    if named and named.state is not JobState.QUEUED:
        raise NotClaimable(f"the job is {named.state.value}")
    if named and named.device not in device_kinds:
        raise NotClaimable(f"the job needs a device of the kind {named.device}")
    standing = fair_share.read(transaction)
    if fair_share.has_limits(standing):
        transaction.lock("device-quotas")  # so that two claims do not take the last device
        standing = fair_share.read(transaction)
    room = rooms.of_agent(transaction, standing, known)
    job = order.head(transaction, device_kinds, can_run, standing, room)
    if job is None and named and not (standing.obstacle(named) or room.obstacle(named)):
        job = _named(transaction, named, can_run)
    if job is None:
        raise NotClaimable("no job is queued that this agent can run")
    if named and job.pk != named.pk:
        outbox.add_unless_gone(transaction, named)  # this wake-up served the other job
    attempt, fence = leases.start(transaction, job, agent, lease_seconds, protocol, fence)
    job = transitions.move(
        transaction,
        job,
        JobState.PREPARING,
        attempt=attempt.number,
        started_at=job.started_at or transaction.now,
    )
    return Claim(job, attempt, fence)


def _repeated(
    transaction: Transaction, agent: str, fence: str, lease_seconds: float
) -> Claim | None:
    """Returns the answer to a claim that came before, None to a new one.

    Raises NotClaimable if its attempt has ended: the agent has claimed it and has gone on, or it
    comes too late.
    """
    attempt = leases.of_claim(transaction, agent, fence)
    if attempt is None:
        return None
    if attempt.finished_at is not None:
        raise NotClaimable("this claim was answered before, and its attempt has ended")
    leases.renew(transaction, attempt, lease_seconds)
    return Claim(store.get_by_pk(transaction, attempt.job_pk), attempt, fence)


def _named(
    transaction: Transaction, named: JobRow, can_run: Callable[[Needs], bool]
) -> JobRow | None:
    """Returns the job that a wake-up names, locked, or None if this agent cannot run it.

    Then the wake-up is sent again if another agent is free to run the job. Otherwise the publisher
    repeats it later, so that agents do not pass it around.
    """
    needs = named.needs
    if can_run(needs):
        job = store.lock_or_skip(transaction, named.pk)
        if job is None or job.state is not JobState.QUEUED:
            raise NotClaimable("another agent is claiming the job")
        return job
    busy = {attempt.agent for attempt in leases.held(transaction)}
    for other in registry.known(transaction):
        is_free = other.is_present(transaction.now) and other.name not in busy
        if is_free and needs.device in other.usable_kinds and other.can_run(needs):
            outbox.add_unless_gone(transaction, named)
            break
    return None
