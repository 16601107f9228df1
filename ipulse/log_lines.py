"""Packs consecutive log events into one object on their way from agent to service.

A job may print 10,000 lines at once; as single events they would cost both sides more than all
other work for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Literal, TypeVar

from ipulse.models import PRINTABLE, Field, ListOf, few
from ipulse_core.events import MAX_LINE, Level, LogEvent, Stream, WireObject, described
from ipulse_core.messages import EVENTS_PER_REQUEST

Other = TypeVar("Other")
Line = Annotated[str, Field(max_length=MAX_LINE, pattern=PRINTABLE)]


@dataclass(frozen=True)
class LogLines(WireObject):
    """Consecutive log events that differ only in their text; each line counts as one event."""

    messages: Annotated[
        ListOf[Line],
        Field(min_length=1, max_length=EVENTS_PER_REQUEST),
        few(EVENTS_PER_REQUEST),
    ] = described("Lines of text.")
    level: Level = described("Severity.", default="info")
    stream: Stream = described("Origin of the lines.", default="runner")
    kind: Literal["lines"] = "lines"


def packed(events: Iterable[Other]) -> list[Other | LogLines]:
    """Returns the events in order, with consecutive log events of one origin as one entry."""
    result: list[Other | LogLines] = []
    for origin, group in groupby(events, _origin):
        run = list(group)
        if origin is None or len(run) == 1:
            result.extend(run)
            continue
        texts = [event.message for event in run if isinstance(event, LogEvent)]
        for begin in range(0, len(texts), EVENTS_PER_REQUEST):
            result.append(LogLines(tuple(texts[begin : begin + EVENTS_PER_REQUEST]), *origin))
    return result


def length(events: Iterable[object]) -> int:
    """Returns the number of events; each line counts as one."""
    return sum(_length(event) for event in events)


def without_first(events: Iterable[Other], number: int) -> list[Other]:
    """Returns all but the first `number` events."""
    result: list[Other] = []
    for event in events:
        if number == 0:
            result.append(event)
        elif _length(event) <= number:
            number -= _length(event)
        else:
            result.append(_cut(event, number, None))
            number = 0
    return result


def in_parts(events: Iterable[Other], most: int) -> Iterator[list[Other]]:
    """Yields the events in order, at most `most` at once."""
    part: list[Other] = []
    left = most
    for event in events:
        begin, end = 0, _length(event)
        while end - begin > left:
            if left:
                part.append(_cut(event, begin, begin + left))
                begin += left
            yield part
            part, left = [], most
        part.append(_cut(event, begin, None) if begin else event)
        left -= end - begin
    if part:
        yield part


def _length(event: object) -> int:
    return len(event.messages) if isinstance(event, LogLines) else 1


def _cut(event: Other, begin: int, end: int | None) -> Other:
    assert isinstance(event, LogLines)  # noqa: S101 - nothing else has a length
    return replace(event, messages=event.messages[begin:end])


def _origin(event: object) -> tuple[Level, Stream] | None:
    return (event.level, event.stream) if isinstance(event, LogEvent) else None
