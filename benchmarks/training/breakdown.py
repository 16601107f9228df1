"""Measure where the time of our training step goes, part by part and layer by layer.

    python -m benchmarks.training breakdown --config A --variant exact

The kernels' own clocks give their parts. Running a second network that receives one spike in all
separates the sum of weight rows from the state update. The optimizer is timed alone on weights of
the same shapes; the rest of a step outside the kernels is TensorFlow. All are measured in
interleaved rounds, and the step itself also without clocks.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from benchmarks.common import command_line
from benchmarks.common.machine import MachineLoad
from benchmarks.common.tables import Row, finish
from benchmarks.training import network
from benchmarks.training.rounds import milliseconds
from benchmarks.training.workload import CONFIGS, LEARNING_RATE, Workload, draw
from ipulse_ops.lif.cpu import native

# Parts of a kernel (kernel.h) that are reported by layer, and those that are added up.
BY_LAYER = {
    "backward": (
        *("sampled_product", "sparse_backward", "dense_backward", "general_backward"),
        *("dense_product", "add_blocks", "spread_products"),
    ),
    "weight gradient": ("weight_gradient",),
}
ADDED_UP = {
    "selection": ("select", "gather", "count_bits", "list_bits"),
    "readout": ("leaky_forward", "leaky_backward"),
    "packing weights": ("pack", "pack_transposed", "transpose"),
}
ROUNDS = 4

Result = TypeVar("Result")
Clocks = dict[str, list[float]]  # milliseconds by part of the kernels and layer


def repeat(measure: Callable[[], Result], seconds: float) -> list[Result]:
    """Return what `measure` returns until the time is up, without the first, cold call."""
    measure()
    results = [measure()]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        results.append(measure())
    return results


def clocked(step: Callable[[], Any], threads: int) -> Clocks:
    """Return the milliseconds of one call in each part and layer of the kernels, per thread.

    "all" is the time inside the kernels, forward and backward; "outside" is the rest of the call.
    """
    native.reset_timings()
    native.clock_phases(True)
    try:
        whole = milliseconds(step)
        spent = native.timings()
        kernels = [1e3 * spent[name] for name in ("forward", "backward")]
        parts = {
            name: [1e3 * seconds / threads for seconds in layers]
            for name, layers in native.phases().items()
        }
    finally:
        native.clock_phases(False)
    return {**parts, "all": kernels, "outside": [whole - sum(kernels)]}


def medians(calls: list[Clocks]) -> Clocks:
    """Return the median of each part and layer over the calls."""
    return {
        name: [statistics.median(call[name][k] for call in calls) for k in range(len(layers))]
        for name, layers in calls[0].items()
    }


def optimizer(work: Workload, threads: int) -> Callable[[], None]:
    """Return the training step's weight update alone, on weights of the same shapes."""
    import tensorflow as tf

    from ipulse_ops.direct_call import DirectCall
    from ipulse_ops.training.adam import apply_adam

    weights, means, squares = (
        [tf.Variable(tf.zeros(matrix.shape)) for matrix in work.weights] for _ in range(3)
    )
    grads = [tf.constant(matrix) for matrix in work.weights]
    number = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def update() -> Any:
        count = number.assign_add(1)
        apply_adam(weights, means, squares, grads, count, LEARNING_RATE, threads=threads)
        return count

    call = DirectCall(update)
    return lambda: call().numpy()


def silent(work: Workload) -> Workload:
    """Return the same workload with one input spike in all."""
    spikes = np.zeros_like(work.spikes)
    spikes[0, 0, 0] = 1
    return replace(work, spikes=spikes)


def measure(name: str, variant: str, threads: int, seconds: float) -> list[Row]:
    """Return a row per part of a training step; the first is the whole step."""
    work = draw(CONFIGS[name])
    before = MachineLoad.now([os.getpid()])
    program = network.build(work, variant, threads)
    quiet = network.build(silent(work), variant, threads)
    update = optimizer(work, threads)
    for step in (program.train, quiet.train, update):
        for _ in range(3):
            step()
    plain: list[float] = []
    updates: list[float] = []
    calls: list[Clocks] = []
    quiet_calls: list[Clocks] = []
    for _ in range(ROUNDS):
        plain += repeat(lambda: milliseconds(program.train), seconds / ROUNDS)
        calls += repeat(lambda: clocked(program.train, threads), seconds / ROUNDS)
        quiet_calls += repeat(lambda: clocked(quiet.train, threads), seconds / 2 / ROUNDS)
        updates += repeat(lambda: milliseconds(update), seconds / 2 / ROUNDS)
    step_ms = statistics.median(plain)
    clocks, quiet_clocks = medians(calls), medians(quiet_calls)
    parts = split(clocks, sum(quiet_clocks["lif_forward"]), statistics.median(updates))
    load = before.background_cpus(MachineLoad.now([os.getpid()]))
    return [
        {
            "config": name,
            "variant": variant,
            "part": part,
            "ms": ms,
            "share": ms / step_ms,
            "background_cpus": load,
        }
        for part, ms in {"whole step": step_ms, **parts}.items()
    ]


def split(clocks: Clocks, state_ms: float, adam_ms: float) -> dict[str, float]:
    """Return the milliseconds of each reported part from the kernels' clocks.

    state_ms: the forward pass of a network without spikes. adam_ms: the optimizer alone.
    """
    forward = sum(clocks["lif_forward"])
    gather = max(0.0, forward - state_ms)
    parts = {"gather": gather, "state update": forward - gather}
    for label, names in ADDED_UP.items():
        parts[label] = sum(sum(clocks.get(name, [])) for name in names)
    layers = max(len(layers) for layers in clocks.values())
    for label, names in BY_LAYER.items():
        for number in range(layers):
            spent = sum(sum(clocks.get(name, [])[number : number + 1]) for name in names)
            if spent:
                parts[f"{label} {number + 1}"] = spent
    reported = {"lif_forward", "all", "outside"}.union(*ADDED_UP.values(), *BY_LAYER.values())
    for name in sorted(set(clocks) - reported):
        if any(clocks[name]):
            parts[name] = sum(clocks[name])
    parts["rest of the kernels"] = max(0.0, sum(clocks["all"]) - sum(parts.values()))
    parts["optimizer"] = adam_ms
    parts["TensorFlow"] = max(0.0, clocks["outside"][0] - adam_ms)
    return parts


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("training breakdown", __doc__)
    parser.add_argument("--config", choices=sorted(CONFIGS), action="append", help="default: A-D")
    parser.add_argument("--variant", choices=network.SECOND_THRESHOLD, action="append")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0, help="per measurement (%(default)s)")
    options = parser.parse_args(arguments)
    rows = []
    for name in options.config or "ABCD":
        for variant in options.variant or network.SECOND_THRESHOLD:
            rows += measure(name, variant, options.threads, options.seconds)
    finish(rows, options.output)
