"""Questions to the machine that are asked again until it answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

FIRST_SECONDS = 15.0  # until a question without an answer is asked again; twice as long each time
LONGEST_SECONDS = 300.0  # also until it is asked whether something came that was missing

_Answer = TypeVar("_Answer")


class RepeatedQuestion(Generic[_Answer]):
    """Remembers an answer. No answer in time means nothing: the question is asked again."""

    def __init__(
        self,
        ask: Callable[[], _Answer | None],
        is_final: Callable[[_Answer], bool] = lambda _: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the question.

        Args:
            ask: asks it; None if there was no answer in time.
            is_final: whether an answer stays, since nobody is expected to change it.
            clock: seconds.
        """
        self._ask = ask
        self._is_final = is_final
        self._clock = clock
        self.answer: _Answer | None = None  # the last one; None: not known
        self._due = -float("inf")
        self._pause = 0.0
        self._requests = 0  # how often `ask_again` was called

    def is_due(self) -> bool:
        """Return whether it is time to ask."""
        return self._clock() >= self._due

    def ask_again(self) -> None:
        """Make the question due: its answer proved wrong. Any thread may call this."""
        self._requests += 1
        self._due = -float("inf")

    def ask(self) -> None:
        """Ask; a former answer stays if there is none now."""
        requests = self._requests
        answer = self._ask()
        if answer is None:
            self._pause = wait = min(LONGEST_SECONDS, max(FIRST_SECONDS, 2 * self._pause))
        else:
            self.answer, self._pause = answer, 0.0
            wait = float("inf") if self._is_final(answer) else LONGEST_SECONDS
        self._due = self._clock() + wait
        if self._requests != requests:  # meanwhile: this answer may be as old as the wrong one
            self._due = -float("inf")
