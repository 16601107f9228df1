"""What the connection types of a device cost, and what it costs to wait for one.

    python -m benchmarks.connection_types [--json] [--write | --check]

Each attempt is a runner of its own at `examples/emulator.yaml`, on `cpu` and on `emulator`: seconds
of its phases, and the trace that it leaves in the log. The ops are built before; `cold` means that
no program lies in the executable cache. Then one emulated IPU is held while others wait for it:
processor seconds of a waiter, and milliseconds from a release to the next one's start. At last the
memory of a whole runner that waits.
--write keeps the figures in benchmarks/results and puts their tables into
docs/explanation/devices.md; --check
measures nothing and says whether those kept are of these sources: 1 if not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.results import DIRECTORY, Row, read, rounded
from benchmarks.tables import table
from ipulse.spec.file import read_spec_file
from ipulse_core.build_cache.directory import cache_directory
from ipulse_worker.runner.devices.pool import Pool, WaitPolicy

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "examples" / "emulator.yaml"
PAGE = ROOT / "docs" / "explanation" / "devices.md"
NAME = "connection_types"
BEGIN = "<!-- By `python -m benchmarks.connection_types --write`; change the code or measure. -->"
END = "<!-- Until here. -->"
# Device, connection type, whether the program was compiled before.
ATTEMPTS = [
    *(("cpu", connection, "") for connection in ("ALWAYS", "ON_DEMAND", "PRE_COMPILE", "NEVER")),
    ("emulator", "NEVER", "cold"),
    ("emulator", "ALWAYS", "cold"),
    ("emulator", "ON_DEMAND", "cold"),
    ("emulator", "PRE_COMPILE", "cold"),
    ("emulator", "ON_DEMAND", "from the cache"),
]
MARKS = ("compiled", "attached", "loaded", "pre-compiled")
PHASES = ("prepare", "compile", "acquire", "run", "report")
SOURCES = (".py", ".cc", ".cpp", ".h", ".hpp", ".inc", ".html")
WAITERS = (1, 4, 16)
HELD_SECONDS = 5.0
PATIENCE_SECONDS = 120.0

WAITER = """
import json, resource, sys, time
from pathlib import Path
from ipulse_worker.runner.devices.pool import WaitPolicy, Pool
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
before, asked = cpu(), time.monotonic()
patience = WaitPolicy(1.0, 600.0, lambda: None, lambda wait: print("waiting", flush=True))
lease = Pool(Path(sys.argv[1]), 1).acquire(1, sys.argv[2], patience)
begun, used = time.monotonic(), cpu() - before
lease.release()
told = {"asked": asked, "begun": begun, "released": time.monotonic(), "cpu_seconds": used}
print(json.dumps(told), flush=True)
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help="into benchmarks/results and docs/")
    parser.add_argument("--check", action="store_true", help="say whether figures are stale")
    options = parser.parse_args()
    if options.check:
        fresh = read(NAME).get("sources") == sources_digest()
        print("the figures are of these sources" if fresh else "stale: connection_types")
        return 0 if fresh else 1
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        fill_cache(scratch / "cache")
        figures = rounded(
            {
                "sources": sources_digest(),
                "machine": machine.description(),
                "load_average": os.getloadavg()[0],
                "attempts": attempts(scratch),
                "waiting_runner_mib": waiting_runner_mib(scratch),
                "waiters": [waiting(number) for number in WAITERS],
            }
        )
    if options.write:
        (DIRECTORY / f"{NAME}.json").write_text(json.dumps(figures, indent=1) + "\n")
        PAGE.write_text(written(), "utf-8")
    print(json.dumps(figures) if options.json else tables(figures))
    return 0


def sources_digest() -> str:
    """Of what an attempt runs."""
    files = [SPEC]
    for folder in (ROOT / "worker", ROOT / "ops", ROOT / "emulator", ROOT / "core"):
        files += [path for path in folder.rglob("*") if path.suffix in SOURCES]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def attempts(scratch: Path) -> list[Row]:
    """A row for each of ATTEMPTS. scratch: has a cache that is filled."""
    rows = []
    run(scratch, "emulator", "NEVER")  # builds what is not built yet
    for kind, connection, state in ATTEMPTS:
        if state == "cold":
            for executable in (scratch / "cache" / "executables").glob("*"):
                executable.unlink()
        rows.append(run(scratch, kind, connection) | {"program": state})
    return rows


def run(
    scratch: Path, kind: str, connection: str, heard: Callable[[Row, int], None] | None = None
) -> Row:
    """One attempt by a runner of its own. Raises SystemExit if it fails.

    heard: given each event and the runner's process.
    """
    spec: dict[str, Any] = dict(read_spec_file(SPEC).value)
    device = {"kind": "cpu"} if kind == "cpu" else spec["device"]
    spec["device"] = {**device, "connection_type": connection}
    with tempfile.TemporaryDirectory(dir=scratch) as work_dir:
        given = {"protocol": 1, "job_id": "job_1", "attempt": 1, "work_dir": work_dir}
        line = (json.dumps({**given, "spec": spec}) + "\n").encode()
        ours, theirs = os.pipe()
        environment = {
            **os.environ,
            "IPULSE_CACHE": str(scratch / "cache"),
            "IPULSE_DEVICES": str(scratch / "devices"),
            "IPULSE_EMULATED_IPUS": "1",
        }
        command = [sys.executable, "-m", "ipulse_worker.runner", "--events-fd", str(theirs)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, pass_fds=[theirs], env=environment, cwd=ROOT
        ) as runner:
            os.close(theirs)
            assert runner.stdin is not None
            runner.stdin.write(line)
            runner.stdin.flush()
            said = []
            with os.fdopen(ours) as events:
                for line_of_event in events:
                    said.append((time.perf_counter(), json.loads(line_of_event)))
                    if heard is not None:
                        heard(said[-1][1], runner.pid)
    if said[-1][1]["reason"] != "completed":
        raise SystemExit(f"{kind}, {connection}: {said[-1][1]}")
    entered = [(event["phase"], at) for at, event in said if event["kind"] == "phase"]
    ends = [at for _, at in entered[1:]] + [said[-1][0]]
    logged = [event["message"] for _, event in said if event["kind"] == "log"]
    return {
        "device": kind,
        "connection": connection,
        "seconds": {phase: end - at for (phase, at), end in zip(entered, ends, strict=True)},
        "trace": [line.split(":")[0] for line in logged if line.startswith(MARKS)],
    }


def fill_cache(cache: Path) -> None:
    """What is built already, and no program."""
    cache.mkdir()
    for built in cache_directory().iterdir():
        if built.name not in ("executables", "devices"):
            (cache / built.name).symlink_to(built)


def waiting_runner_mib(scratch: Path) -> float:
    """What a runner holds of the machine's memory alone while it waits, compiled and all."""
    patience = WaitPolicy(1.0, PATIENCE_SECONDS, lambda: None, lambda wait: None)
    lease = Pool(scratch / "devices", 1).acquire(1, "holder", patience)
    found: list[float] = []

    def heard(event: Row, process: int) -> None:
        if event["kind"] == "log" and event["message"].startswith("waiting for"):
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            private = (line.split()[1] for line in lines if line.startswith("Private_"))
            found.append(sum(map(int, private)) / 1024)
            lease.release()

    run(scratch, "emulator", "ON_DEMAND", heard)
    return found[0]


def waiting(number: int) -> Row:
    """So many processes wait for one emulated IPU, which is released after a while."""
    with tempfile.TemporaryDirectory() as directory:
        patience = WaitPolicy(1.0, PATIENCE_SECONDS, lambda: None, lambda wait: None)
        lease = Pool(Path(directory), 1).acquire(1, "holder", patience)
        waiters = [
            subprocess.Popen(
                [sys.executable, "-c", WAITER, directory, f"job_{one}"],
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for one in range(number)
        ]
        for waiter in waiters:
            assert waiter.stdout is not None
            waiter.stdout.readline()  # it waits
        all_waiting = time.monotonic()
        time.sleep(HELD_SECONDS)
        released = time.monotonic()
        lease.release()
        told = [
            json.loads(waiter.communicate(timeout=PATIENCE_SECONDS)[0].splitlines()[-1])
            for waiter in waiters
        ]
    told.sort(key=lambda one: float(one["begun"]))
    freed = [released, *(one["released"] for one in told)]
    starts = [1000 * (one["begun"] - at) for one, at in zip(told, freed, strict=False)]
    waited = sum(one["begun"] - one["asked"] for one in told)
    return {
        "waiters": number,
        "held_seconds": released - all_waiting,
        "cpu_seconds": sum(one["cpu_seconds"] for one in told),
        "cpu_share": sum(one["cpu_seconds"] for one in told) / waited,
        "start_ms": {"median": statistics.median(starts), "max": max(starts)},
    }


def tables(figures: Row) -> str:
    """Both tables, with what they were measured on."""
    heads = ["device", "connection", "program", *(f"{phase} s" for phase in PHASES), "trace"]
    rows = [
        [
            row["device"],
            f"`{row['connection']}`",
            row["program"] or "none: kernels",
            *(f"{row['seconds'][p]:.2f}" if p in row["seconds"] else "" for p in PHASES),
            " → ".join(_words(line) for line in row["trace"]),
        ]
        for row in figures["attempts"]
    ]
    waits = [
        [
            str(row["waiters"]),
            f"{row['cpu_seconds']:.2f}",
            f"{row['cpu_share']:.2%}",
            f"{row['start_ms']['median']:.1f}",
            f"{row['start_ms']['max']:.1f}",
        ]
        for row in figures["waiters"]
    ]
    about = figures["machine"]
    wait_heads = ["waiters", "processor s, all", "of a processor, each"]
    wait_heads += ["ms to the next start, median", "most"]
    return "\n\n".join(
        [
            f"`examples/{SPEC.name}`, an attempt each, by a runner that had imported TensorFlow; "
            f"{about['cores']} cores of {about['processor']}:",
            table(heads, rows),
            f"Processes that wait for one emulated IPU, which is held for {HELD_SECONDS:g} s and "
            "then passed on by each as soon as it has it; their processor time includes queueing:",
            table(wait_heads, waits),
            _memory_of_waiting(figures),
        ]
    )


def _memory_of_waiting(figures: Row) -> str:
    mib = figures["waiting_runner_mib"]
    share = max(row["cpu_share"] for row in figures["waiters"])
    return (
        f"A runner that waits holds {mib:,.0f} MiB of its own: TensorFlow and its compiled "
        f"program. {1 / share:,.0f} waiters would take one processor, so that memory is what "
        f"bounds their number: {1024 / mib:,.1f} a GiB."
    )


def written() -> str:
    """The page with the tables of the figures that are kept."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables(read(NAME))}\n\n{END}{after}"


def _words(line: str) -> str:
    """A line of the trace without its figures."""
    return line.split(" in ")[0].split(", nothing")[0]


if __name__ == "__main__":
    sys.exit(main())
