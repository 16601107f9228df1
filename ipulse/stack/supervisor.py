"""Restarts the parts of a stack that have ended, and leaves the others alone."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

from ipulse.stack.guarded_process import GuardedProcess, how_it_ended
from ipulse.stack.program_log import ProgramLog
from ipulse_core.errors import IPUlseError

FIRST_PAUSE_SECONDS = 0.5  # before the first restart; doubles with each end that follows soon
LONGEST_PAUSE_SECONDS = 30.0
SOUND_SECONDS = 60.0  # a part that has run for so long is no part of a crash loop
LOOP_ENDS = 4  # so many ends, each soon after a start, are a crash loop

Say = Callable[[str], None]


class Program(Protocol):
    """A program of a stack, with its present process and its log."""

    name: str
    log: ProgramLog
    process: GuardedProcess | None


@dataclass
class Part:
    """A program, and how to start it again without waiting until it is ready."""

    program: Program
    restart: Callable[[], None]
    final_exit: int | None = None  # an exit code after which a restart would not help


def supervise(parts: Sequence[Part], say: Say) -> None:
    """Restart parts as they end, until SIGINT or SIGTERM. Only the main thread can call this."""
    with stop_signals(signal.SIGINT, signal.SIGTERM) as stopped:
        Supervisor(parts, say).run(stopped)


@contextmanager
def stop_signals(*numbers: signal.Signals) -> Iterator[int]:
    """Return a descriptor that is readable once one of these signals has come.

    An ignored SIGHUP stays ignored, as under nohup. Only the main thread can call this.
    """
    wake, write = os.pipe()

    def on_signal(number: int, frame: FrameType | None) -> None:
        os.write(write, b"\0")

    former = {
        number: signal.signal(number, on_signal)
        for number in numbers
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield wake
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        os.close(wake)
        os.close(write)


class Supervisor:
    """Watches parts and restarts those that end."""

    def __init__(self, parts: Sequence[Part], say: Say) -> None:
        """`say` receives a sentence for each event that an operator should know."""
        self._watched = [_Watched(part, say) for part in parts]

    def run(self, wake: int) -> Part | None:
        """Restart parts as they end, until the descriptor `wake` is readable.

        Returns the part that ends with its final exit code, if one does.
        """
        while True:
            waiting = select.poll()
            waiting.register(wake, select.POLLIN)
            by_descriptor = {}
            for watched in self._watched:
                process = watched.process()
                if process is not None:
                    waiting.register(process, select.POLLIN)
                    by_descriptor[process.fileno()] = watched
            ready = {descriptor for descriptor, _ in waiting.poll(self._milliseconds())}
            if wake in ready:
                return None
            for descriptor, watched in by_descriptor.items():
                if descriptor in ready and watched.has_ended_for_good():
                    return watched.part
            for watched in self._watched:
                watched.restart_if_due()

    def _milliseconds(self) -> float | None:
        due = [watched.due for watched in self._watched if watched.due is not None]
        return max(0.0, min(due) - time.monotonic()) * 1000 + 1 if due else None


class _Watched:
    """A part with the history of its ends. Times are seconds of the monotonic clock."""

    def __init__(self, part: Part, say: Say) -> None:
        self.part = part
        self._say = say
        self._started = time.monotonic()
        self._ends = 0  # in a row, each soon after a start
        self.due: float | None = None  # when it is restarted; None while it runs

    def process(self) -> GuardedProcess | None:
        """Return the process, None while the part waits for its restart."""
        return None if self.due is not None else self.part.program.process

    def has_ended_for_good(self) -> bool:
        """Plan the restart of the process, which has ended, unless its exit code is final."""
        process = self.part.program.process
        exit_code = process.wait() if process else 0
        if exit_code == self.part.final_exit:
            return True
        self._plan(how_it_ended(exit_code))
        return False

    def restart_if_due(self) -> None:
        """Restart the part if it waits for that and its pause is over."""
        if self.due is None or time.monotonic() < self.due:
            return
        self.due = None
        self._started = time.monotonic()
        try:
            self.part.restart()
        except (IPUlseError, OSError) as error:
            self._plan(str(error))

    def _plan(self, how: str) -> None:
        now = time.monotonic()
        self._ends = 1 if now - self._started > SOUND_SECONDS else self._ends + 1
        pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (self._ends - 1))
        self.due = now + pause
        name, log = self.part.program.name, self.part.program.log
        if self._ends < LOOP_ENDS:
            self._say(f"The {name} has ended ({how}); it is restarted in {pause:g} s.")
        elif self._ends == LOOP_ENDS:
            self._say(
                f"The {name} ends again and again ({how}); it is restarted at least every "
                f"{LONGEST_PAUSE_SECONDS:g} s, and the others go on. "
                + (log.reason() or f"The end of {log.path}:\n{log.tail()}")
            )
