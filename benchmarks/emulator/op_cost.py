"""Count the cycles of the Poplar op on an emulated Mk2, by capacity, and split over two IPUs.

    python -m benchmarks.emulator op
    python -m benchmarks.emulator op --capacity 0.05 --compute-sets
    python -m benchmarks.emulator op --capacity 0.05 --filled 0.25    most slots stay empty
    python -m benchmarks.emulator op --sizes 96,48,10 --steps 3 --batch 4    a small network

The network is 2312-1466-1466-10 with 100 steps and 48 samples. A turn is one turn of the time
loop; `once` is the rest of a run. Cycles are emulated, never a device's.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np

from benchmarks.common import command_line
from benchmarks.common.processes import in_fresh_process
from benchmarks.common.tables import Row, finish
from benchmarks.emulator.problem import BATCH, SIZES, STEPS, draw
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar import adam
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.build import build
from ipulse_ops.lif.poplar.tile_plan import tile_plan
from poplar_emulator.custom_op import CustomOp

CAPACITIES = (0.01, 0.05, 0.1)
SPLIT = (0.05, 2)  # the capacity that is also measured with every layer on so many IPUs
PARTS = ("sync", "exchange", "compute", "host")
CLOCK = 1.33e9  # Hz of a Mk2

Programs = dict[int, Row]


def costs(
    sizes: tuple[int, ...], capacity: float, steps: int, batch: int, ipus: int, filled: float
) -> tuple[list[Row], list[Row]]:
    """Return the rows of the passes and of their compute sets.

    To be called in a fresh process: its peak memory is reported.
    """
    problem = draw(sizes, capacity, steps, batch, filled)
    slots = problem.ids.shape[2]
    build()
    start = time.perf_counter()
    placement = Placement(ipus=ipus, split="neurons" if ipus > 1 else "layers")
    with PoplarLIF(problem.network, steps, batch, slots, placement) as op:
        compile_s = time.perf_counter() - start
        host_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        op.forward(problem.weights, problem.ids, problem.counts)
        forward = _programs(op.op, {})
        gradients = op.backward(problem.grad_membrane)
        backward = _programs(op.op, forward)
        tiles = op.op.profile()["compilation"]["tiles"]
    with adam.PoplarAdam(problem.network, input_slots=slots) as optimizer:
        zeros = tuple(np.zeros_like(w) for w in problem.weights)
        state = adam.AdamState(tuple(problem.weights), zeros, zeros)
        optimizer.update(state, gradients.weights, 1e-3, 1)
        update = _programs(optimizer.op, {})
    whole: Row = {
        "fullest_tile_bytes": max(tile["memory"]["total"]["includingGaps"] for tile in tiles),
        "load_balance": tile_plan(problem.network, batch, slots, placement)["load_balance"],
        "compile_s": compile_s,
        "host_mib": host_mib,
    }
    passes, compute_sets = [], []
    turns = {"forward": steps, "backward": steps + 1, "adam": 0}
    for (name, count), found in zip(turns.items(), (forward, backward, update), strict=True):
        place: Row = {"capacity": capacity, "filled": filled, "ipus": ipus, "pass": name}
        loop = [row for row in found.values() if row["executions"] == count and count > 1]
        once = [row for row in found.values() if row not in loop]
        turn = {part: sum(row[part] for row in loop) / max(count, 1) for part in PARTS}
        cycles = sum(turn.values())
        rest = sum(row[part] for row in once for part in PARTS)
        between = sum(row["between_ipus"] for row in loop) / max(count, 1)
        run = {"turn": cycles, "once": rest, "run_ms": 1e3 * (count * cycles + rest) / CLOCK}
        passes.append(place | turn | run | {"bytes_between_ipus": between} | whole)
        for row in sorted(loop, key=lambda row: -row["compute"]):
            if row["compute"]:
                figures = {part: row[part] / count for part in ("exchange", "compute")}
                compute_set = {"compute_set": row["name"], "vertices": row["vertices"]}
                compute_sets.append(place | compute_set | figures)
    return passes, compute_sets


def _programs(op: CustomOp, before: Programs) -> Programs:
    """Return the programs that ran since `before` with their cycles, by number."""
    profile = op.profile()
    names = {one["_id"]: one["name"] for one in profile["compilation"]["programs"]}
    vertices = {one["name"]: one["numVertices"] for one in profile["compilation"]["computeSets"]}
    programs: dict[int, dict[str, Any]] = {}
    for total in profile["execution"]["totals"]:
        if total["program"] not in before:
            name = names[total["program"]]
            programs[total["program"]] = {
                "name": name,
                "executions": total["executions"],
                "vertices": vertices.get(name, ""),
                "between_ipus": total["bytesBetweenIpus"],
                **{part: total[f"{part}Cycles"] for part in PARTS},
            }
    return programs


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("emulator op", __doc__)
    parser.add_argument("--capacity", type=float, action="append", help="default: 0.01, 0.05, 0.1")
    parser.add_argument(
        "--filled", type=float, default=1, help="share of the slots with spikes (%(default)s)"
    )
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="(%(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS, help="(%(default)s)")
    parser.add_argument("--batch", type=int, default=BATCH, help="(%(default)s)")
    parser.add_argument("--compute-sets", action="store_true", help="a row per compute set instead")
    options = parser.parse_args(arguments)
    sizes = tuple(map(int, options.sizes.split(",")))
    cases = [(capacity, 1) for capacity in options.capacity or CAPACITIES]
    cases += [] if options.capacity else [SPLIT]
    rows: list[Row] = []
    for capacity, ipus in cases:
        problem = (sizes, capacity, options.steps, options.batch, ipus, options.filled)
        rows += in_fresh_process(costs, *problem)[options.compute_sets]
    finish(rows, options.output)
