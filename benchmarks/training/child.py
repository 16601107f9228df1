"""Run one system in a process of its own: read a command per line, answer a line of JSON.

    python -m benchmarks.training.child SYSTEM WORKLOAD.npz CONFIG THREADS

SYSTEM is a peer of the catalogue, or `ipulse:VARIANT`. Commands:

    forward N, train N   N calls: {"ms": [...], "loss": of the last call}
    gradients FILE       writes dL/dW at the present weights: {"loss": ..., "rates": [...]}
    memory               {"resident_mib", "peak_mib"}: now, and the peak since the last question

It runs in the peer's environment, which has NumPy, the library, and of this project only
`benchmarks`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.training.catalogue import PEERS
from benchmarks.training.program import Program
from benchmarks.training.workload import CONFIGS, Workload, load


def build(system: str, work: Workload, threads: int) -> tuple[Program, dict[str, Any]]:
    """Build a system; return it with the versions of its packages and its libraries' memory."""
    before = memory()["resident_mib"]
    program: Program
    if system.startswith("ipulse:"):
        network = importlib.import_module("benchmarks.training.network")
        importlib.import_module("ipulse_ops.keras")
        libraries = memory()["resident_mib"] - before
        network.limit_tensorflow_threads()
        program = network.build(work, system.removeprefix("ipulse:"), threads)
        versions = network.versions()
    else:
        peer = PEERS[system]
        if peer.environment == "torch":
            import torch

            torch.set_num_threads(threads)
        adapter = importlib.import_module(f"benchmarks.training.peers.{peer.module}")
        libraries = memory()["resident_mib"] - before
        program = adapter.build(work, threads, **dict.fromkeys(peer.options, True))
        versions = {package: version(package) for package in peer.packages}
    return program, {"versions": versions, "libraries_mib": libraries}


def timed(step: Any, calls: int) -> dict[str, Any]:
    """Return the wall-clock milliseconds of each call, and the last loss."""
    times, loss = [], float("nan")
    for _ in range(calls):
        start = perf_counter()
        loss = step()
        times.append(1e3 * (perf_counter() - start))
    return {"ms": times, "loss": loss}


def memory() -> dict[str, float]:
    """Return the resident memory of this process, and its peak since the last call."""
    status = Path("/proc/self/status").read_text()
    lines = dict(line.split(":", 1) for line in status.splitlines())
    sizes = {
        name: int(lines[key].split()[0]) / 1024
        for name, key in (("resident_mib", "VmRSS"), ("peak_mib", "VmHWM"))
    }
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    return sizes


def answer(program: Program, command: str, argument: str) -> dict[str, Any]:
    """Carry out one command."""
    if command == "memory":
        return memory()
    if command == "gradients":
        loss, rates = program.forward(), program.rates()
        np.savez(argument, *program.gradients())
        return {"loss": loss, "rates": rates}
    return timed({"forward": program.forward, "train": program.train}[command], int(argument))


def main(system: str, path: str, config: str, threads: str) -> None:
    """Answer commands until the input ends."""
    # Libraries print to standard output; the parent's pipe is for answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    program, built = build(system, load(Path(path), CONFIGS[config]), int(threads))
    print(json.dumps(built), file=answers, flush=True)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        print(json.dumps(answer(program, command, argument)), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
