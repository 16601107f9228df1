"""Validation of the events of a runner, which are plain dataclasses of `ipulse_core.events`."""

from __future__ import annotations

from typing import Annotated, Any

from ipulse.models import ByKind, validate
from ipulse_core.events import Event

_EVENT: Any = Annotated[Event, ByKind()]


def parse_event(value: Any) -> Event:
    """Returns the event in parsed JSON.

    Raises:
        InvalidInput: With every problem and its place.
    """
    event: Event = validate(_EVENT, value)
    return event
