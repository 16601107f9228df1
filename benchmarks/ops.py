"""Speed of the LIF ops: the forward pass and the whole training step through TensorFlow and Keras.

    python -m benchmarks.ops                     configs A and B, exact and gated at 0.9
    python -m benchmarks.ops --config C --json   one object per line
    python -m benchmarks.ops --kernels           every kernel of kernels.inc, without TensorFlow

A training step is forward, loss, backward and Adam in one tf.function, called by
ipulse_ops.direct_call. Input spikes are ids that are ready before the clock starts, as a dense
peer's
input is ready as a dense array.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from benchmarks.program import Program
from benchmarks.workload import (
    CLASSES,
    CONFIGS,
    DECAY,
    INPUTS,
    LEARNING_RATE,
    SLOPE,
    Workload,
    draw,
)

VARIANTS: dict[str, float | None] = {"exact": None, "gated": 0.9}


def build(
    work: Workload, second_threshold: float | None, threads: int, weights_dtype: str = "float32"
) -> Program:
    """The workload as a Keras layer, Adam and two TensorFlow functions."""
    import tensorflow as tf

    from ipulse_ops.direct_call import DirectCall
    from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF, SuperSpike
    from ipulse_ops.reference.spikes import dense_to_sparse
    from ipulse_ops.training.adam import apply_adam
    from ipulse_ops.training.losses import mean_membrane_cross_entropy

    hidden = LIF(work.config.neurons, DECAY, second_threshold=second_threshold, gain=1.0)
    net = MultiLIF(
        inputs=INPUTS,
        layers=[hidden for _ in work.config.gains],
        readout=LeakyReadout(CLASSES, DECAY, gain=1.0),
        surrogate=SuperSpike(SLOPE),
        threads=threads,
        weights_dtype=weights_dtype,
    )
    for kernel, matrix in zip(net.kernels, work.weights, strict=True):
        kernel.assign(matrix)
    means, squares = (
        [tf.Variable(tf.zeros_like(kernel)) for kernel in net.kernels] for _ in range(2)
    )
    update = tf.Variable(0, dtype=tf.int64)
    ids, counts = (tf.constant(array) for array in dense_to_sparse(work.spikes))
    labels = tf.constant(work.labels)

    def loss_of(out: Any) -> Any:
        return tf.reduce_mean(mean_membrane_cross_entropy(out.membrane, labels))

    @tf.function
    def forward() -> Any:
        return loss_of(net(ids, counts, training=False))

    @tf.function
    def gradients() -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(net(ids, counts, training=True))
        return loss, tape.gradient(loss, net.trainable_weights)

    @tf.function
    def train() -> Any:
        loss, grads = gradients()
        number = update.assign_add(1)
        apply_adam(net.kernels, means, squares, grads, number, LEARNING_RATE, threads=threads)
        return loss

    def rates() -> list[float]:
        out = net(ids, counts, training=False)
        return [float(tf.reduce_mean(c[..., 0])) / hidden.neurons for c in out.spike_counts]

    call_forward, call_train = DirectCall(forward), DirectCall(train)
    return Program(
        forward=lambda: float(call_forward()),
        train=lambda: float(call_train()),
        gradients=lambda: [grad.numpy() for grad in gradients()[1]],
        rates=rates,
    )


def milliseconds(step: Callable[[], float]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - start)


def summary(times: list[float], batch: int) -> dict[str, float]:
    """Median, least and greatest milliseconds, and samples per second at the median."""
    median = statistics.median(times)
    return {
        "ms": median,
        "min_ms": min(times),
        "max_ms": max(times),
        "samples_per_s": 1e3 * batch / median,
    }


def measure(name: str, variant: str, threads: int, repeats: int) -> dict[str, Any]:
    """One config and variant."""
    from ipulse_ops.lif.cpu import native

    work = draw(CONFIGS[name])
    program = build(work, VARIANTS[variant], threads)
    rates = program.rates()
    result: dict[str, Any] = {
        "config": name,
        "variant": variant,
        **native.description(threads=threads),
        "rates": rates,
    }
    for what, step in (("forward", program.forward), ("train", program.train)):
        for _ in range(3):
            step()
        times, kernels = [], []
        for _ in range(repeats):
            native.reset_timings()
            times.append(milliseconds(step))
            spent = native.timings()
            kernels.append((1e3 * spent["forward"], 1e3 * spent["backward"]))
        result[what] = summary(times, work.config.batch)
        result[what]["kernel_forward_ms"] = statistics.median(f for f, _ in kernels)
        result[what]["kernel_backward_ms"] = statistics.median(b for _, b in kernels)
    result["ns_per_synaptic_operation"] = (
        1e6 * result["train"]["ms"] / work.config.synaptic_operations
    )
    return result


def measure_kernels(name: str, variant: str, threads: int, repeats: int) -> list[dict[str, Any]]:
    """Each kernel that this machine can run: milliseconds of both passes, and the rate at which
    the forward pass reads weights, to be held against the machine's cache bandwidth."""
    import numpy as np

    from ipulse_ops.lif.cpu import arrays, native
    from ipulse_ops.lif.network import LIF, LeakyReadout, Network
    from ipulse_ops.reference.spikes import dense_to_sparse

    work = draw(CONFIGS[name])
    hidden = LIF(work.config.neurons, DECAY, second_threshold=VARIANTS[variant], gain=1.0)
    network = Network(INPUTS, (hidden, hidden), LeakyReadout(CLASSES, DECAY, gain=1.0))
    problem = (network, work.weights, *dense_to_sparse(work.spikes))
    results = []
    for kernel, arch in native.kernels().items():
        if arch & ~native.supported_arch():
            continue
        times = []
        for _ in range(repeats + 1):
            native.reset_timings()
            run = arrays.forward(*problem, threads=threads, arch=arch)
            grad = np.ones_like(run.membrane)
            arrays.backward(*problem, run, grad, threads=threads, arch=arch)
            spent = native.timings()
            times.append((spent["forward"], spent["backward"]))
        forward, backward = (statistics.median(column) for column in zip(*times[1:], strict=True))
        spikes = [work.spikes.sum(), *(layer.spike_counts[..., 0].sum() for layer in run.layers)]
        read = sum(float(n) * width for n, width in zip(spikes, network.sizes[1:], strict=True))
        results.append(
            {
                "config": name,
                "variant": variant,
                **native.description(arch, threads),
                "forward_ms": 1e3 * forward,
                "backward_ms": 1e3 * backward,
                "forward_weights_gb_per_s": 4e-9 * read / forward,
            }
        )
        assert results[-1]["kernel"] == kernel
    return results


def report_kernels(options: argparse.Namespace) -> None:
    """Prints `measure_kernels`."""
    for name in options.config or ["A"]:
        for variant in options.variant or sorted(VARIANTS):
            for one in measure_kernels(name, variant, options.threads, options.repeats):
                if options.json:
                    print(json.dumps(one), flush=True)
                    continue
                print(
                    f"{name:6} {variant:8} {one['kernel']:12} forward {one['forward_ms']:7.1f} ms, "
                    f"{one['forward_weights_gb_per_s']:6.1f} GB/s of weights; "
                    f"backward {one['backward_ms']:7.1f} ms",
                    flush=True,
                )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", choices=sorted(CONFIGS), action="append")
    parser.add_argument("--variant", choices=sorted(VARIANTS), action="append")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--kernels", action="store_true", help="the kernels alone, each of them")
    options = parser.parse_args()
    if options.kernels:
        report_kernels(options)
        return
    if not options.json:
        print("config variant   forward samples/s     train samples/s  train ms = kernels + rest")
    for name in options.config or ["A", "B"]:
        for variant in options.variant or sorted(VARIANTS):
            one = measure(name, variant, options.threads, options.repeats)
            if options.json:
                print(json.dumps(one), flush=True)
                continue
            train = one["train"]
            kernels = train["kernel_forward_ms"] + train["kernel_backward_ms"]
            print(
                f"{name:6} {variant:8} {one['forward']['samples_per_s']:18.0f} "
                f"{train['samples_per_s']:19.0f} {train['ms']:9.1f} = {kernels:.1f} + "
                f"{train['ms'] - kernels:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
