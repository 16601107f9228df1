"""How time and memory grow with the network, and where the cost stops following the spikes.

    python -m benchmarks.growth                      every point; --within says how long at most
    python -m benchmarks.growth --within 100         points for 100 s; the same again goes on
    python -m benchmarks.growth --axis activity --quick

One size changes at a time, every point in a process of its own. Beside each pass, in turns, runs
what a dense library cannot do without: TensorFlow's matrix products of the same layers (forward;
then those by weights and by spikes, and the same Adam), without any neurons.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks import ops, ours
from benchmarks.breakdown import optimizer
from benchmarks.child import memory
from benchmarks.machine import Load
from benchmarks.results import DIRECTORY, Results
from benchmarks.side import ROOT
from benchmarks.turns import summary
from benchmarks.workload import Config, Workload, draw
from ipulse_ops.lif.cpu import arrays
from ipulse_ops.reference.spikes import dense_to_sparse

THREADS = 2


@dataclass(frozen=True)
class Size:
    """One point. activity: spikes per neuron and step, of the input and of every hidden layer."""

    neurons: int = 512
    steps: int = 50
    batch: int = 32
    activity: float = 0.02
    layers: int = 2


AXES: dict[str, tuple[float, ...]] = {
    "neurons": (64, 256, 1024, 4096, 16384),
    "steps": (25, 50, 100, 200, 400),
    "batch": (8, 16, 32, 64, 128),
    "activity": (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5),
    "layers": (1, 2, 4, 8),
}
QUICK: dict[str, tuple[float, ...]] = {
    "neurons": (64, 256, 1024, 4096),
    "steps": (25, 100, 400),
    "batch": (8, 32, 128),
    "activity": (0.001, 0.01, 0.1, 0.5),
    "layers": (1, 2, 4),
}
VARIANTS = ("gated 0.9", "exact")
# Above this activity weights have a mean: without it a third of the neurons is the most that
# random currents, of both signs, make spike.
ACTIVE = 0.2
LIFT = 0.5  # times the standard deviation over sqrt(N_in)


def sizes(axis: str, values: tuple[float, ...]) -> Iterator[tuple[float, Size]]:
    """The points of an axis."""
    base = Size(neurons=1024) if axis == "activity" else Size()
    for value in values:
        kind = type(getattr(base, axis))
        yield value, replace(base, **{axis: kind(value)})


def workload(size: Size) -> Workload:
    """Weights whose gains make every layer fire at about the wanted activity.

    The gains are found by bisection, layer by layer, on a network that is small: with weights
    scaled by sqrt(N_in activity) they hardly depend on the neurons.
    """
    small = Config(
        min(size.neurons, 512), size.steps, min(size.batch, 4), size.activity, (1.0,) * size.layers
    )
    trial = lifted(draw(small))
    spikes = dense_to_sparse(trial.spikes)
    gains: list[float] = []
    for number in range(size.layers):
        low, high = 0.1, 1e3
        for _ in range(16):
            gain = (low * high) ** 0.5
            config = replace(small, gains=(*gains, gain))
            weights = [
                matrix * np.float32(one)
                for matrix, one in zip(trial.weights, config.gains, strict=False)
            ]
            network = ours.network_of(config, None)
            run = arrays.forward(network, [*weights, trial.weights[-1]], *spikes, store="nothing")
            rate = run.layers[number].spike_counts[..., 0].mean() / small.neurons
            low, high = (gain, high) if rate < size.activity else (low, gain)
        gains.append((low * high) ** 0.5)
    full = Config(size.neurons, size.steps, size.batch, size.activity, tuple(gains))
    return lifted(draw(full))


def lifted(work: Workload) -> Workload:
    """The same with the mean that its hidden weights have where more than ACTIVE is wanted."""
    config = work.config
    if config.rate <= ACTIVE:
        return work
    hidden = [
        matrix + np.float32(LIFT * gain / (len(matrix) * config.rate**0.5))
        for matrix, gain in zip(work.weights, config.gains, strict=False)
    ]
    return replace(work, weights=(*hidden, work.weights[-1]))


def dense(work: Workload) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A dense library's matrix products of a forward pass and of a training step, with Adam."""
    import tensorflow as tf

    from ipulse_ops.direct_call import DirectCall

    rows = work.config.steps * work.config.batch
    weights = [tf.Variable(matrix) for matrix in work.weights]
    spikes = [tf.constant(work.spikes.reshape(rows, -1))]
    spikes += [tf.zeros((rows, matrix.shape[0])) for matrix in work.weights[1:]]
    currents = [tf.zeros((rows, matrix.shape[1])) for matrix in work.weights]
    update = optimizer(work, THREADS)

    def sample(products: list[Any]) -> Any:
        # One entry of each, so that none is left out and none is copied.
        return tf.add_n([product[0, 0] for product in products])

    @tf.function
    def forward() -> Any:
        return sample([tf.matmul(s, w) for s, w in zip(spikes, weights, strict=True)])

    @tf.function
    def backward() -> Any:
        by_weights = [
            tf.matmul(s, i, transpose_a=True) for s, i in zip(spikes, currents, strict=True)
        ]
        by_spikes = [
            tf.matmul(i, w, transpose_b=True)
            for i, w in list(zip(currents, weights, strict=True))[1:]
        ]
        return sample(by_weights + by_spikes)

    call_forward, call_backward = DirectCall(forward), DirectCall(backward)

    def train() -> None:
        call_forward().numpy()
        call_backward().numpy()
        update()

    return lambda: call_forward().numpy(), train


def point(size: Size, variant: str, seconds: float) -> dict[str, Any]:
    """Milliseconds of both passes, ours and dense, and MiB that our training step takes."""
    work = workload(size)
    before = Load.now([os.getpid()])
    program = ops.build(work, ours.SECOND_THRESHOLD[variant], THREADS)
    row: dict[str, Any] = {"rates": program.rates()}
    resident = memory()["resident_mib"]
    program.train()
    row["step_mib"] = memory()["peak_mib"] - resident
    dense_passes = dense(work)
    for what, one, other in zip(
        ("forward", "train"), (program.forward, program.train), dense_passes, strict=True
    ):
        times: tuple[list[float], list[float]] = ([], [])
        one()
        other()
        end = time.perf_counter() + seconds
        while len(times[0]) < 5 or time.perf_counter() < end:
            for step, found in zip((one, other), times, strict=True):
                found.append(ops.milliseconds(step))
        for label, found in zip((what, f"dense_{what}"), times, strict=True):
            row[label] = summary(found, size.batch)
    return {**row, "others_load": before.until(Load.now([os.getpid()]))}


def in_process(size: Size, variant: str, seconds: float) -> dict[str, Any]:
    """`point` in a child, whose memory is its own. Raises RuntimeError with its last words."""
    order = json.dumps({"size": asdict(size), "variant": variant, "seconds": seconds})
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", "--point", order],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    if told.returncode:
        raise RuntimeError(f"{size}, {variant}: {told.stderr.strip().splitlines()[-1]}")
    row: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return row


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--axis", choices=AXES, action="append")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each point and pass")
    parser.add_argument("--quick", action="store_true", help="fewer points, --seconds 0.5")
    parser.add_argument("--again", action="store_true", help="also what has a result already")
    parser.add_argument(
        "--within", type=float, default=float("inf"), help="seconds after which no point begins"
    )
    parser.add_argument("--point", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.point:
        order = json.loads(options.point)
        print(json.dumps(point(Size(**order["size"]), order["variant"], order["seconds"])))
        return
    seconds = 0.5 if options.quick else options.seconds
    end = time.monotonic() + options.within
    results = Results("growth", ("axis", "value", "variant"), {"seconds": seconds}, DIRECTORY)
    for axis in options.axis or AXES:
        for value, size in sizes(axis, (QUICK if options.quick else AXES)[axis]):
            for variant in VARIANTS:
                place = {"axis": axis, "value": value, "variant": variant}
                if results.has(**place) and not options.again:
                    continue
                if time.monotonic() > end:
                    print("more is to be measured: the same command again goes on")
                    return
                row = {**place, "size": asdict(size), **in_process(size, variant, seconds)}
                results.put(row)
                print(
                    f"{axis} {value:g} {variant}: forward {row['forward']['ms']:.2f} ms (dense "
                    f"{row['dense_forward']['ms']:.2f}), train {row['train']['ms']:.2f} ms (dense "
                    f"{row['dense_train']['ms']:.2f}), {row['step_mib']:.0f} MiB, "
                    f"rates {', '.join(f'{rate:.4f}' for rate in row['rates'])}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
