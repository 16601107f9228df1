"""A runner with scripted behaviours: real processes and pipes, without TensorFlow.

The spec's metadata names the behaviour. It speaks the protocol by itself, so that a mistake in
the project's own words would show.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

STARTED = time.monotonic()
ASSIGNED: list[float] = []  # when the assignment arrived
EVENTS = int(sys.argv[sys.argv.index("--events-fd") + 1])

Assignment = dict[str, Any]


def send(kind: str, **fields: Any) -> None:
    os.write(EVENTS, (json.dumps({"kind": kind, **fields}) + "\n").encode())


def log(message: str) -> None:
    send("log", message=message)


def phases(*names: str) -> None:
    for name in names or ("prepare", "compile", "acquire", "run"):
        send("phase", phase=name)


def metric(step: int = 1) -> None:
    send("metric", epoch=1, epochs=1, step=step, steps=10, values={"loss": 1.0 / step})


def write(assignment: Assignment, name: str, content: bytes) -> None:
    (Path(assignment["work_dir"]) / name).write_bytes(content)


def manifest(*files: tuple[str, str, bytes]) -> bytes:
    """A manifest that lists files by role, name and content."""
    listed = [
        {
            "name": name,
            "role": role,
            "media_type": "application/octet-stream",
            "sha256": hashlib.sha256(content).hexdigest(),
            "size": len(content),
        }
        for role, name, content in files
    ]
    return json.dumps({"schema": "ipulse.manifest/1", "artifacts": listed}).encode()


def results(assignment: Assignment, listed: bytes | None = None) -> None:
    """Complete with a valid manifest, or with another one."""
    metrics, weights = b'{"loss": 1.0}\n', os.urandom(3_000_000)
    true = manifest(("metrics", "metrics.jsonl", metrics), ("weights", "weights.npz", weights))
    phases("report")
    # Named first, although it must be stored last: the order is the agent's duty.
    write(assignment, "manifest.json", true if listed is None else listed)
    send("artifact", path="manifest.json", role="manifest", media_type="application/json")
    write(assignment, "metrics.jsonl", metrics)
    send("artifact", path="metrics.jsonl", role="metrics", media_type="application/jsonl")
    write(assignment, "weights.npz", weights)
    send("artifact", path="weights.npz", role="weights")


def done(reason: str = "completed", message: str = "", **summary: float) -> None:
    send("done", reason=reason, message=message, summary=summary)


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


def ends_with(assignment: Assignment) -> None:
    phases()
    done(assignment["spec"]["metadata"]["reason"], "As the test says.")


def diverges(assignment: Assignment) -> None:
    phases()
    done("diverged", "The loss is NaN at step 3.", step=3.0)


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
    for done, part in enumerate(("importing", "loading")):
        send("progress", phase="prepare", fraction=0.1 * done, message=part)
    sys.stdout.write("imported\n")
    send("ready", python="3.11.0", tensorflow="none", import_seconds=0.0)
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    ASSIGNED.append(time.monotonic())
    assignment = json.loads(line)
    behaviour: Callable[[Assignment], None] = globals()[assignment["spec"]["metadata"]["behaviour"]]
    behaviour(assignment)
    sys.exit(0)


if __name__ == "__main__":
    main()
