"""What the holder of an attempt says about its job."""

from __future__ import annotations

from collections.abc import Sequence

from ipulse import events as protocol
from ipulse import strict_json
from ipulse.events import Event
from ipulse.log_lines import LogLines, length, without_first
from ipulse.states import STATE_OF_PHASE, STOPPING, Phase

from . import events, leases, store
from .database import Transaction
from .job import Job
from .leases import Attempt

Reportable = (
    protocol.PhaseEvent
    | protocol.ProgressEvent
    | protocol.MetricEvent
    | protocol.LogEvent
    | LogLines
    | protocol.CheckpointEvent
)


def record(
    transaction: Transaction, attempt: Attempt, first: int, reported: Sequence[Reportable]
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
    job = store.get_by_pk(transaction, attempt.job_pk)
    run: list[Reportable] = []
    for event in fresh:
        run.append(event)
        if isinstance(event, protocol.PhaseEvent):
            job = _enter(transaction, _write_down(transaction, job, attempt, run), event)
            run = []
    if run:
        _write_down(transaction, job, attempt, run)
    following = expected + length(fresh)
    leases.write(transaction, attempt, next_event=following)
    return following


def _write_down(
    transaction: Transaction, job: Job, attempt: Attempt, reported: Sequence[Reportable]
) -> Job:
    occurrences: list[events.Occurrence] = []
    columns = {}
    last_seq = job.last_seq
    for event in reported:
        if isinstance(event, LogLines):
            last_seq = events.append(transaction, job.pk, last_seq, attempt.number, occurrences)
            occurrences = []
            last_seq = events.append_lines(
                transaction,
                job.pk,
                last_seq,
                attempt.number,
                event.messages,
                event.level,
                event.stream,
            )
        elif isinstance(event, protocol.LogEvent):
            occurrences += events.of_lines((event.message,), event.level, event.stream)
        else:
            occurrences.append(events.Occurrence(event.kind, _body(event)))
            if isinstance(event, protocol.MetricEvent):
                columns["progress"] = occurrences[-1].body
    last_seq = events.append(transaction, job.pk, last_seq, attempt.number, occurrences)
    return store.change(transaction, job, last_seq=last_seq, **columns)


def _body(event: Event) -> str:
    """The canonical JSON of an event without its kind."""
    body = protocol.event_to_json(event)
    del body["kind"]
    return strict_json.dumps(body)


def _enter(transaction: Transaction, job: Job, event: protocol.PhaseEvent) -> Job:
    state = STATE_OF_PHASE[Phase(event.phase)]
    # A job that is asked to stop goes no further, whatever its runner still enters.
    if job.state is state or job.state in STOPPING:
        return job
    return store.move(transaction, job, state)
