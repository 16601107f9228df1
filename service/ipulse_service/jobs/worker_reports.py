"""Stores the events that the agent of an attempt reports about its job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ipulse.log_lines import LogLines, length, without_first
from ipulse_core import events as protocol
from ipulse_core import strict_json
from ipulse_core.events import Event
from ipulse_core.limits import escape_deceptive
from ipulse_core.states import STATE_OF_PHASE, STOPPING, Phase
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import events, leases, losses, store, transitions
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.search import metrics_index

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
    """Stores an attempt's events, the first of which has the attempt-local number `first`.

    Events that are stored already are skipped. Returns the number that is expected next. Raises
    SequenceGap, or IllegalTransition for a phase that is not allowed now.
    """
    expected = attempt.next_event
    if first > expected:
        raise events.SequenceGap(f"event {expected} is expected next; got {first}")
    fresh = without_first(reported, expected - first)
    if not fresh:
        return expected
    before = job = store.get_by_pk(transaction, attempt.job_pk)
    new_events: list[events.NewEvent] = []
    epochs: list[metrics_index.EpochValues] = []
    metrics: list[protocol.MetricEvent] = []
    for event in fresh:
        if isinstance(event, LogLines):
            new_events += events.log_events(event.messages, event.level, event.stream)
        elif isinstance(event, protocol.LogEvent):
            new_events += events.log_events((event.message,), event.level, event.stream)
        else:
            new_events.append(events.NewEvent(event.kind, _body(event)))
            if isinstance(event, protocol.MetricEvent):
                metrics.append(event)
                if event.scope == "epoch":
                    epochs.append((event.epoch, event.values))
            elif isinstance(event, protocol.CheckpointEvent):
                job = losses.after_checkpoint(transaction, job, event)
            elif isinstance(event, protocol.PhaseEvent):
                job, state_events = _enter(transaction, job, event)
                new_events += state_events
    if metrics:
        job = job._replace(progress=_progress(job.progress, metrics))
    last_seq = events.append(transaction, job.pk, job.last_seq, attempt.number, new_events)
    store.update(transaction, before, job._replace(last_seq=last_seq))
    metrics_index.add_epochs(transaction, job.pk, epochs)
    following = expected + length(fresh)
    leases.write(transaction, attempt, next_event=following)
    return following


def _body(event: Event) -> str:
    """Returns the canonical JSON of an event without its kind."""
    body = event.to_json()
    del body["kind"]
    if "message" in body:
        body["message"] = escape_deceptive(body["message"])
    return strict_json.dumps(body)


def _progress(before: str | None, metrics: Sequence[protocol.MetricEvent]) -> str:
    """Returns the JSON of a job's progress: the last event's fields, and the latest evaluation.

    `evaluated` has the epoch and the metrics of the last epoch that has ended, so that a reader
    finds them between two evaluations, too. A resumed training forgets those of later epochs.
    """
    evaluated = None if before is None else json.loads(before).get("evaluated")
    for event in metrics:
        if event.scope == "epoch":
            evaluated = {"epoch": event.epoch, "values": event.values}
        elif evaluated is not None and evaluated["epoch"] >= event.epoch:
            evaluated = None
    progress: dict[str, Any] = metrics[-1].to_json()
    del progress["kind"]
    return strict_json.dumps({**progress, "evaluated": evaluated})


def _enter(
    transaction: Transaction, job: JobRow, event: protocol.PhaseEvent
) -> tuple[JobRow, list[events.NewEvent]]:
    state = STATE_OF_PHASE[Phase(event.phase)]
    # A job that is asked to stop changes its state no more, whatever phases its runner enters.
    if job.state is state or job.state in STOPPING:
        return job, []
    # The worker's clock is the source of durations: reports and profiles show the same ones.
    seconds = event.previous_seconds
    spent_ms = None if seconds is None else round(1000 * seconds)
    moved, state_event = transitions.transition(transaction, job, state, spent_ms=spent_ms)
    return moved, [state_event]
