"""Lines of a log on their way from agent to service: each text once, and not an object a line.

A job may print 10,000 lines at once; as events of their own they cost both sides five times as
much as all the rest that is done for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Iterable, Iterator, List, Literal, Tuple, TypeVar, Union

from .events import Level, LogEvent, Stream
from .schema import described

Other = TypeVar("Other")

MAX_LINES = 10_000


@dataclass(frozen=True)
class LogLines:
    """Log events that follow one another and differ in their text alone; each has its number."""

    messages: Tuple[str, ...] = described(
        "Lines of text.", min_items=1, max_items=MAX_LINES, max_length=16_384
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
        for begin in range(0, len(texts), MAX_LINES):
            result.append(LogLines(tuple(texts[begin : begin + MAX_LINES]), *origin))
    return result


def unpacked(events: Iterable[Union[Other, LogLines]]) -> Iterator[Union[Other, LogEvent]]:
    """What was packed, one by one."""
    for event in events:
        if isinstance(event, LogLines):
            for message in event.messages:
                yield LogEvent(message, event.level, event.stream)
        else:
            yield event


def _origin(event: object) -> Union[Tuple[Level, Stream], None]:
    return (event.level, event.stream) if isinstance(event, LogEvent) else None
