"""Compare the emulator with the CPU kernels: seconds of a forward and a backward pass.

python -m benchmarks.emulator speed --steps 20
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.emulator.problem import BATCH, STEPS, draw
from ipulse_ops.lif.cpu import arrays as cpu
from ipulse_ops.lif.poplar.arrays import PoplarLIF

SIZES, CAPACITY = (700, 256, 256, 20), 0.05


def speed(sizes: tuple[int, ...], steps: int, batch: int) -> list[Row]:
    """Return a row per pass: medians of some calls, emulated and on the CPU."""
    p = draw(sizes, CAPACITY, steps, batch)
    with PoplarLIF(p.network, steps, batch, p.ids.shape[2]) as op:
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
    return [
        {"pass": name, "emulated_s": slow, "cpu_s": fast, "ratio": slow / fast}
        for name, slow, fast in zip(("forward", "backward"), emulated, on_cpu, strict=True)
    ]


def _timed(times: int, forward: Callable[[], Any], backward: Callable[[Any], Any]) -> list[float]:
    passes: list[list[float]] = []
    for _ in range(times + 1):
        begin = time.perf_counter()
        run = forward()
        middle = time.perf_counter()
        backward(run)
        passes.append([middle - begin, time.perf_counter() - middle])
    return [median(one) for one in zip(*passes[1:], strict=True)]


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("emulator speed", __doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="(%(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS, help="(%(default)s)")
    parser.add_argument("--batch", type=int, default=BATCH, help="(%(default)s)")
    options = parser.parse_args(arguments)
    sizes = tuple(map(int, options.sizes.split(",")))
    finish(speed(sizes, options.steps, options.batch), options.output)
