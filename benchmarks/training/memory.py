"""Count the bytes per sample that the forward pass stores for the backward pass.

    python -m benchmarks.training memory --config A
    python -m benchmarks.training memory --peak --config A    of both passes, 1,000 steps

They are counted from the arrays, without a clock, and compared with the float32 membranes of all
neurons and steps, which a dense library stores at least. With --peak each row is a process of its
own: what its resident memory grows by, at most, in its first training step, whose input it
already holds, also with gradients that are cut after 50 steps.
"""

from __future__ import annotations

import multiprocessing
import sys
from dataclasses import replace
from time import perf_counter

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.training.child import memory
from benchmarks.training.network import (
    SECOND_THRESHOLD,
    build,
    limit_tensorflow_threads,
    network_of,
)
from benchmarks.training.workload import CONFIGS, draw
from ipulse_ops.lif.cpu import arrays, native
from ipulse_ops.reference.spikes import dense_to_sparse

CUT = 50  # steps of truncated gradients
MEMORIES = {"membranes": "slots", "spikes": "recompute"}


def stored(name: str, variant: str, store: str) -> Row:
    """Return the row of one config, variant and way to store."""
    config = CONFIGS[name]
    work = draw(config)
    ids, counts = dense_to_sparse(work.spikes)
    run = arrays.forward(network_of(config, variant), work.weights, ids, counts, store=store)
    history = 4 * config.steps * config.neurons * len(config.gains)
    stored_bytes = sum(layer.bits.nbytes + layer.membranes.nbytes for layer in run.layers)
    return {
        "config": name,
        "variant": variant,
        "stores": store,
        "bytes_per_sample": stored_bytes / config.batch,
        "all_membranes": history,
        "share": stored_bytes / config.batch / history,
    }


def peak(name: str, steps: int, variant: str, store: str, truncate: int | None) -> Row:
    """Return the row of one network; call it in a process of its own."""
    import tensorflow as tf

    config = replace(CONFIGS[name], steps=steps)
    work = draw(config)
    limit_tensorflow_threads()
    program = build(work, variant, 0, memory=MEMORIES[store], truncate=truncate)
    del work
    tf.constant(0)  # the runtime is there
    before = memory()["resident_mib"]
    begin = perf_counter()
    program.train()
    return {
        "config": name,
        "steps": steps,
        "batch": config.batch,
        "variant": variant,
        "truncate": truncate or "",
        "stores": store,
        "peak_mib": f"{memory()['peak_mib'] - before:.0f}",
        "seconds": f"{perf_counter() - begin:.2f}",
    }


def peaks(names: list[str], steps: int) -> list[Row]:
    """Return the rows of `peak` with and without cut gradients."""
    native.build_tensorflow_op()
    rows = []
    spawn = multiprocessing.get_context("spawn")
    for name in names:
        for variant in ("exact", "gated 0.9"):
            for truncate in (None, CUT):
                for store in ("membranes", "spikes"):
                    with spawn.Pool(1) as pool:
                        rows.append(pool.apply(peak, (name, steps, variant, store, truncate)))
    return rows


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("training memory", __doc__)
    parser.add_argument("--config", choices=sorted(CONFIGS), action="append", help="default: A-D")
    parser.add_argument("--peak", action="store_true", help="resident memory of both passes")
    parser.add_argument("--steps", type=int, default=1000, help="with --peak (%(default)s)")
    options = parser.parse_args(arguments)
    names = options.config or list("ABCD")
    if options.peak:
        finish(peaks(names, options.steps), options.output)
        return
    rows = []
    for name in names:
        for variant in SECOND_THRESHOLD:
            for store in ("membranes", "spikes"):
                try:
                    rows.append(stored(name, variant, store))
                except ValueError as error:
                    print(f"{name} {variant} {store}: left out: {error}", file=sys.stderr)
    finish(rows, options.output)
