"""Parts that end are restarted, with pauses that grow, and one that always ends is reported."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.stack import supervisor
from ipulse.stack.guarded_process import GuardedProcess
from ipulse.stack.program_log import ProgramLog
from ipulse.stack.supervisor import Part, Supervisor
from ipulse_core.errors import Unavailable
from tests.ipulse.stack.guarded import DEADLINE


class Script:
    """A Python script as a part of a stack."""

    def __init__(self, name: str, folder: Path, code: str) -> None:
        self.name = name
        self.log = ProgramLog(folder / f"{name}.log")
        self.process: GuardedProcess | None = None
        self.starts = 0
        self.failures = 0  # of the next starts
        self._code = code

    def start(self) -> None:
        self.starts += 1
        if self.failures:
            self.failures -= 1
            raise Unavailable("the port is in use")
        with self.log.open() as log:
            self.process = GuardedProcess(
                [sys.executable, "-c", self._code],
                environment={},
                directory=Path("/"),
                stdout=log,
                stderr=log,
            )


class Watch:
    """A supervisor in a thread, and what it says."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = scripts
        self.said: list[str] = []
        self.event = threading.Condition()
        self._wake, self._write = os.pipe()
        for script in scripts:
            script.start()
        parts = [Part(script, script.start) for script in scripts]
        run = Supervisor(parts, self._say).run
        self._thread = threading.Thread(target=run, args=(self._wake,))
        self._thread.start()

    def _say(self, sentence: str) -> None:
        with self.event:
            self.said.append(sentence)
            self.event.notify_all()

    def await_said(self, count: int) -> None:
        with self.event:
            assert self.event.wait_for(lambda: len(self.said) >= count, DEADLINE), self.said

    def stop(self) -> None:
        os.write(self._write, b"x")
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()
        for script in self.scripts:
            if script.process:
                script.process.kill()
                script.process.wait()
        os.close(self._wake)
        os.close(self._write)


@pytest.fixture
def watches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Watch]]:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(supervisor, "LONGEST_PAUSE_SECONDS", 0.1)
    started: list[Watch] = []
    yield started
    for watch in started:
        watch.stop()


def test_a_crash_loop_is_reported_once_with_its_log(watches: list[Watch], tmp_path: Path) -> None:
    loops = Script("loops", tmp_path, "print('the reason'); raise SystemExit(3)")
    sleeps = Script("sleeps", tmp_path, "import time; time.sleep(600)")
    watches.append(watch := Watch(loops, sleeps))
    watch.await_said(supervisor.LOOP_ENDS)
    last = watch.said[-1]
    assert str(loops.log.path) in last
    assert "the reason" in last
    assert "exit code 3" in last
    starts = loops.starts
    while loops.starts < starts + 3:  # it is restarted still, without a word
        threading.Event().wait(0.01)
    assert len(watch.said) == supervisor.LOOP_ENDS
    assert sleeps.starts == 1
    assert sleeps.process is not None
    assert sleeps.process.poll() is None


def test_a_start_that_fails_is_tried_again(watches: list[Watch], tmp_path: Path) -> None:
    script = Script("late", tmp_path, "import time; time.sleep(600)")
    watches.append(watch := Watch(script))
    script.failures = 2
    assert script.process is not None
    script.process.kill()
    watch.await_said(3)
    while script.starts < 4:
        threading.Event().wait(0.01)
    assert "the port is in use" in watch.said[-1]


def test_it_can_be_stopped_between_an_end_and_the_restart(
    watches: list[Watch], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_SECONDS", 3600)
    monkeypatch.setattr(supervisor, "LONGEST_PAUSE_SECONDS", 3600)
    script = Script("ends", tmp_path, "pass")
    watches.append(watch := Watch(script))
    watch.await_said(1)
    assert script.starts == 1
