"""Measure training steps of convolutional networks, our own and those of other libraries.

    python -m benchmarks.training convolutions               configurations A, B and C
    python -m benchmarks.training convolutions --config B    one of them
    python -m benchmarks.training convolutions --peers       beside PyTorch and snnTorch
    python -m benchmarks.training convolutions --config A --activity 0.001 0.02 0.1 0.5

A: 2 x 34 x 34, 12 filters of 5 x 5, pool, 32 filters of 5 x 5, pool, 10 classes.
B: 2 x 64 x 64, 16, 32 and 32 filters of 3 x 3 with pools, 256 neurons, 11 classes.
C: 700 channels in one row, 32 and 64 filters of 7 with strides of 2, 20 classes.

Input channels spike at random; weights are scaled until every convolution fires at 2 % of its
neurons per step. With --activity, input channels and convolutions spike in each of these fractions
of the steps instead; peers are measured at the first one only, because their times do not depend on
it. A step is forward pass, backward pass and Adam; the loss is the cross-entropy of the mean
membrane. Times are in milliseconds: of the clock, the fastest and the median of the repeats, which
are interleaved; and of all processors together, the least, which depends less on other programs.
Peers run between two halves of our repeats: a loop over time in PyTorch, with a compiled step, and
snnTorch.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import command_line
from benchmarks.common.environments import MissingEnvironment, python_of
from benchmarks.common.tables import ROOT, Row, finish
from benchmarks.training.child import memory
from benchmarks.training.comparison import REQUIREMENTS
from benchmarks.training.layers.conv_network import CONFIGS, RATE, ConvConfig, programs
from benchmarks.training.rounds import program_times

PEERS = ("compiled", "snntorch")  # of benchmarks.training.peers.torch_convolutions
VARIANTS: dict[str, float | None] = {"exact": None, "gate 0.5": 0.5, "gate 0.9": 0.9}


def measure_peer(python: Path, config: ConvConfig, system: str, options: Any) -> dict[str, Any]:
    """Return what benchmarks.training.peers.torch_convolutions prints."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "config.json"
        path.write_text(json.dumps(dataclasses.asdict(config)))
        done = subprocess.run(
            [
                *(python, "-m", "benchmarks.training.peers.torch_convolutions", path, system),
                *(f"--repeats={options.repeats}", f"--threads={options.threads}"),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": "", "CUDA_VISIBLE_DEVICES": ""},
            stdout=subprocess.PIPE,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _row(
    config: str, system: str, program: str, times: list[float], processor: list[float], peak: int
) -> Row:
    return {
        "config": config,
        "system": system,
        "program": program,
        "fastest_ms": f"{min(times):.1f}",
        "median_ms": f"{statistics.median(times):.1f}",
        "processor_ms": f"{min(processor):.1f}",
        "peak_mib": peak,
    }


def compared(
    name: str, options: Any, python: Path | None, activity: float | None = None
) -> list[Row]:
    """Return the rows of one configuration, at an activity of input and neurons if one is given."""
    config, hidden = CONFIGS[name], RATE
    if activity is not None:
        config, hidden = dataclasses.replace(config, rate=activity), activity
        name = f"{name}, {100 * activity:g} %"
    runs = {
        (variant, program): run
        for variant, second in VARIANTS.items()
        for program, run in programs(config, second, options.threads, hidden).items()
        if program == "step" or variant == "exact"
    }
    for run in runs.values():
        run()  # traces it
    times, processor = program_times(runs, (options.repeats + 1) // 2)
    peers: list[Row] = []
    for system in PEERS if python else ():
        found = measure_peer(python, config, system, options)
        peers += [
            _row(name, system, program, clock, spent, found["peak_mib"])
            for program, (clock, spent) in found["programs"].items()
        ]
    more = program_times(runs, options.repeats // 2)
    peak = round(memory()["peak_mib"])
    return [
        _row(
            *(name, f"IPUlse, {variant}" if program == "step" else "IPUlse", program),
            *(times[variant, program] + more[0][variant, program],),
            *(processor[variant, program] + more[1][variant, program], peak),
        )
        for variant, program in runs
    ] + peers


def main(arguments: list[str]) -> int:
    """Run the command line."""
    parser = command_line.parser("training convolutions", __doc__)
    parser.add_argument("--config", choices=list(CONFIGS), help="one configuration only")
    parser.add_argument("--repeats", type=int, default=7, help="of each program (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of the kernels (%(default)s)")
    parser.add_argument("--activity", type=float, nargs="+", help="fractions of steps with a spike")
    parser.add_argument("--peers", action="store_true", help="measure other libraries, too")
    options = parser.parse_args(arguments)
    try:
        python = python_of("torch", REQUIREMENTS) if options.peers else None
    except MissingEnvironment as error:
        print(error, file=sys.stderr)
        return 1
    names = [options.config] if options.config else list(CONFIGS)
    rows = []
    for name in names:
        for number, activity in enumerate(options.activity or [None]):
            rows += compared(name, options, None if number else python, activity)
    finish(rows, options.output)
    return 0
