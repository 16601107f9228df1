"""Our training step beside a peer's, measured in turns in one run: same weights, spikes, threads.

    python -m benchmarks.peers                   configs A and B against torch_layerwise
    python -m benchmarks.peers --config D --json

The peer runs as a child process in its own virtual environment, which the first run makes with pip
(about 1 GB) under $IPULSE_CACHE, else ~/.cache/ipulse. Before anything is timed, loss and gradients
of both must agree on the small config S.

On a machine that is busy with other things, read the processor time with `--threads 1`: with one
thread it counts the work and nothing that waits or spins.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.ops import VARIANTS, build, milliseconds, summary
from benchmarks.workload import CONFIGS, Workload, draw
from ops.lif.cpu import native

REQUIREMENTS = ("torch==2.13.0", "numpy")
# After a turn the other side's threads may spin for a while before they sleep.
PAUSE_SECONDS = 0.25


def environment() -> Path:
    """The Python of the peer's environment, made if it is not there."""
    home = native.cache_directory() / "peers" / REQUIREMENTS[0].replace("==", "-")
    python = home / "bin" / "python"
    complete = home / "complete"
    if not complete.exists():
        print(f"installing {', '.join(REQUIREMENTS)} in {home}", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *REQUIREMENTS], check=True)
        complete.touch()
    return python


def others_load(own: list[int], start: tuple[float, float] | None = None) -> tuple[float, float]:
    """Seconds of all processors that processes other than `own` have used, and the clock; from
    `start`, an earlier answer, on: processors that they used on average, and the seconds since."""
    ticks = os.sysconf("SC_CLK_TCK")
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    busy = sum(map(int, fields)) - int(fields[3]) - int(fields[4])  # less idle and iowait
    for pid in own:
        times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        busy -= int(times[11]) + int(times[12])
    now = (busy / ticks, time.monotonic())
    if start is None:
        return now
    passed = now[1] - start[1]
    return ((now[0] - start[0]) / passed, passed)


def clocked(step: Callable[[], float]) -> tuple[float, float]:
    """Wall-clock and processor milliseconds of one call."""
    cpu = time.process_time()
    wall = milliseconds(step)
    return wall, 1e3 * (time.process_time() - cpu)


class Peer:
    """torch_layerwise as a child process."""

    def __init__(self, work: Workload, name: str, threads: int, directory: Path) -> None:
        path = directory / f"{name}.npz"
        work.save(path)
        script = Path(__file__).with_name("torch_layerwise.py")
        self._process = subprocess.Popen(
            [environment(), script, path, name, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.version: str = self._answer()["torch"]
        self.pid = self._process.pid

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def ask(self, command: str) -> dict[str, Any]:
        """Loss and milliseconds of one forward pass or training step."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the peer ended; its last words are above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def check(threads: int, directory: Path) -> float:
    """The greatest difference of a gradient, relative to the matrix's greatest entry.

    Raises AssertionError if loss or gradients of the two differ by more than rounding.
    """
    work = draw(CONFIGS["S"])
    program = build(work, None, threads)
    with Peer(work, "S", threads, directory) as peer:
        path = directory / "gradients.npz"
        theirs = peer.ask(f"gradients {path}")
        ours = program.forward()
        assert abs(ours - theirs["loss"]) < 1e-5 * abs(ours), (ours, theirs)
        worst = 0.0
        with np.load(path) as grads:
            for number, grad in enumerate(program.gradients()):
                judge = grads[f"arr_{number}"]
                worst = max(worst, float(np.abs(grad - judge).max() / np.abs(judge).max()))
    assert worst < 1e-4, f"gradients differ by {worst:.1e}"
    return worst


def compare(name: str, threads: int, repeats: int, directory: Path) -> dict[str, Any]:
    """One config: turns of the peer and of each of our variants."""
    work = draw(CONFIGS[name])
    programs = {variant: build(work, gate, threads) for variant, gate in VARIANTS.items()}
    result: dict[str, Any] = {"config": name, **native.description(threads=threads)}
    with Peer(work, name, threads, directory) as peer:
        result["peer"] = f"torch_layerwise, torch {peer.version}"
        start = others_load([os.getpid(), peer.pid])
        for what in ("forward", "train"):
            sides = ["peer", *programs]
            times: dict[str, list[float]] = {side: [] for side in sides}
            cpu: dict[str, list[float]] = {side: [] for side in sides}
            for turn in range(repeats + 2):
                for side in sides:
                    if side == "peer":
                        answer = peer.ask(what)
                        one = (answer["ms"], answer["cpu_ms"])
                    else:
                        one = clocked(getattr(programs[side], what))
                    time.sleep(PAUSE_SECONDS)
                    if turn >= 2:  # the first turns compile, trace and touch memory
                        times[side].append(one[0])
                        cpu[side].append(one[1])
            result[what] = {
                side: {
                    **summary(times[side], work.config.batch),
                    "cpu_ms": statistics.median(cpu[side]),
                }
                for side in sides
            }
            for side in programs:
                ours, theirs = result[what][side], result[what]["peer"]
                ours["times_faster"] = theirs["ms"] / ours["ms"]
                ours["times_less_cpu"] = theirs["cpu_ms"] / ours["cpu_ms"]
        result["others_load"] = others_load([os.getpid(), peer.pid], start)[0]
    return result


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", choices=sorted(CONFIGS), action="append")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="one object per line")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        worst = check(options.threads, Path(scratch))
        if not options.json:
            print(f"loss and gradients agree (greatest relative difference {worst:.1e})")
            print("config  pass     side     ms (min..max)  samples/s  times faster  less CPU time")
        for name in options.config or ["A", "B"]:
            one = compare(name, options.threads, options.repeats, Path(scratch))
            if options.json:
                print(json.dumps({**one, "gradients_differ_by": worst}), flush=True)
                continue
            print(f"{name}: other processes used {one['others_load']:.2f} processors meanwhile")
            for what in ("forward", "train"):
                for side, s in one[what].items():
                    ratios = (
                        f"{s['times_faster']:8.1f}x {s['times_less_cpu']:8.1f}x"
                        if "times_faster" in s
                        else ""
                    )
                    print(
                        f"{name:7} {what:8} {side:8} {s['ms']:7.1f} "
                        f"({s['min_ms']:.1f}..{s['max_ms']:.1f}) "
                        f"{s['samples_per_s']:9.0f} {ratios}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
