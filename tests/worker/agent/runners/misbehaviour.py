"""Scripted behaviours of runners that break the rules."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tests.worker.agent.runners.runner_events import (
    EVENTS,
    Assignment,
    done,
    log,
    manifest,
    metric,
    phases,
    results,
    send,
)


def ignores_term(assignment: Assignment) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    phases()
    log(f"pid {os.getpid()}")
    time.sleep(600)


def hangs_when_done(assignment: Assignment) -> None:
    phases()
    results(assignment)
    done()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def double_forks(assignment: Assignment) -> None:
    """Leave a process in another session that ignores SIGTERM."""
    phases()
    daemonise()
    results(assignment)
    done()


def daemonises_and_waits(assignment: Assignment) -> None:
    daemonise()
    ignores_term(assignment)


def daemonise() -> None:
    """Return once the daemon has logged its process id."""
    has_said, say_it = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            log(f"daemon {os.getpid()}")
            os.write(say_it, b"logged")
            time.sleep(600)
        os._exit(0)
    os.wait()
    os.read(has_said, 4)


def floods(assignment: Assignment) -> None:
    phases()
    for number in range(200_000):
        sys.stdout.write(f"line {number} {60 * 'x'}\n")
    results(assignment)
    done()


def prints_one_endless_line(assignment: Assignment) -> None:
    phases()
    for _ in range(400):
        sys.stdout.write("y" * 65_536)
    sys.stdout.flush()
    results(assignment)
    done()


def closes_its_output(assignment: Assignment) -> None:
    os.close(1)
    os.close(2)
    phases()
    results(assignment)
    done()


def is_killed(assignment: Assignment) -> None:
    phases()
    metric()
    os.kill(os.getpid(), signal.SIGKILL)


def crashes(assignment: Assignment) -> None:
    phases()
    sys.stdout.write("about to crash\n")
    os.kill(os.getpid(), signal.SIGSEGV)


def exits_silently(assignment: Assignment) -> None:
    phases()


def fails_after_done(assignment: Assignment) -> None:
    phases()
    results(assignment)
    done()
    os._exit(3)


def writes_garbage(assignment: Assignment) -> None:
    phases()
    os.write(EVENTS, b"\x00\xff this is no event\n")
    time.sleep(600)


def writes_an_endless_event(assignment: Assignment) -> None:
    phases()
    while True:
        os.write(EVENTS, b"z" * 65_536)


def dies_in_the_middle_of_an_event(assignment: Assignment) -> None:
    phases()
    os.write(EVENTS, b'{"kind": "metric", "epo')


def goes_backwards(assignment: Assignment) -> None:
    phases()
    phases("prepare")
    time.sleep(600)


def speaks_for_the_service(assignment: Assignment) -> None:
    phases()
    done("worker_lost")


def stops_by_another_hand(assignment: Assignment) -> None:
    phases()
    done("cancelled_by_user")


def diverges_and_hangs(assignment: Assignment) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    phases()
    done("diverged", "The loss is NaN at step 3.")
    log("said it")
    time.sleep(600)


def forgets_the_manifest(assignment: Assignment) -> None:
    phases("prepare", "compile", "acquire", "run", "report")
    done()


def lists_other_weights(assignment: Assignment) -> None:
    phases()
    metrics = ("metrics", "metrics.jsonl", b'{"loss": 1.0}\n')
    results(assignment, manifest(metrics, ("weights", "weights.npz", b"of another run")))
    done()


def lists_many_files_that_are_not_there(assignment: Assignment) -> None:
    phases()
    results(assignment, manifest(*(("log", f"{number}.log", b"") for number in range(1000))))
    done()


def writes_no_manifest_into_it(assignment: Assignment) -> None:
    phases()
    results(assignment, b"{}")
    done()


def names_a_missing_file(assignment: Assignment) -> None:
    phases()
    send("artifact", path="report.html", role="report")
    results(assignment)
    done()


def names_a_link(assignment: Assignment) -> None:
    phases()
    (Path(assignment["work_dir"]) / "report.html").symlink_to("/etc/hostname")
    send("artifact", path="report.html", role="report")
    results(assignment)
    done()
