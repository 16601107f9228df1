"""What the Poplar op costs on an emulated Mk2, and the emulator beside the CPU kernels.

python -m benchmarks.poplar_op      measures, a process for each capacity
python -m benchmarks.poplar_report  writes the tables into docs/poplar_op.md

Cycles are the emulator's, never a device's. The network is 2312-1466-1466-10 with 100 steps, 48
samples and capacities of 1, 5 and 10 %, and once with every layer on two IPUs. Every input slot is
filled. The hidden weights are drawn so that, were there no reset, spikes would fill a layer's
slots; its second threshold of 0.5 takes what they leave. The tables say how many there were.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist, median
from typing import Any

import numpy as np

from benchmarks.results import DIRECTORY, Results, Row
from ipulse_ops.lif.cpu import arrays as cpu
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.poplar import adam
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.attributes import Placement
from ipulse_ops.lif.poplar.build import build
from ipulse_ops.lif.poplar.sources import sources
from ipulse_ops.lif.poplar.tile_plan import tile_plan
from poplar_emulator.custom_op import CustomOp

SIZES, STEPS, BATCH = (2312, 1466, 1466, 10), 100, 48
CAPACITIES = (0.01, 0.05, 0.1)
SPLIT = (0.05, 2)  # the capacity and the IPUs that every layer is also split over
SMALL_SIZES, SMALL_CAPACITY = (700, 256, 256, 20), 0.05  # where the emulator's speed is taken
DECAY = 0.95
PARTS = ("sync", "exchange", "compute", "host")
CLOCK = 1.33e9  # Hz of a Mk2
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Problem:
    network: Network
    weights: list[np.ndarray]
    ids: np.ndarray
    counts: np.ndarray
    grad_membrane: np.ndarray


def problem(sizes: tuple[int, ...], capacity: float, steps: int, batch: int) -> Problem:
    """The same for every process."""
    rng = np.random.default_rng(0)
    slots = [max(1, int(size * capacity)) for size in sizes]
    # Of a normal membrane P(u > 1) is the capacity; ops/ipulse_ops/training/initialisation.py has
    # its deviation.
    sigma = 1 / NormalDist().inv_cdf(1 - capacity)
    hidden = tuple(
        LIF(n, DECAY, second_threshold=0.5, capacity=k, gain=1 / (1 - DECAY))
        for n, k in zip(sizes[1:-1], slots[1:-1], strict=True)
    )
    network = Network(sizes[0], hidden, LeakyReadout(sizes[-1], DECAY), delay=1)
    weights = []
    for n_in, n_out in pairwise(sizes):
        deviation = sigma * np.sqrt((1 - DECAY**2) / (n_in * capacity))
        weights.append((rng.standard_normal((n_in, n_out)) * deviation).astype(np.float32))
    order = np.argsort(rng.random((steps, batch, sizes[0]), np.float32), axis=2)
    ids = np.sort(order[..., : slots[0]], axis=2).astype(np.int32)
    counts = np.full((steps, batch), slots[0], np.int32)
    grad = rng.standard_normal((steps, batch, sizes[-1])).astype(np.float32)
    return Problem(network, weights, ids, counts, grad)


def costs_of(capacity: float, steps: int, ipus: int) -> Row:
    """The row of a capacity, in a process of its own: its peak memory is the host's. With several
    IPUs each has neurons of every layer."""
    p = problem(SIZES, capacity, steps, BATCH)
    slots = p.ids.shape[2]
    build()
    start = time.perf_counter()
    placement = Placement(ipus=ipus, split="neurons" if ipus > 1 else "layers")
    with PoplarLIF(p.network, steps, BATCH, slots, placement) as op:
        compile_seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        run = op.forward(p.weights, p.ids, p.counts)
        forward = _passed(op.op, {})
        gradients = op.backward(p.grad_membrane)
        backward = _passed(op.op, forward)
        profile = op.op.profile()
    tiles = [tile["memory"]["total"]["includingGaps"] for tile in profile["compilation"]["tiles"]]
    with adam.PoplarAdam(p.network, input_slots=slots) as optimizer:
        zeros = tuple(np.zeros_like(w) for w in p.weights)
        state = adam.AdamState(tuple(p.weights), zeros, zeros)
        optimizer.update(state, gradients.weights, 1e-3, 1)
        update = _passed(optimizer.op, {})
    return {
        "what": "cycles",
        "capacity": capacity,
        "ipus": ipus,
        "slots": [slots, *(layer.slots for layer in p.network.layers)],
        "spikes": [float(layer.spike_counts[..., 0].mean()) for layer in run.layers],
        "filled": [float(layer.spike_counts[..., 1].mean()) for layer in run.layers],
        "compile_seconds": compile_seconds,
        "compile_peak_mib": peak,
        "fullest_tile_bytes": max(tiles),
        "tile_bytes": profile["compilation"]["target"]["bytesPerTile"],
        "vertices": profile["compilation"]["graph"]["numVertices"],
        "load_balance": tile_plan(p.network, BATCH, slots, placement)["load_balance"],
        "forward": _table(forward, steps),
        "backward": _table(backward, steps + 1),
        "adam": _table(update, 0),
    }


def _passed(op: CustomOp, before: dict[int, Row]) -> dict[int, Row]:
    """Programs that ran since `before`, by number, with their cycles."""
    profile = op.profile()
    names = {one["_id"]: one["name"] for one in profile["compilation"]["programs"]}
    sets = {one["name"]: one["numVertices"] for one in profile["compilation"]["computeSets"]}
    found = {}
    for total in profile["execution"]["totals"]:
        if total["program"] not in before:
            name = names[total["program"]]
            cycles = {part: total[f"{part}Cycles"] for part in PARTS}
            cycles["between_ipus"] = total["bytesBetweenIpus"]
            row = {"name": name, "executions": total["executions"], "vertices": sets.get(name)}
            found[total["program"]] = {**row, **cycles}
    return found


def _table(programs: dict[int, Row], times: int) -> Row:
    """Cycles of a turn of the time loop, which ran so many times, by program, and of the rest."""
    loop = [row for row in programs.values() if row["executions"] == times and times > 1]
    once = [row for row in programs.values() if row not in loop]
    return {
        "turns": times,
        "turn": {part: sum(row[part] for row in loop) / max(times, 1) for part in PARTS},
        "once": {part: sum(row[part] for row in once) for part in PARTS},
        "bytes_between_ipus": sum(row["between_ipus"] for row in loop) / max(times, 1),
        "programs": [
            {**row, **{part: row[part] / times for part in PARTS}}
            for row in sorted(loop, key=lambda row: -row["compute"])
        ],
    }


def speed(steps: int) -> Row:
    """Seconds of a forward and a backward pass, emulated and on the CPU, medians of a few."""
    p = problem(SMALL_SIZES, SMALL_CAPACITY, steps, BATCH)
    found: Row = {"what": "speed", "capacity": SMALL_CAPACITY, "ipus": 1}
    found["sizes"] = list(SMALL_SIZES)
    with PoplarLIF(p.network, steps, BATCH, p.ids.shape[2]) as op:
        emulated = _timed(
            3,
            lambda: op.forward(p.weights, p.ids, p.counts),
            lambda _: op.backward(p.grad_membrane),
        )
    on_cpu = _timed(
        15,
        lambda: cpu.forward(p.network, p.weights, p.ids, p.counts),
        lambda run: cpu.backward(p.network, p.weights, p.ids, p.counts, run, p.grad_membrane),
    )
    for name, ours, theirs in zip(("forward", "backward"), emulated, on_cpu, strict=True):
        found[name] = {"emulated_seconds": ours, "cpu_seconds": theirs, "times": ours / theirs}
    found["times"] = sum(emulated) / sum(on_cpu)
    return found


def _timed(times: int, forward: Any, backward: Any) -> list[float]:
    passes: list[list[float]] = []
    for _ in range(times + 1):
        begin = time.perf_counter()
        run = forward()
        middle = time.perf_counter()
        backward(run)
        passes.append([middle - begin, time.perf_counter() - middle])
    return [median(one) for one in zip(*passes[1:], strict=True)]


def digest() -> str:
    """Of the op's sources: figures of others are measured again."""
    content = b"".join(path.name.encode() + path.read_bytes() for path in sources())
    return hashlib.sha256(content).hexdigest()[:12]


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser("python -m benchmarks.poplar_op", description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--one", help="a capacity, or speed: print its row")
    parser.add_argument("--ipus", type=int, default=1, help="of --one: that have its layers")
    given = parser.parse_args(arguments)
    if given.one:
        row = (
            speed(given.steps)
            if given.one == "speed"
            else costs_of(float(given.one), given.steps, given.ipus)
        )
        print(json.dumps(row))
        return
    settings = {"op": digest(), "steps": given.steps, "batch": BATCH, "sizes": list(SIZES)}
    results = Results("poplar_op", ("what", "capacity", "ipus"), settings, DIRECTORY)
    cases = [*(("cycles", capacity, 1) for capacity in CAPACITIES), ("cycles", *SPLIT)]
    for what, capacity, ipus in [*cases, ("speed", SMALL_CAPACITY, 1)]:
        if results.has(what=what, capacity=capacity, ipus=ipus):
            continue
        one = "speed" if what == "speed" else str(capacity)
        command = [sys.executable, "-m", "benchmarks.poplar_op", "--one", one, "--ipus", str(ipus)]
        done = subprocess.run(
            [*command, "--steps", str(given.steps)], cwd=ROOT, stdout=subprocess.PIPE, check=True
        )
        results.put(json.loads(done.stdout))
        print(f"{what} {one} on {ipus}")


if __name__ == "__main__":
    main()
