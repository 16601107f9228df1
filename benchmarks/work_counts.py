"""Operations and bytes of the parts of a training step, from counted spikes.

An operation is an addition or a multiplication. Bytes are what a part must read and write at
least: a spike its row of weights, a neuron that carries gradient the row it is multiplied with, and
each matrix once where a product is dense. Rows that stay in a cache are counted every time, so
a part that lies above the roof of a cache level works from a faster one.
"""

from __future__ import annotations

from typing import Any

from benchmarks.workload import Config

FLOAT = 4  # bytes
# Adam reads a weight, two moments and a gradient and writes the first three.
ADAM_OPERATIONS, ADAM_BYTES = 12, 7 * FLOAT
# Share of the neurons above which a gated layer multiplies by all:
# ops/ipulse_ops/lif/cpu/passes/backward/layer_backward.cc.
MANY = 2 / 5


def counts(
    config: Config, activity: dict[str, list[float]], exact: bool
) -> dict[str, tuple[float, float]]:
    """(operations, bytes) by the names of benchmarks.breakdown's parts.

    activity: spikes that enter each layer, and neurons that carry gradient, of the whole batch.
    exact: every neuron carries gradient, so that its product is dense; so is that of a gated layer
        where many do.
    """
    sizes = config.sizes
    rows = config.steps * config.batch
    spikes, kept = activity["spikes"], activity["kept"]
    hidden = len(kept)
    added = sum(spikes[number] * sizes[number + 1] for number in range(hidden))
    neurons = rows * config.neurons * hidden
    parameters = sum(sizes[i] * sizes[i + 1] for i in range(len(sizes) - 1))
    found = {
        "gather": (added, FLOAT * added),
        # Decay, scale, sum, threshold; a bit or two and, where gradient flows, the membrane.
        "state update": (4.0 * neurons, neurons / 8 + FLOAT * sum(kept)),
        "optimizer": (float(ADAM_OPERATIONS * parameters), float(ADAM_BYTES * parameters)),
    }
    for number in range(hidden):
        width = sizes[number + 2]
        product = 2 * kept[number] * width
        read = FLOAT * kept[number] * width
        if exact or kept[number] > MANY * rows * config.neurons:
            product = 2.0 * rows * config.neurons * width
            read = FLOAT * (rows * width + config.neurons * width)
        written = FLOAT * rows * config.neurons
        found[f"backward {number + 1}"] = (product + 3.0 * rows * config.neurons, read + written)
    for number, entering in enumerate(spikes):
        summed = entering * sizes[number + 1]
        matrix = FLOAT * sizes[number] * sizes[number + 1]
        found[f"weight gradient {number + 1}"] = (summed, FLOAT * summed + matrix)
    return found


def placed(row: dict[str, Any], config: Config) -> dict[str, dict[str, float]]:
    """Each part of a row of benchmarks.breakdown: operations per byte, GFLOP/s and GB/s."""
    found = {}
    for part, (operations, moved) in counts(
        config, row["activity"], row["variant"] == "exact"
    ).items():
        ms = row["parts_ms"].get(part, 0.0)
        if ms > 0:
            found[part] = {
                "intensity": operations / moved,
                "gflops": 1e-6 * operations / ms,
                "gb_per_s": 1e-6 * moved / ms,
            }
    return found
