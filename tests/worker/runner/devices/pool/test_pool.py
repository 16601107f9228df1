"""Emulated IPUs shared by processes: one holder each, whatever becomes of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from ipulse_worker.runner.cancellation import Cancelled
from ipulse_worker.runner.devices.pool import DeviceUnavailable, Pool, Reservation, Wait, WaitPolicy
from ipulse_worker.runner.devices.pool.close_watcher import CloseWatcher
from ipulse_worker.runner.devices.pool.queue_entry import QueueEntry

ROOT = Path(__file__).parents[5]
SECONDS = 300.0  # until a test that waits for another process is given up

# Prints each wait and the lease as JSON; releases when a line comes.
CONTENDER = """
import json, sys, time
from pathlib import Path
from ipulse_worker.runner.devices.pool import WaitPolicy, Pool

def emit(*words):
    print(json.dumps(words), flush=True)

directory, ipus, count, job, poll = sys.argv[1:]
wait_policy = WaitPolicy(float(poll), 300.0, lambda: None,
                    lambda w: emit("waits", w.position, w.holder and w.holder.job_id))
with Pool(Path(directory), int(ipus)).acquire(int(count), job, wait_policy) as lease:
    emit("has", *lease.ipus)
    sys.stdin.readline()
emit("released", time.monotonic())
"""


class Contender:
    """A process that requests IPUs."""

    def __init__(self, directory: Path, ipus: int, count: int, job: str, poll: float) -> None:
        arguments = [str(directory), str(ipus), str(count), job, str(poll)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CONTENDER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def next_message(self) -> List[Any]:
        """Return its next message."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it ended without a message"
        message: List[Any] = json.loads(line)
        return message

    def has(self) -> List[int]:
        """Return the IPUs that it gets at last, after any reports of waiting.

        It may look just when nobody holds one, between a holder's leaving and its own turn.
        """
        words = self.next_message()
        while words[0] == "waits":
            words = self.next_message()
        assert words[0] == "has"
        return list(words[1:])

    def release(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


Start = Callable[..., Contender]


@pytest.fixture
def contend(tmp_path: Path) -> Iterator[Start]:
    started: List[Contender] = []

    def start(job: str, count: int = 1, ipus: int = 1, poll: float = 20.0) -> Contender:
        started.append(Contender(tmp_path, ipus, count, job, poll))
        return started[-1]

    yield start
    for contender in started:
        contender.process.kill()
        contender.process.communicate()


def wait_policy(
    timeout: float = SECONDS,
    check: Callable[[], None] = lambda: None,
    reported: Optional[List[Wait]] = None,
) -> WaitPolicy:
    return WaitPolicy(
        20.0, timeout, check, (lambda wait: None) if reported is None else reported.append
    )


class TestOneHolder:
    @pytest.mark.old_python
    def test_the_second_is_given_the_holder_and_woken(self, contend: Start) -> None:
        first = contend("job_1")
        assert first.next_message() == ["has", 0]
        second = contend("job_2")
        assert second.next_message() == ["waits", 1, "job_1"]
        begun = time.monotonic()
        first.release()
        assert second.has() == [0]
        assert time.monotonic() - begun < 10.0, "it must be woken, and not find out by polling"

    def test_a_killed_holder_releases_its_ipus(self, contend: Start) -> None:
        first = contend("job_1")
        assert first.next_message() == ["has", 0]
        second = contend("job_2")
        second.next_message()
        first.process.send_signal(signal.SIGKILL)
        assert second.has() == [0]

    def test_they_are_served_in_order_of_arrival(self, contend: Start) -> None:
        holder = contend("job_0")
        holder.next_message()
        waiting = []
        for place in (1, 2, 3):
            waiting.append(contend(f"job_{place}"))
            assert waiting[-1].next_message() == ["waits", place, "job_0"]
        waiting[1].process.send_signal(signal.SIGKILL)  # died waiting: nobody waits for it
        waiting[1].process.wait()
        holder.release()
        assert waiting[0].has() == [0]
        waiting[0].release()
        assert waiting[2].has() == [0]

    def test_several_ipus_are_taken_together_or_not_at_all(self, contend: Start) -> None:
        one = contend("job_1", ipus=2)
        assert one.next_message() == ["has", 0]
        two = contend("job_2", count=2, ipus=2)
        assert two.next_message() == ["waits", 1, "job_1"]
        late = contend("job_3", ipus=2)
        # One is free, but a job that needs both would starve if others went first.
        assert late.next_message() == ["waits", 2, "job_1"]
        one.release()
        assert two.has() == [0, 1]


class TestTheWait:
    def test_ends_at_the_deadline_and_names_the_holder(self, tmp_path: Path) -> None:
        lease = Pool(tmp_path, 1).acquire(1, "job_1", wait_policy())
        with pytest.raises(DeviceUnavailable, match=r"0\.05 s.*job_1"):
            Pool(tmp_path, 1).acquire(1, "job_2", wait_policy(0.05))
        lease.release()
        Pool(tmp_path, 1).acquire(1, "job_2", wait_policy()).release()
        assert os.listdir(tmp_path / "queue") == []

    def test_ends_when_it_is_called_off(self, tmp_path: Path) -> None:
        reported: List[Wait] = []

        def check() -> None:
            if reported:
                raise Cancelled

        with Pool(tmp_path, 1).acquire(1, "job_1", wait_policy()), pytest.raises(Cancelled):
            Pool(tmp_path, 1).acquire(1, "job_2", wait_policy(check=check, reported=reported))
        assert os.listdir(tmp_path / "queue") == []

    def test_more_than_there_are_is_refused_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(DeviceUnavailable, match=r"needs 2 emulated IPUs.*has 1.*--emulated-ip"):
            Pool(tmp_path, 1).acquire(2, "job_1", wait_policy())

    def test_without_waiting_nothing_is_reported(self, tmp_path: Path) -> None:
        reported: List[Wait] = []
        lease: Reservation = Pool(tmp_path, 2).acquire(1, "job_1", wait_policy(reported=reported))
        assert (lease.ipus, reported) == ((0,), [])
        lease.release()
        lease.release()

    def test_a_holder_that_was_killed_is_not_named(self, tmp_path: Path) -> None:
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        message: Dict[str, Any] = {"job_id": "job_1", "pid": gone.pid, "since": 1.0}
        (tmp_path / "ipu-0").write_text(json.dumps(message))
        assert Pool(tmp_path, 1).holder() is None

    def test_without_a_watch_of_the_kernel_it_polls(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            CloseWatcher, "__init__", lambda self, _: setattr(self, "_descriptor", -1)
        )
        lease = Pool(tmp_path, 1).acquire(1, "job_1", wait_policy())
        reported: List[Wait] = []

        def release(wait: Wait) -> None:
            reported.append(wait)
            threading.Thread(target=lease.release).start()

        patient = WaitPolicy(0.01, SECONDS, lambda: None, release)
        Pool(tmp_path, 1).acquire(1, "job_2", patient).release()
        assert len(reported) >= 1


def test_a_new_turn_is_never_taken_for_a_dead_ones(tmp_path: Path) -> None:
    with QueueEntry(tmp_path) as first, QueueEntry(tmp_path) as second:
        assert (first.position(), second.position()) == (1, 2)
    assert os.listdir(tmp_path) == []
