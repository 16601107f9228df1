"""Where the time of our training step goes, part by part and layer by layer.

    python -m benchmarks.breakdown [--config A] [--threads 2] [--seconds 4]
    python -m benchmarks.breakdown --within 60       rows for 60 s; the same again goes on

The kernels' own clocks (native.clock_phases) give their parts; what gathering costs beside the
state update comes from a second network that hears nothing; the optimizer is timed alone, on the
same shapes; what is left of a step outside the kernels is TensorFlow's. All four are measured in
turns, and the step itself without clocks.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from benchmarks import ops, ours
from benchmarks.machine import Load
from benchmarks.results import DIRECTORY, Results
from benchmarks.workload import CONFIGS, LEARNING_RATE, Workload, draw
from ipulse_ops.lif.cpu import arrays, native
from ipulse_ops.reference.spikes import dense_to_sparse

# Parts of a kernel (kernel.h) that are told by layer, and those that are added up.
BY_LAYER = {
    "backward": (
        *("sampled_product", "sparse_backward", "dense_backward", "general_backward"),
        *("dense_product", "add_blocks", "spread_products"),
    ),
    "weight gradient": ("weight_gradient", "sum_multiples"),
}
ADDED_UP = {
    "selection": ("select", "gather", "count_bits", "list_bits"),
    "readout": ("leaky_forward", "leaky_backward"),
    "packing weights": ("pack", "pack_transposed", "transpose"),
}


Found = TypeVar("Found")
Call = dict[str, list[float]]
TURNS = 4  # of each measurement


def repeat(measure: Callable[[], Found], seconds: float) -> list[Found]:
    """What it finds until the time is up, but the first time, which finds the caches cold."""
    measure()
    found = [measure()]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        found.append(measure())
    return found


def clocked(step: Callable[[], Any], threads: int) -> Call:
    """Milliseconds of one call in each part and layer of the kernels, per thread; "all", the whole
    time inside the kernels, forward and backward; and "outside", the rest of the call."""
    native.reset_timings()
    native.clock_phases(True)
    try:
        whole = ops.milliseconds(step)
        spent = native.timings()
        kernels = [1e3 * spent[name] for name in ("forward", "backward")]
        parts = {
            name: [1e3 * seconds / threads for seconds in each]
            for name, each in native.phases().items()
        }
    finally:
        native.clock_phases(False)
    return {**parts, "all": kernels, "outside": [whole - sum(kernels)]}


def medians(calls: list[Call]) -> Call:
    """Of each part and layer over the calls."""
    return {
        name: [statistics.median(call[name][k] for call in calls) for k in range(len(each))]
        for name, each in calls[0].items()
    }


def optimizer(work: Workload, threads: int) -> Callable[[], None]:
    """The training step's update alone, on weights of the same shapes."""
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


def quiet(work: Workload) -> Workload:
    """The same with one input spike in all."""
    spikes = np.zeros_like(work.spikes)
    spikes[0, 0, 0] = 1
    return replace(work, spikes=spikes)


def activity(work: Workload, variant: str) -> dict[str, list[float]]:
    """Of one forward pass at the initial weights: spikes that enter each layer and the readout, and
    neurons that carry gradient in each hidden layer."""
    network = ours.network_of(work.config, ours.SECOND_THRESHOLD[variant])
    run = arrays.forward(network, work.weights, *dense_to_sparse(work.spikes), store="nothing")
    pairs = [layer.spike_counts.sum(axis=(0, 1), dtype=np.int64) for layer in run.layers]
    return {
        "spikes": [float(work.spikes.sum()), *(float(pair[0]) for pair in pairs)],
        "kept": [float(pair[1]) for pair in pairs],
    }


def measure(name: str, variant: str, threads: int, seconds: float) -> dict[str, Any]:
    """Milliseconds of a training step and of its parts."""
    work = draw(CONFIGS[name])
    before = Load.now([os.getpid()])
    program = ops.build(work, ours.SECOND_THRESHOLD[variant], threads)
    silent = ops.build(quiet(work), ours.SECOND_THRESHOLD[variant], threads)
    update = optimizer(work, threads)
    for step in (program.train, silent.train, update):
        for _ in range(3):
            step()
    # In turns: a machine that is slower for a while is so for all of them.
    plain: list[float] = []
    updates: list[float] = []
    calls: list[Call] = []
    silent_calls: list[Call] = []
    for _ in range(TURNS):
        plain += repeat(lambda: ops.milliseconds(program.train), seconds / TURNS)
        calls += repeat(lambda: clocked(program.train, threads), seconds / TURNS)
        silent_calls += repeat(lambda: clocked(silent.train, threads), seconds / 2 / TURNS)
        updates += repeat(lambda: ops.milliseconds(update), seconds / 2 / TURNS)
    found, adam = medians(calls), statistics.median(updates)
    state = sum(medians(silent_calls)["lif_forward"])
    gather = max(0.0, sum(found["lif_forward"]) - state)
    parts = {"gather": gather, "state update": sum(found["lif_forward"]) - gather}
    for label, names in ADDED_UP.items():
        parts[label] = sum(sum(found.get(one, [])) for one in names)
    layers = len(work.weights)
    for label, names in BY_LAYER.items():
        for number in range(layers):
            spent = sum(found[one][number] for one in names if one in found)
            if spent:
                parts[f"{label} {number + 1}"] = spent
    known = {"lif_forward", "all", "outside"}.union(*ADDED_UP.values(), *BY_LAYER.values())
    for one in sorted(set(found) - known):
        if any(found[one]):
            parts[one] = sum(found[one])
    kernels = sum(found["all"])
    parts["rest of the kernels"] = max(0.0, kernels - sum(parts.values()))
    parts["optimizer"] = adam
    parts["TensorFlow"] = max(0.0, found["outside"][0] - adam)
    return {
        "config": name,
        "variant": variant,
        "threads": threads,
        "step_ms": statistics.median(plain),
        "parts_ms": parts,
        "activity": activity(work, variant),
        "others_load": before.until(Load.now([os.getpid()])),
    }


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.breakdown",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", choices=sorted(CONFIGS), action="append")
    parser.add_argument("--variant", choices=ours.SECOND_THRESHOLD, action="append")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each of four measurements")
    parser.add_argument("--again", action="store_true", help="also what has a result already")
    parser.add_argument(
        "--within", type=float, default=float("inf"), help="seconds after which no row begins"
    )
    options = parser.parse_args(arguments)
    results = Results("breakdown", ("config", "variant", "threads"), {}, DIRECTORY)
    end = time.monotonic() + options.within
    for name in options.config or "ABCD":
        for variant in options.variant or ours.SECOND_THRESHOLD:
            place = {"config": name, "variant": variant, "threads": options.threads}
            if results.has(**place) and not options.again:
                continue
            if time.monotonic() > end:
                print("more is to be measured: the same command again goes on")
                return
            row = measure(name, variant, options.threads, options.seconds)
            results.put(row)
            parts = ", ".join(f"{part} {ms:.2f}" for part, ms in row["parts_ms"].items())
            print(f"{name} {variant:10} {row['step_ms']:.1f} ms: {parts}", flush=True)


if __name__ == "__main__":
    main()
