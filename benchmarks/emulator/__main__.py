"""Measure Poplar programs on the emulator. All cycles are emulated, never a device's.

    python -m benchmarks.emulator op                cycles of the Poplar op, some minutes
    python -m benchmarks.emulator recompute         the op that recomputes states, and memory saved
    python -m benchmarks.emulator half              accuracy of weights of 16 bits
    python -m benchmarks.emulator speed             the emulator beside the CPU kernels
    python -m benchmarks.emulator questions         tables of docs/explanation/ipu_*.md
    python -m benchmarks.emulator questions step    one program's table
    python -m benchmarks.emulator published         cycles beside published figures of IPUs
    python -m benchmarks.emulator memory            predicted memory of tiles beside the compiler's
    python -m benchmarks.emulator cycles            predicted cycles of a training step beside them
    python -m benchmarks.emulator scaling           how compilation grows with the graph
    python -m benchmarks.emulator connections       seconds of a runner's phases by connection

`COMMAND --help` lists the options; --output FILE writes the table as CSV.
"""

from __future__ import annotations

import sys

from benchmarks.common import command_line

COMMANDS = {
    "op": "op_cost",
    "recompute": "recomputation",
    "half": "half_precision",
    "speed": "op_speed",
    "questions": "questions",
    "published": "published",
    "memory": "tile_memory",
    "scaling": "scaling",
    "cycles": "step_cycles",
    "connections": "connections",
}

if __name__ == "__main__":
    sys.exit(command_line.run("benchmarks.emulator", __doc__, COMMANDS))
