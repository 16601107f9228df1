"""One side of a comparison as a process of its own: reads a command a line, answers a line of JSON.

    python -m benchmarks.child SIDE WORKLOAD.npz CONFIG THREADS

SIDE is a peer of the catalogue, or `ours:VARIANT`. Commands:

    forward N, train N   N calls: {"ms": [...], "cpu_ms": [...], "loss": of the last}
    gradients FILE       writes dL/dW at the present weights: {"loss": ..., "rates": [...]}
    memory               {"resident_mib", "peak_mib"}: now, and the most since the last question

Runs in the side's environment: NumPy, the library, and nothing of the project's but this package.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.catalogue import PEERS
from benchmarks.program import Program
from benchmarks.workload import CONFIGS, Workload, load


def build(side: str, work: Workload, threads: int) -> tuple[Program, dict[str, Any]]:
    """The side's passes; the versions of its packages, and what its libraries alone take."""
    before = memory()["resident_mib"]
    program: Program
    if side.startswith("ours:"):
        ours = importlib.import_module("benchmarks.ours")
        importlib.import_module("ipulse_ops.keras")
        libraries = memory()["resident_mib"] - before
        program = ours.build(work, side.removeprefix("ours:"), threads)
        versions = ours.versions()
    else:
        peer = PEERS[side]
        if peer.environment == "torch":
            import torch

            torch.set_num_threads(threads)
        adapter = importlib.import_module(f"benchmarks.peers.{peer.module}")
        libraries = memory()["resident_mib"] - before
        program = adapter.build(work, threads, peer.fused_adam)
        versions = {package: version(package) for package in peer.packages}
    return program, {"versions": versions, "libraries_mib": libraries}


def timed(step: Any, calls: int) -> dict[str, Any]:
    """Wall-clock and processor milliseconds of each call."""
    wall, cpu, loss = [], [], float("nan")
    for _ in range(calls):
        start, used = time.perf_counter(), time.process_time()
        loss = step()
        wall.append(1e3 * (time.perf_counter() - start))
        cpu.append(1e3 * (time.process_time() - used))
    return {"ms": wall, "cpu_ms": cpu, "loss": loss}


def memory() -> dict[str, float]:
    """Resident memory of this process, and its peak since the last call."""
    status = Path("/proc/self/status").read_text()
    lines = dict(line.split(":", 1) for line in status.splitlines())
    found = {
        name: int(lines[key].split()[0]) / 1024
        for name, key in (("resident_mib", "VmRSS"), ("peak_mib", "VmHWM"))
    }
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    return found


def answer(program: Program, command: str, argument: str) -> dict[str, Any]:
    """What the parent asked for."""
    if command == "memory":
        return memory()
    if command == "gradients":
        loss, rates = program.forward(), program.rates()
        np.savez(argument, *program.gradients())
        return {"loss": loss, "rates": rates}
    return timed({"forward": program.forward, "train": program.train}[command], int(argument))


def main(side: str, path: str, name: str, threads: str) -> None:
    """Answers until the input ends."""
    # Libraries print; the parent's pipe is for answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    program, built = build(side, load(Path(path), CONFIGS[name]), int(threads))
    print(json.dumps(built), file=answers, flush=True)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        print(json.dumps(answer(program, command, argument)), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
