"""Compare the predicted memory of the fullest tile with what the emulator's compiler finds.

    python -m benchmarks.emulator memory
    python -m benchmarks.emulator memory --networks 10 --first 100    others

The networks are drawn at random: one to three layers, on one or two IPUs of 16 to 1,472 tiles, with
every mapping. A ratio above 1 says that the prediction is too high. `category` names what takes
most of the fullest tile.
"""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.common import command_line
from benchmarks.common.processes import in_fresh_process
from benchmarks.common.tables import Row, finish
from ipulse_core.spec.tile_memory import predict
from ipulse_core.spec.tile_placement import TileLayer, TileNetwork
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.attributes import Wanted
from ipulse_ops.lif.poplar.outputs import steps_between_checkpoints
from poplar_emulator.custom_op import CustomOpError

NETWORKS = 50
NEAR = 1.1


class DrawnNetwork(NamedTuple):
    """A network as the op takes it and as the prediction sees it."""

    network: Network
    placement: Placement
    described: TileNetwork


def draw(seed: int) -> DrawnNetwork:
    """Draw a network."""
    chance = random.Random(seed)
    inputs, ipus = chance.choice([32, 64, 200, 2312]), chance.choice([1, 1, 2])
    layers = []
    for _ in range(chance.choice([1, 2, 3])):
        neurons = chance.choice([2, 17, 64, 128, 300])
        capacity = chance.choice([None, max(1, neurons // 4)])
        layers.append(LIF(neurons, capacity=capacity, recurrent=chance.random() < 0.3))
    readout = chance.choice([2, 10, 35])
    mapping = chance.choice(["capacity", "neurons", "linear"])
    split = chance.choice(["layers", "neurons"]) if ipus > 1 else None
    placement = Placement(mapping, ipus, split)
    described = TileNetwork(
        inputs=inputs,
        input_slots=min(inputs, chance.choice([8, 32, 64])),
        layers=[
            *(TileLayer(layer.neurons, layer.slots, layer.recurrent) for layer in layers),
            TileLayer(readout, 0),
        ],
        steps=chance.choice([5, 20, 50]),
        batch=chance.choice([1, 8, 16]),
        mapping=mapping,
        ipus=ipus,
        tiles_per_ipu=chance.choice([16, 64, 1472]),
        splits_neurons=placement.split == "neurons",
    )
    return DrawnNetwork(Network(inputs, tuple(layers), LeakyReadout(readout)), placement, described)


class CompiledMemory(NamedTuple):
    """The memory of the fullest tile in bytes."""

    total: int
    categories: dict[str, int]  # without those that it has nothing of; empty if it does not fit


def compile_memory(drawn: DrawnNetwork) -> CompiledMemory:
    """Compile a network. Raises CustomOpError."""
    network, placement, described = drawn
    shape = (described.steps, described.batch, described.input_slots)
    wanted = Wanted()
    if described.recomputes:
        between = steps_between_checkpoints(network, *shape[:2], wanted, placement)
        wanted = Wanted(recompute=between)
    try:
        with PoplarLIF(network, *shape, placement, wanted, described.tiles_per_ipu) as op:
            tiles = op.op.profile()["compilation"]["tiles"]
    except CustomOpError as error:
        needed = re.search(r"needs (\d+) bytes", str(error))
        if needed is None:
            raise
        return CompiledMemory(int(needed[1]), {})
    memory = max((tile["memory"] for tile in tiles), key=lambda m: m["total"]["includingGaps"])
    found = {name: int(part["total"]) for name, part in memory["category"].items()}
    return CompiledMemory(memory["total"]["includingGaps"], {k: v for k, v in found.items() if v})


def compare(seed: int, recomputes: bool) -> Row:
    """Return a row about one network."""
    drawn = draw(seed)
    described = drawn.described._replace(recomputes=recomputes)
    predicted = predict(described).fullest_bytes
    found = compile_memory(drawn._replace(described=described))
    largest = sorted(found.categories, key=found.categories.__getitem__)[-1:]
    return {
        "seed": seed,
        "layers": "-".join(str(layer.neurons) for layer in described.layers),
        "steps": described.steps,
        "batch": described.batch,
        "tiles": described.ipus * described.tiles_per_ipu,
        "mapping": described.mapping,
        "memory": "recompute" if recomputes else "slots",
        "predicted": predicted,
        "compiled": found.total,
        "ratio": predicted / found.total,
        "category": "".join(f"{name} {found.categories[name]}" for name in largest),
    }


def summary(ratios: Sequence[float]) -> str:
    """Return the error of all predictions in a sentence."""
    off = sorted(max(ratio, 1 / ratio) for ratio in ratios)
    near = sum(factor <= NEAR for factor in off)
    return (
        f"{near} of {len(off)} within a factor of {NEAR}; median factor "
        f"{statistics.median(off):.2f}, 80 % within {off[int(0.8 * (len(off) - 1))]:.2f}, "
        f"worst {off[-1]:.2f}"
    )


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("emulator memory", __doc__)
    parser.add_argument("--networks", type=int, default=NETWORKS, help="(%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first one (%(default)s)")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for seed in range(options.first, options.first + options.networks):
        rows.append(in_fresh_process(compare, seed, seed % 2 == 1))
    finish(rows, options.output)
    print(summary([float(row["ratio"]) for row in rows]))
