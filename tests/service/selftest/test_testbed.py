"""A part that was killed is started again, however busy the machine is."""

from __future__ import annotations

from typing import List

import pytest

from ipulse_core.errors import Conflict, IPUlseError, Unavailable
from ipulse_service.selftest.testbed import START_TRIES, _start_with_retries


class Part:
    """A process: its start fails once for each of its errors."""

    def __init__(self, errors: List[IPUlseError]) -> None:
        self._errors = errors
        self.tries = 0

    def start(self) -> None:
        self.tries += 1
        if self._errors:
            raise self._errors.pop()


@pytest.mark.parametrize("failures", [0, 1, START_TRIES - 1])
def test_what_did_not_start_in_time_is_started_again(failures: int) -> None:
    part = Part([Unavailable()] * failures)
    _start_with_retries(part.start)
    assert part.tries == failures + 1


def test_what_never_starts_is_reported() -> None:
    part = Part([Unavailable()] * (START_TRIES + 1))
    with pytest.raises(Unavailable):
        _start_with_retries(part.start)
    assert part.tries == START_TRIES


def test_a_permanent_error_is_reported_at_once() -> None:
    part = Part([Conflict()])
    with pytest.raises(Conflict):
        _start_with_retries(part.start)
    assert part.tries == 1
