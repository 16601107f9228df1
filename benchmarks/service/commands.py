"""Measure the processor time of commands of the command line, from their start to their end.

    python -m benchmarks.service commands --rounds 10

Each command is a process of its own; the least time of all rounds counts, because other programs
only add to it. The commands run in turns, and those of a job ask a service of this machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.service.clients import one_by_one
from benchmarks.service.systems.ipulse import IpulseSystem

COMMANDS = (
    "--version",
    "--help",
    "list",
    "list --json",
    "status latest",
    "metrics latest",
    "compare latest latest~1",
    "sweep list",
    "data list",
    "devices",
    "submit --help",
    "validate examples/digits.yaml",
)
_ROOT = Path(__file__).resolve().parents[2]


def measure(home: Path, rounds: int) -> list[Row]:
    """Return a row for each command."""
    with IpulseSystem(home) as system:
        one_by_one(system, system.submission, 30, warm_up=0)
        environment = {**os.environ, "IPULSE_HOME": str(home), "PYTHONPATH": str(_ROOT)}
        environment |= {"IPULSE_URL": system.url, "IPULSE_TOKEN_FILE": str(home / "token")}
        least: dict[str, float] = {}
        for _ in range(rounds):
            for command in COMMANDS:
                seconds = _seconds(command.split(), environment)
                least[command] = min(seconds, least.get(command, seconds))
    return [{"command": name, "processor_s": round(value, 3)} for name, value in least.items()]


def _seconds(arguments: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "ipulse", *arguments]
    subprocess.run(command, env=environment, cwd=_ROOT, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service commands", __doc__)
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        rows = measure(Path(directory) / "home", options.rounds)
    finish(rows, options.output)
