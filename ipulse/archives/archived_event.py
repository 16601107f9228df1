"""The events of an archive, checked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError

from ipulse.events import parse_event
from ipulse.models import StrictModel, validate
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import (
    CheckpointEvent,
    Event,
    LogEvent,
    MetricEvent,
    PhaseEvent,
    ProgressEvent,
)
from ipulse_core.limits import escape_deceptive
from ipulse_core.states import JobState

from .archived_job import KnownReason, KnownState, Message, milliseconds_of
from .layout import EVENTS

MAX_EVENTS = 500_000  # of one archive
_MAX_LINE = 2**18  # bytes: a message of 32,768 characters fits
_STORED = (PhaseEvent, ProgressEvent, MetricEvent, LogEvent, CheckpointEvent)


class ArchivedEvent(NamedTuple):
    """An event, as the service stores it."""

    seq: int
    time: int  # milliseconds since 1970
    attempt: int | None
    kind: str
    body: str  # canonical JSON of its other fields
    event: Event | None  # None: the job entered a state


class _StateChange(StrictModel):
    """The fields of an event that the service wrote."""

    state: KnownState
    reason: KnownReason | None
    message: Message


def events_in(lines: Iterable[bytes], attempts: int) -> Iterator[ArchivedEvent]:
    """Yield the events of a job with so many attempts. Raises InvalidInput at the first problem."""
    number = 0
    for number, line in enumerate(lines, 1):
        place = f"/{EVENTS}/{number - 1}"
        if number > MAX_EVENTS:
            raise _refused(place, "too_large", f"more than {MAX_EVENTS:,} events")
        if len(line) > _MAX_LINE:
            raise _refused(place, "too_large", f"a line has more than {_MAX_LINE:,} bytes")
        try:
            yield _event(number, strict_json.loads(line), attempts)
        except InvalidInput as error:
            problems = [
                Problem(f"{place}{each.pointer}", each.code, each.detail) for each in error.problems
            ]
            raise InvalidInput(problems, "the archive is not valid") from error


def final_state(event: ArchivedEvent) -> JobState | None:
    """Return the state that an event entered, None if it is of another kind."""
    return JobState(strict_json.loads(event.body)["state"]) if event.event is None else None


def _event(number: int, value: Any, attempts: int) -> ArchivedEvent:
    if not isinstance(value, dict):
        raise _refused("", "wrong_type", "is no object")
    body = dict(value)
    seq, attempt, kind = body.pop("seq", None), body.pop("attempt", None), body.pop("kind", None)
    if type(seq) is not int or seq != number:
        raise _refused("/seq", "sequence_gap", f"must be {number}: events are numbered from 1")
    if attempt is not None and (type(attempt) is not int or not 1 <= attempt <= attempts):
        raise _refused("/attempt", "out_of_range", f"must be null, or from 1 to {attempts}")
    try:
        time = milliseconds_of(body.pop("time", None))
    except PydanticCustomError as error:
        raise _refused("/time", "datetime_parsing", error.message()) from None
    event: Event | None = None
    if kind == "state":
        validate(_StateChange, body)
    else:
        event = parse_event({**body, "kind": kind})
        if not isinstance(event, _STORED):
            raise _refused("/kind", "not_a_choice", f"{kind} is no kind of a stored event")
    if isinstance(body.get("message"), str):
        body["message"] = escape_deceptive(body["message"])
    return ArchivedEvent(seq, time, attempt, str(kind), strict_json.dumps(body), event)


def _refused(pointer: str, code: str, detail: str) -> InvalidInput:
    return InvalidInput([Problem(pointer, code, detail)], "the archive is not valid")
