"""Count the bytes per sample that the forward pass stores for the backward pass.

    python -m benchmarks.training memory --config A

They are counted from the arrays, without a clock, and compared with the float32 membranes of all
neurons and steps, which a dense library stores at least.
"""

from __future__ import annotations

import sys

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.training.network import SECOND_THRESHOLD, network_of
from benchmarks.training.workload import CONFIGS, draw
from ipulse_ops.lif.cpu import arrays
from ipulse_ops.reference.spikes import dense_to_sparse


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


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("training memory", __doc__)
    parser.add_argument("--config", choices=sorted(CONFIGS), action="append", help="default: A-D")
    options = parser.parse_args(arguments)
    rows = []
    for name in options.config or "ABCD":
        for variant in SECOND_THRESHOLD:
            for store in ("membranes", "spikes"):
                try:
                    rows.append(stored(name, variant, store))
                except ValueError as error:
                    print(f"{name} {variant} {store}: left out: {error}", file=sys.stderr)
    finish(rows, options.output)
