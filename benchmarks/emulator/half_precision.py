"""Measure the accuracy of weights and states that are half on emulated IPUs.

    python -m benchmarks.emulator half
    python -m benchmarks.emulator half --seeds 1 --rates 0.01

The digits of examples/digits_population.yaml with 128 hidden neurons and without shifted copies
are learned on 64 emulated tiles with weights and membranes of float32 or float16, which are rounded
to the nearest number or at random. The second rate is so small that many updates are below half
the distance of two numbers of float16.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import yaml

from benchmarks.common import command_line
from benchmarks.common.tables import ROOT, Row, finish
from ipulse.spec import ExperimentSpec, parse_spec, spec_to_json
from ipulse_core.spec.resolved_spec import read_spec

NEURONS, TILES, EPOCHS = 128, 64, 8
RATES = (0.01, 0.0002)
# Weights, states and rounding.
TYPES: list[tuple[str, str, str]] = [
    ("float32", "float32", "-"),
    ("float16", "float32", "nearest"),
    ("float16", "float32", "stochastic"),
    ("float32", "float16", "nearest"),
    ("float32", "float16", "stochastic"),
    ("float16", "float16", "stochastic"),
]


def spec_of(seed: int, rate: float, types: tuple[str, str, str], epochs: int) -> ExperimentSpec:
    """Return the spec of one training; `types` are one of TYPES."""
    text = (ROOT / "examples/digits_population.yaml").read_text()
    document: dict[str, Any] = yaml.safe_load(text)
    document["seed"] = seed
    del document["data"]["shifts"]
    document["network"]["layers"][0]["neurons"] = NEURONS
    document["training"]["epochs"] = epochs
    document["training"]["optimizer"]["learning_rate"] = rate
    weights, states, rounding = types
    document["device"] = {
        "kind": "emulator",
        "tiles": TILES,
        "training": "device",
        "weights_dtype": weights,
        "states_dtype": states,
        "stochastic_rounding": rounding == "stochastic",
    }
    return read_spec(spec_to_json(parse_spec(document)))


def main(arguments: list[str]) -> None:
    """Run the command line."""
    from benchmarks.training.single_process import train

    parser = command_line.parser("emulator half", __doc__)
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each (%(default)s)")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="(%(default)s)")
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="learning rates")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for rate in options.rates:
        for types in TYPES:
            found = []
            for seed in range(1, options.seeds + 1):
                metrics = train(spec_of(seed, rate, types, options.epochs))
                found.append((100 * metrics.score, metrics.loss))
                print(f"{rate:g}, {types}, seed {seed}: {found[-1][0]:.2f} %", file=sys.stderr)
            scores, losses = np.array(found).T
            rows.append(
                {
                    "learning_rate": f"{rate:g}",
                    "weights": types[0],
                    "states": types[1],
                    "rounding": types[2],
                    "accuracy": f"{scores.mean():.2f}",
                    "lowest": f"{scores.min():.2f}",
                    "highest": f"{scores.max():.2f}",
                    "loss": f"{losses.mean():.3f}",
                    "epochs": options.epochs,
                }
            )
    finish(rows, options.output)
