"""What the holder of an attempt says about its job."""

from __future__ import annotations

from collections.abc import Sequence

from ipulse.log_lines import LogLines, length, without_first
from ipulse_core import events as protocol
from ipulse_core import strict_json
from ipulse_core.events import Event
from ipulse_core.states import STATE_OF_PHASE, STOPPING, Phase
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import events, leases, store
from ipulse_service.jobs.job import Job
from ipulse_service.jobs.leases import AttemptRow

Reportable = (
    protocol.PhaseEvent
    | protocol.ProgressEvent
    | protocol.MetricEvent
    | protocol.LogEvent
    | LogLines
    | protocol.CheckpointEvent
)


def record(
    transaction: Transaction, attempt: AttemptRow, first: int, reported: Sequence[Reportable]
) -> int:
    """Writes an attempt's events down; the first has the attempt-local number `first`.

    Events that are there already are passed over. Returns the number expected next.
    Raises SequenceGap, or IllegalTransition for a phase that cannot come now.
    """
    expected = attempt.next_event
    if first > expected:
        raise events.SequenceGap(f"event {expected} is expected next; got {first}")
    fresh = without_first(reported, expected - first)
    if not fresh:
        return expected
    was = job = store.get_by_pk(transaction, attempt.job_pk)
    said: list[events.NewEvent] = []
    for event in fresh:
        if isinstance(event, LogLines):
            job = _append(transaction, job, attempt, said)
            said = []
            last_seq = events.append_lines(
                transaction,
                job.pk,
                job.last_seq,
                attempt.number,
                event.messages,
                event.level,
                event.stream,
            )
            job = job._replace(last_seq=last_seq)
        elif isinstance(event, protocol.LogEvent):
            said += events.of_lines((event.message,), event.level, event.stream)
        else:
            said.append(events.NewEvent(event.kind, _body(event)))
            if isinstance(event, protocol.MetricEvent):
                job = job._replace(progress=said[-1].body)
            elif isinstance(event, protocol.PhaseEvent):
                job, entered = _enter(transaction, job, event)
                said += entered
    store.update(transaction, was, _append(transaction, job, attempt, said))
    following = expected + length(fresh)
    leases.write(transaction, attempt, next_event=following)
    return following


def _append(
    transaction: Transaction, job: Job, attempt: AttemptRow, said: Sequence[events.NewEvent]
) -> Job:
    last_seq = events.append(transaction, job.pk, job.last_seq, attempt.number, said)
    return job._replace(last_seq=last_seq)


def _body(event: Event) -> str:
    """The canonical JSON of an event without its kind."""
    body = protocol.event_to_json(event)
    del body["kind"]
    return strict_json.dumps(body)


def _enter(
    transaction: Transaction, job: Job, event: protocol.PhaseEvent
) -> tuple[Job, list[events.NewEvent]]:
    state = STATE_OF_PHASE[Phase(event.phase)]
    # A job that is asked to stop goes no further, whatever its runner still enters.
    if job.state is state or job.state in STOPPING:
        return job, []
    moved, new_event = store.transition(transaction, job, state)
    return moved, [new_event]
