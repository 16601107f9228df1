"""What the backward pass keeps, in bytes per sample, against the history of every membrane.

    python -m benchmarks.memory

Counted from the arrays that the kernels hand over, with ids and counts of spikes; no clock is
involved. A dense library keeps at least u of all neurons and steps, most of them the spikes too.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.ours import SECOND_THRESHOLD, network_of
from benchmarks.results import DIRECTORY, Results
from benchmarks.workload import CONFIGS, draw
from ipulse_ops.lif.cpu import arrays
from ipulse_ops.reference.spikes import dense_to_sparse


def stored(name: str, variant: str, store: str) -> dict[str, Any]:
    """One config, variant, and way to store; bytes are per sample."""
    config = CONFIGS[name]
    work = draw(config)
    network = network_of(config, SECOND_THRESHOLD[variant])
    ids, counts = dense_to_sparse(work.spikes)
    run = arrays.forward(network, work.weights, ids, counts, store=store)
    history = 4 * config.steps * config.neurons * len(config.gains)
    bits, membranes = (
        sum(getattr(layer, part).nbytes for layer in run.layers) / config.batch
        for part in ("bits", "membranes")
    )
    return {
        "config": name,
        "variant": variant,
        "store": store,
        "bits": bits,
        "membranes": membranes,
        "total": bits + membranes,
        "history": history,
        "share_of_history": (bits + membranes) / history,
    }


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", choices=sorted(CONFIGS), action="append")
    options = parser.parse_args(arguments)
    results = Results("memory", ("config", "variant", "store"), {}, DIRECTORY)
    for name in options.config or "ABCD":
        for variant in SECOND_THRESHOLD:
            for store in ("membranes", "spikes"):
                try:
                    row = stored(name, variant, store)
                except ValueError as error:
                    print(f"{name} {variant:10} {store:10} left out: {error}", flush=True)
                    continue
                results.put(row)
                print(
                    f"{name} {variant:10} {store:10} {row['total']:12.0f} bytes per sample, "
                    f"{100 * row['share_of_history']:.1f} % of {row['history']}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
