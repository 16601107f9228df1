"""A runner with scripted behaviours: real processes and pipes, without TensorFlow.

The spec's metadata names the behaviour. It speaks the protocol by itself, so that a mistake in
the project's own words would show.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tests.worker.agent.runners import misbehaviour
from tests.worker.agent.runners.runner_events import (
    ASSIGNED,
    STARTED,
    Assignment,
    done,
    log,
    metric,
    phases,
    results,
    send,
    write,
)


def completes(assignment: Assignment) -> None:
    phases()
    metric()
    write(assignment, "checkpoint", b"weights after the first epoch")
    send("checkpoint", path="checkpoint", epoch=1, step=1)
    results(assignment)
    done(message="All well.", test_accuracy=0.97)


def trains_until_released(assignment: Assignment) -> None:
    stop = signal.SIGTERM
    signal.pthread_sigmask(signal.SIG_BLOCK, [stop])
    phases()
    metric()
    log(f"pid {os.getpid()}")
    signal.sigwait([stop])
    write(assignment, "checkpoint", b"weights at the stop")
    send("checkpoint", path="checkpoint", epoch=1, step=1)
    done("cancelled_by_user")


def waits_at_the_first_attempt(assignment: Assignment) -> None:
    if assignment["attempt"] == 1:
        trains_until_released(assignment)
    else:
        completes(assignment)


def completes_when_released(assignment: Assignment) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    phases()
    metric()
    signal.sigwait([signal.SIGTERM])
    results(assignment)
    done()


def completes_when_asked(assignment: Assignment) -> None:
    phases()
    log(f"pid {os.getpid()}")
    signal.sigwait([signal.SIGUSR1])
    results(assignment)
    done()


def finishes_when_asked(assignment: Assignment) -> None:
    phases()
    metric()
    log(f"pid {os.getpid()}")
    signal.sigwait([signal.SIGUSR1])
    results(assignment)
    done("finished_early", "Finished early.", epochs_done=0.5)


def trains_then_reports_for_ever(assignment: Assignment) -> None:
    phases()
    metric()
    log("trained")
    signal.sigwait([signal.SIGUSR1])
    phases("report")
    time.sleep(600)


def prints_before_events(assignment: Assignment) -> None:
    phases()
    for number in range(200):
        os.write(1 + number % 2, f"printed {number}\n".encode())
        log(f"logged {number}")
    results(assignment)
    done()


def prints_binary(assignment: Assignment) -> None:
    phases()
    os.write(1, b"nul \x00 invalid \xff\xfe end\n")
    os.write(1, b"\x1b[31mred\x1b[0m and \x1b]0;title\x07bell\x07\n")
    os.write(1, b"10%\r50%\r100%\r\n")
    os.write(1, "half an ü: ".encode() + b"\xc3")
    time.sleep(0.05)  # the two bytes of the message come in two reads
    os.write(1, b"\xbc\n")
    os.write(2, b"no newline at the end")
    results(assignment)
    done()


def ends_with(assignment: Assignment) -> None:
    phases()
    done(assignment["spec"]["metadata"]["reason"], "As the test says.")


def diverges(assignment: Assignment) -> None:
    phases()
    done("diverged", "The loss is NaN at step 3.", step=3.0)


def checkpoints_often(assignment: Assignment) -> None:
    phases()
    for epoch in range(1, 51):
        unfinished = Path(assignment["work_dir"]) / "unfinished"
        unfinished.write_bytes(b"epoch %d" % epoch)
        unfinished.replace(Path(assignment["work_dir"]) / "checkpoint")
        send("checkpoint", path="checkpoint", epoch=epoch, step=epoch)
    results(assignment)
    done()


def talks(assignment: Assignment) -> None:
    """Write numbered log lines quickly."""
    phases()
    for number in range(int(assignment["spec"]["metadata"]["lines"])):
        log(f"line {number}")
    results(assignment)
    done()


def shows_its_world(assignment: Assignment) -> None:
    phases()
    status = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    world = {
        "environment": dict(os.environ),
        "assignment": assignment,
        "seconds_before_it": ASSIGNED[0] - STARTED,
        "session": int(status[3]),
        "group": int(status[2]),
        "pid": os.getpid(),
        "mode": oct(Path(assignment["work_dir"]).stat().st_mode & 0o777),
        "start_file": assignment["start_from"] and Path(assignment["start_from"]).read_text(),
        "ops": {sha256: Path(op).read_text() for sha256, op in (assignment["ops"] or {}).items()},
        "checkpoint": assignment["checkpoint"] and Path(assignment["checkpoint"]).read_text(),
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd")),
    }
    log(json.dumps(world))
    results(assignment)
    done()


def fills_the_disk(assignment: Assignment) -> NoReturn:
    """It dies of the error, as a program does that does not expect it."""
    phases()
    with (Path(assignment["work_dir"]) / "weights.npz").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65_536))


def main() -> NoReturn:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    for imported, part in enumerate(("importing", "loading")):
        send("progress", phase="prepare", fraction=0.1 * imported, message=part)
    sys.stdout.write("imported\n")
    send("ready", python="3.11.0", tensorflow="none", import_seconds=0.0)
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    ASSIGNED.append(time.monotonic())
    assignment = json.loads(line)
    name = assignment["spec"]["metadata"]["behaviour"]
    behaviour: Callable[[Assignment], None] = {**vars(misbehaviour), **globals()}[name]
    behaviour(assignment)
    sys.exit(0)


if __name__ == "__main__":
    main()
