"""Measure how long a job of the digits takes, with a warm runner and without, beside snnTorch.

    python -m benchmarks.service digits
    python -m benchmarks.service digits --peer       installs snnTorch apart, up to 2 GB

The job is examples/digits.yaml, on the real stack with nothing else to do and compiled kernels.
`seconds` are those from the submission until the client sees its end, with the report; the others
are those of its phases. A warm runner has imported TensorFlow when the job comes; a cold one is
started for it. snnTorch's are those of a process of its own that imports PyTorch, reads the encoded
samples, and trains a network of the same sizes for as many epochs; it writes no report.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import yaml

from benchmarks.common import command_line
from benchmarks.common.environments import MissingEnvironment, python_of
from benchmarks.common.tables import ROOT, Row, finish
from benchmarks.service.first_step import runs
from benchmarks.training.accuracy import document_of
from benchmarks.training.accuracy_tasks import Task
from benchmarks.training.comparison import REQUIREMENTS
from benchmarks.training.example_peers import ask, data_file
from ipulse.client import Connection
from ipulse_core.spec.resolved_spec import read_spec

EXAMPLE = Task("digits", 0.97, quick_epochs=1, quick_target=0.9)
PHASES = ("prepare", "compile", "run", "report")
SETTINGS = {"rate": 0.003, "slope": 25.0, "scale": 1.0}  # of snnTorch, without a search


def ours(jobs: int, warm: bool) -> Row:
    """Return the times of jobs."""
    found = runs(jobs, warm, run)
    return _row(f"IPUlse, {'warm' if warm else 'cold'}", [seconds for seconds, _ in found]) | {
        phase: round(median(phases[phase] for _, phases in found), 2) for phase in PHASES
    }


def run(client: Connection) -> tuple[float, dict[str, float]]:
    """Run one job; return the seconds until its end is seen, and those of its phases."""
    spec = yaml.safe_load((ROOT / f"examples/{EXAMPLE.example}.yaml").read_text())
    began = time.perf_counter()
    job = client.job(client.submit(spec).id)
    job.wait()
    seconds = time.perf_counter() - began
    return seconds, job.phase_seconds


def peer(python: Path, count: int) -> Row:
    """Return the times of processes of snnTorch."""
    document = document_of(EXAMPLE, False, 1, "float32", False)
    spec = read_spec(document)
    seconds = []
    with tempfile.TemporaryDirectory() as directory:
        path, data = Path(directory) / "spec.json", Path(directory) / "data.npz"
        path.write_text(json.dumps(document))
        data_file(spec, data, searching=False)
        for _ in range(count):
            began = time.perf_counter()
            ask(python, path, data, epochs=spec.training.epochs, seed=1, **SETTINGS)
            seconds.append(time.perf_counter() - began)
    return _row("snnTorch, cold", seconds)


def _row(system: str, seconds: list[float]) -> Row:
    return {
        "system": system,
        "runs": len(seconds),
        "seconds": round(median(seconds), 2),
        "least": round(min(seconds), 2),
        "most": round(max(seconds), 2),
    }


def main(arguments: list[str]) -> int:
    """Run the command line."""
    parser = command_line.parser("service digits", __doc__)
    parser.add_argument("--jobs", type=int, default=5, help="of each row (%(default)s)")
    parser.add_argument("--peer", action="store_true", help="measure snnTorch, too")
    options = parser.parse_args(arguments)
    try:
        python = python_of("torch", REQUIREMENTS) if options.peer else None
    except MissingEnvironment as error:
        print(error, file=sys.stderr)
        return 1
    rows = [ours(options.jobs, warm) for warm in (True, False)]
    if python is not None:
        rows.append(peer(python, options.jobs))
    finish(rows, options.output)
    return 0
