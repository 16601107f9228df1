"""Lines of a log on their way from agent to service: each text once, and not an object a line.

A job may print 10,000 lines at once; as events of their own they cost both sides more than all the
rest that is done for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Iterable, Iterator, List, Literal, Optional, Tuple, TypeVar, Union

from ipulse_core.events import MAX_LINE, Level, LogEvent, Stream
from ipulse_core.messages import EVENTS_PER_REQUEST
from ipulse_core.schema import described

Other = TypeVar("Other")


@dataclass(frozen=True)
class LogLines:
    """Log events that follow one another and differ in their text alone; each has its number."""

    messages: Tuple[str, ...] = described(
        "Lines of text.", min_items=1, max_items=EVENTS_PER_REQUEST, max_length=MAX_LINE
    )
    level: Level = described("How bad they are.", default="info")
    stream: Stream = described("Who said them.", default="runner")
    kind: Literal["lines"] = "lines"


def packed(events: Iterable[Other]) -> List[Union[Other, LogLines]]:
    """The same events in order, where several log events of one origin are one entry."""
    result: List[Union[Other, LogLines]] = []
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
    """How many events these are, each line for one."""
    return sum(_length(event) for event in events)


def without_first(events: Iterable[Other], number: int) -> List[Other]:
    """All but the first `number` events."""
    result: List[Other] = []
    for event in events:
        if number == 0:
            result.append(event)
        elif _length(event) <= number:
            number -= _length(event)
        else:
            result.append(_cut(event, number, None))
            number = 0
    return result


def in_parts(events: Iterable[Other], most: int) -> Iterator[List[Other]]:
    """The events in order, at most so many at once."""
    part: List[Other] = []
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


def _cut(event: Other, begin: int, end: Optional[int]) -> Other:
    assert isinstance(event, LogLines)  # noqa: S101 - nothing else has a length
    return replace(event, messages=event.messages[begin:end])


def _origin(event: object) -> Union[Tuple[Level, Stream], None]:
    return (event.level, event.stream) if isinstance(event, LogEvent) else None
