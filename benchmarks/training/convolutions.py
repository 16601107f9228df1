"""Measure training steps of convolutional networks, our own and those of other libraries.

    python -m benchmarks.training convolutions               configurations A, B and C
    python -m benchmarks.training convolutions --config B    one of them
    python -m benchmarks.training convolutions --peers       beside PyTorch and snnTorch

A: 2 x 34 x 34, 12 filters of 5 x 5, pool, 32 filters of 5 x 5, pool, 10 classes.
B: 2 x 64 x 64, 16, 32 and 32 filters of 3 x 3 with pools, 256 neurons, 11 classes.
C: 700 channels in one row, 32 and 64 filters of 7 with strides of 2, 20 classes.

Input channels spike at random; weights are scaled until every convolution fires at 2 % of its
neurons per step. A step is forward pass, backward pass and Adam; the loss is the cross-entropy of
the mean membrane. Times are in milliseconds: of the clock, the fastest and the median of the
repeats, which are interleaved; and of all processors together, the least, which depends less on
other programs. Peers run between two halves of our repeats: a loop over time in PyTorch whose step
is compiled, and snnTorch.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from benchmarks.common import command_line
from benchmarks.common.environments import MissingEnvironment, python_of
from benchmarks.common.tables import ROOT, Row, finish
from benchmarks.training.child import memory
from benchmarks.training.comparison import REQUIREMENTS
from benchmarks.training.rounds import program_times
from ipulse_core.spec.conv_geometry import Planes, conv_geometry
from ipulse_ops.conv.layer import ConvLIF
from ipulse_ops.keras import LIF, LeakyReadout, LIFReadout, MultiLIF
from ipulse_ops.keras.convolutions.conv_network import ConvNetwork
from ipulse_ops.keras.convolutions.convolution import Convolution

RATE = 0.02  # of the hidden layers
PEERS = ("compiled", "snntorch")  # of benchmarks.training.peers.torch_convolutions
VARIANTS: dict[str, float | None] = {"exact": None, "gate 0.5": 0.5, "gate 0.9": 0.9}


@dataclass(frozen=True)
class ConvConfig:
    """Sizes of one benchmark."""

    planes: Planes
    layers: tuple[dict[str, Any], ...]
    neurons: int | None  # of a fully connected layer behind them
    classes: int
    steps: int
    batch: int
    rate: float  # of the input channels


_POOLED = {"pool": (2, 2)}
_SAME = {"kernel": (3, 3), "padding": "same", **_POOLED}
_ROW = {"kernel": (1, 7), "strides": (1, 2)}
CONFIGS = {
    "A": ConvConfig(
        Planes(34, 34, 2),
        (
            {"filters": 12, "kernel": (5, 5), **_POOLED},
            {"filters": 32, "kernel": (5, 5), **_POOLED},
        ),
        *(None, 10, 100, 64, 0.02),
    ),
    "B": ConvConfig(
        Planes(64, 64, 2),
        ({"filters": 16, **_SAME}, {"filters": 32, **_SAME}, {"filters": 32, **_SAME}),
        *(256, 11, 50, 16, 0.01),
    ),
    "C": ConvConfig(
        Planes(1, 700, 1),
        ({"filters": 32, **_ROW}, {"filters": 64, **_ROW}),
        *(None, 20, 100, 64, 0.02),
    ),
}


def network_of(config: ConvConfig, second: float | None, threads: int) -> ConvNetwork:
    """Return the network with random weights."""
    rng = np.random.RandomState(1)
    entering = config.planes
    layers = []
    for number, sizes in enumerate(config.layers):
        geometry = conv_geometry(entering, **sizes)
        neurons = ConvLIF(geometry, second_threshold=second)
        layers.append(Convolution(neurons, threads=threads, name=f"convolution_{number}"))
        layers[-1].set_kernels([rng.normal(size=geometry.weights).astype(np.float32)])
        entering = geometry.pooled
    rest: Any
    if config.neurons is None:
        rest = LIFReadout(entering.sites, LeakyReadout(config.classes), threads=threads)
    else:
        rest = MultiLIF(
            inputs=entering.sites,
            layers=[LIF(config.neurons, second_threshold=second)],
            readout=LeakyReadout(config.classes),
            threads=threads,
        )
    for kernel in rest.kernels:
        kernel.assign(rng.normal(size=kernel.shape) * 0.1)
    return ConvNetwork(layers, rest)


def scale_to_rate(network: ConvNetwork, ids: Any, counts: Any) -> None:
    """Scale each convolution's weights until RATE of its neurons spike per step."""
    for layer in network.convolutions:
        kernel = layer.kernels[0].numpy()
        low, high = 0.0, 100.0
        for _ in range(18):
            factor = (low + high) / 2
            layer.set_kernels([kernel * np.float32(factor)])
            run = layer.run(ids, counts, training=False)
            spikes = float(tf.reduce_mean(run.activity[..., 0])) / layer.geometry.neurons
            low, high = (factor, high) if spikes < RATE else (low, factor)
        run = layer.run(ids, counts, training=False)
        ids, counts = run.spike_ids, run.spike_counts


def programs(
    config: ConvConfig, second: float | None, threads: int
) -> dict[str, Callable[[], Any]]:
    """Return the forward pass and the training step as functions without arguments."""
    rng = np.random.RandomState(2)
    dense = rng.random_sample((config.steps, config.batch, config.planes.sites)) < config.rate
    counts = dense.sum(axis=2).astype(np.int32)
    ids = np.zeros((*counts.shape, counts.max()), np.uint16)
    channel = np.nonzero(dense)[2]
    ids[np.arange(ids.shape[2]) < counts[..., None]] = channel
    labels = tf.constant(rng.randint(0, config.classes, config.batch))
    network = network_of(config, second, threads)
    sample = slice(0, 8)
    scale_to_rate(network, ids[:, sample], counts[:, sample])
    spikes, numbers = tf.constant(ids), tf.constant(counts)
    optimizer = tf.keras.optimizers.Adam(1e-6)  # the rates shall not change
    variables = network.trainable_variables

    @tf.function
    def forward() -> Any:
        return tf.reduce_mean(network(spikes, numbers, training=False).membrane, axis=0)

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            scores = tf.reduce_mean(network(spikes, numbers).membrane, axis=0)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
            )
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return {"forward": forward, "step": step}


def measure_peer(python: Path, config: ConvConfig, system: str, options: Any) -> dict[str, Any]:
    """Return what benchmarks.training.peers.torch_convolutions prints."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "config.json"
        path.write_text(json.dumps(dataclasses.asdict(config)))
        done = subprocess.run(
            [
                *(python, "-m", "benchmarks.training.peers.torch_convolutions", path, system),
                *(f"--repeats={options.repeats}", f"--threads={options.threads}"),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": "", "CUDA_VISIBLE_DEVICES": ""},
            stdout=subprocess.PIPE,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _row(
    config: str, system: str, program: str, times: list[float], processor: list[float], peak: int
) -> Row:
    return {
        "config": config,
        "system": system,
        "program": program,
        "fastest_ms": f"{min(times):.1f}",
        "median_ms": f"{statistics.median(times):.1f}",
        "processor_ms": f"{min(processor):.1f}",
        "peak_mib": peak,
    }


def compared(name: str, options: Any, python: Path | None) -> list[Row]:
    """Return the rows of one configuration."""
    config = CONFIGS[name]
    runs = {
        (variant, program): run
        for variant, second in VARIANTS.items()
        for program, run in programs(config, second, options.threads).items()
        if program == "step" or variant == "exact"
    }
    for run in runs.values():
        run()  # traces it
    times, processor = program_times(runs, (options.repeats + 1) // 2)
    peers: list[Row] = []
    for system in PEERS if python else ():
        found = measure_peer(python, config, system, options)
        peers += [
            _row(name, system, program, clock, spent, found["peak_mib"])
            for program, (clock, spent) in found["programs"].items()
        ]
    more = program_times(runs, options.repeats // 2)
    peak = round(memory()["peak_mib"])
    return [
        _row(
            *(name, f"IPUlse, {variant}" if program == "step" else "IPUlse", program),
            *(times[variant, program] + more[0][variant, program],),
            *(processor[variant, program] + more[1][variant, program], peak),
        )
        for variant, program in runs
    ] + peers


def main(arguments: list[str]) -> int:
    """Run the command line."""
    parser = command_line.parser("training convolutions", __doc__)
    parser.add_argument("--config", choices=list(CONFIGS), help="one configuration only")
    parser.add_argument("--repeats", type=int, default=7, help="of each program (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of the kernels (%(default)s)")
    parser.add_argument("--peers", action="store_true", help="measure other libraries, too")
    options = parser.parse_args(arguments)
    try:
        python = python_of("torch", REQUIREMENTS) if options.peers else None
    except MissingEnvironment as error:
        print(error, file=sys.stderr)
        return 1
    names = [options.config] if options.config else list(CONFIGS)
    finish([row for name in names for row in compared(name, options, python)], options.output)
    return 0
