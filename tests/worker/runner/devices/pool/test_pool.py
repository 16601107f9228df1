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

SECONDS = 30.0  # until a test that waits for another process is given up

# Says each wait and the lease as JSON; releases when a line comes.
CONTENDER = """
import json, sys, time
from pathlib import Path
from ipulse_worker.runner.devices.pool import WaitPolicy, Pool

def say(*words):
    print(json.dumps(words), flush=True)

directory, ipus, wanted, job, poll = sys.argv[1:]
patience = WaitPolicy(float(poll), 30.0, lambda: None,
                    lambda w: say("waits", w.position, w.holder and w.holder.job_id))
with Pool(Path(directory), int(ipus)).acquire(int(wanted), job, patience) as lease:
    say("has", *lease.ipus)
    sys.stdin.readline()
say("released", time.monotonic())
"""


class Contender:
    """A process that wants IPUs."""

    def __init__(self, directory: Path, ipus: int, wanted: int, job: str, poll: float) -> None:
        arguments = [str(directory), str(ipus), str(wanted), job, str(poll)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CONTENDER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[5],
        )

    def says(self) -> List[Any]:
        """Return its next message."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it ended without a word"
        said: List[Any] = json.loads(line)
        return said

    def has(self) -> List[int]:
        """The IPUs that it gets at last, whatever it says of its waiting until then.

        It may look just when nobody holds one, between a holder's leaving and its own turn.
        """
        words = self.says()
        while words[0] == "waits":
            words = self.says()
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

    def start(job: str, wanted: int = 1, ipus: int = 1, poll: float = 20.0) -> Contender:
        started.append(Contender(tmp_path, ipus, wanted, job, poll))
        return started[-1]

    yield start
    for contender in started:
        contender.process.kill()
        contender.process.communicate()


def patience(
    timeout: float = SECONDS,
    check: Callable[[], None] = lambda: None,
    reported: Optional[List[Wait]] = None,
) -> WaitPolicy:
    return WaitPolicy(
        20.0, timeout, check, (lambda wait: None) if reported is None else reported.append
    )


class TestOneHolder:
    def test_who_comes_second_is_reported_on_whom_it_waits_and_is_woken(
        self, contend: Start
    ) -> None:
        first = contend("job_1")
        assert first.says() == ["has", 0]
        second = contend("job_2")
        assert second.says() == ["waits", 1, "job_1"]
        begun = time.monotonic()
        first.release()
        assert second.has() == [0]
        assert time.monotonic() - begun < 10.0, "it must be woken, and not find out by polling"

    def test_a_killed_holder_has_nothing_any_more(self, contend: Start) -> None:
        first = contend("job_1")
        assert first.says() == ["has", 0]
        second = contend("job_2")
        second.says()
        first.process.send_signal(signal.SIGKILL)
        assert second.has() == [0]

    def test_they_take_turns_in_the_order_in_which_they_came(self, contend: Start) -> None:
        holder = contend("job_0")
        holder.says()
        waiting = []
        for place in (1, 2, 3):
            waiting.append(contend(f"job_{place}"))
            assert waiting[-1].says() == ["waits", place, "job_0"]
        waiting[1].process.send_signal(signal.SIGKILL)  # died waiting: nobody waits for it
        waiting[1].process.wait()
        holder.release()
        assert waiting[0].has() == [0]
        waiting[0].release()
        assert waiting[2].has() == [0]

    def test_several_ipus_are_taken_together_or_not_at_all(self, contend: Start) -> None:
        one = contend("job_1", ipus=2)
        assert one.says() == ["has", 0]
        two = contend("job_2", wanted=2, ipus=2)
        assert two.says() == ["waits", 1, "job_1"]
        late = contend("job_3", ipus=2)
        # One is free, but a job that needs both would starve if others went first.
        assert late.says() == ["waits", 2, "job_1"]
        one.release()
        assert two.has() == [0, 1]


class TestTheWait:
    def test_ends_when_the_time_is_over_and_says_who_is_in_the_way(self, tmp_path: Path) -> None:
        lease = Pool(tmp_path, 1).acquire(1, "job_1", patience())
        with pytest.raises(DeviceUnavailable, match=r"0\.05 s.*job_1"):
            Pool(tmp_path, 1).acquire(1, "job_2", patience(0.05))
        lease.release()
        Pool(tmp_path, 1).acquire(1, "job_2", patience()).release()
        assert os.listdir(tmp_path / "queue") == []

    def test_ends_when_it_is_called_off(self, tmp_path: Path) -> None:
        reported: List[Wait] = []

        def check() -> None:
            if reported:
                raise Cancelled

        with Pool(tmp_path, 1).acquire(1, "job_1", patience()), pytest.raises(Cancelled):
            Pool(tmp_path, 1).acquire(1, "job_2", patience(check=check, reported=reported))
        assert os.listdir(tmp_path / "queue") == []

    def test_more_than_there_are_is_refused_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(DeviceUnavailable, match=r"needs 2 emulated IPUs.*has 1.*--emulated-ip"):
            Pool(tmp_path, 1).acquire(2, "job_1", patience())

    def test_who_need_not_wait_is_reported_nothing(self, tmp_path: Path) -> None:
        reported: List[Wait] = []
        lease: Reservation = Pool(tmp_path, 2).acquire(1, "job_1", patience(reported=reported))
        assert (lease.ipus, reported) == ((0,), [])
        lease.release()
        lease.release()

    def test_a_holder_that_was_killed_is_not_named(self, tmp_path: Path) -> None:
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        said: Dict[str, Any] = {"job_id": "job_1", "pid": gone.pid, "since": 1.0}
        (tmp_path / "ipu-0").write_text(json.dumps(said))
        assert Pool(tmp_path, 1).holder() is None

    def test_without_a_watch_of_the_kernel_it_polls(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            CloseWatcher, "__init__", lambda self, _: setattr(self, "_descriptor", -1)
        )
        lease = Pool(tmp_path, 1).acquire(1, "job_1", patience())
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
