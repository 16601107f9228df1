"""Compare memory and cycles of the Poplar op that stores states with one that recomputes them.

    python -m benchmarks.emulator recompute
    python -m benchmarks.emulator recompute --steps 100 --batch 4    a short sequence

The network is 700-256-256-20 on one emulated Mk2. `all` means that a layer may send every spike;
`constants` adds gradients of decays and thresholds. Cycles are emulated, never those of a device;
there are none if the program does not fit.
"""

from __future__ import annotations

import re
from dataclasses import replace

from benchmarks.common import command_line
from benchmarks.common.processes import in_fresh_process
from benchmarks.common.tables import Row, finish
from benchmarks.emulator.problem import draw
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.attributes import Wanted
from ipulse_ops.lif.poplar.outputs import steps_between_checkpoints
from poplar_emulator.custom_op import CustomOpError

SIZES, STEPS, BATCH, CAPACITY = (700, 256, 256, 20), 500, 8, 0.05
KINDS = ("compute", "exchange", "sync", "host")
# Name, whether layers send every spike, whether constants have gradients.
CASES = (("5% of the spikes", False, False), ("all", True, False), ("constants", False, True))


def costs(steps: int, batch: int, sends_all: bool, constants: bool, recompute: bool) -> Row:
    """Return the cost of a forward and a backward pass; to be called in a fresh process."""
    problem = draw(SIZES, CAPACITY, steps, batch)
    network = problem.network
    if sends_all:
        layers = [replace(layer, capacity=None) for layer in network.layers]
        network = replace(network, layers=tuple(layers))
    wanted = Wanted(constant_gradients=constants)
    if recompute:
        between = steps_between_checkpoints(network, steps, batch, wanted)
        wanted = replace(wanted, recompute=between)
    row: Row = {
        "memory": "recompute" if recompute else "slots",
        "steps_between_checkpoints": wanted.recompute or "",
    }
    try:
        op = PoplarLIF(network, steps, batch, problem.ids.shape[2], wanted=wanted)
    except CustomOpError as error:
        needed = re.search(r"needs (\d+) bytes", str(error))
        if needed is None:
            raise
        return row | {"fullest_tile_bytes": int(needed[1]), "all_tiles_mib": "", "cycles": ""}
    with op:
        op.forward(problem.weights, problem.ids, problem.counts)
        op.backward(problem.grad_membrane)
        profile = op.op.profile()
    memory = [tile["memory"] for tile in profile["compilation"]["tiles"]]
    cycles = sum(one[f"{k}Cycles"] for one in profile["execution"]["totals"] for k in KINDS)
    return row | {
        "fullest_tile_bytes": max(tile["total"]["includingGaps"] for tile in memory),
        "all_tiles_mib": sum(tile["total"]["includingGaps"] for tile in memory) / 2**20,
        "cycles": cycles,
    }


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("emulator recompute", __doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="(%(default)s)")
    parser.add_argument("--batch", type=int, default=BATCH, help="(%(default)s)")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for name, sends_all, constants in CASES:
        for recompute in (False, True):
            case = (options.steps, options.batch, sends_all, constants, recompute)
            rows.append({"network": name} | in_fresh_process(costs, *case))
    finish(rows, options.output)
