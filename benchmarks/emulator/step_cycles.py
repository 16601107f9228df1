"""Compare the predicted cycles of a training step with what the emulator counts.

    python -m benchmarks.emulator cycles
    python -m benchmarks.emulator cycles --only synapse

A ratio above 1 says that the prediction is too high. `at the activity`: predicted for the spikes
that the step had; `before a run`: for the activity that a plan assumes.
"""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple

from benchmarks.common import command_line
from benchmarks.common.processes import in_fresh_process
from benchmarks.common.tables import Row, finish
from ipulse.spec import ExperimentSpec, parse_spec, spec_to_json
from ipulse_core.prediction.network_on_tiles import network_on_tiles
from ipulse_core.prediction.step_cycles import step_cycles
from ipulse_core.spec.host_links import host_link
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_core.spec.tile_cycles import Activity, predict_cycles

RANDMAN = {"kind": "randman", "classes": 2, "units": 16, "steps": 20, "samples_per_class": 40}
DIGITS = {"kind": "digits", "steps": 10, "encoding": {"kind": "linear_latency"}}
# Name, data, layers, other fields of the network, batch size, device, other fields of training.
NETWORKS: dict[str, dict[str, Any]] = {
    "one layer": {"data": DIGITS, "layers": [{"neurons": 64}], "batch": 16},
    "capacity": {"data": DIGITS, "layers": [{"neurons": 128, "capacity": 16}], "batch": 16},
    "second threshold": {
        "data": RANDMAN,
        "layers": [{"neurons": 64, "second_threshold": 0.5, "capacity": 16}, {"neurons": 32}],
        "batch": 16,
        "device": {"tiles": 64},
    },
    "delay": {
        "data": RANDMAN,
        "layers": [{"neurons": 96}, {"neurons": 48}],
        "network": {"delay": 1},
        "batch": 32,
    },
    "recurrent": {"data": RANDMAN, "layers": [{"neurons": 48, "recurrent": True}], "batch": 8},
    "synapse": {
        "data": DIGITS,
        "layers": [{"neurons": 100, "synapse_decay": 0.8, "bias": True}],
        "batch": 24,
        "device": {"tiles": 256},
    },
    "three layers": {
        "data": RANDMAN,
        "layers": [{"neurons": 200, "capacity": 40}, {"neurons": 100}, {"neurons": 50}],
        "batch": 16,
    },
    "few tiles": {
        "data": DIGITS,
        "layers": [{"neurons": 64}],
        "network": {"reset": "subtract"},
        "batch": 8,
        "device": {"tiles": 16, "mapping": "linear"},
    },
    "adam on tiles": {
        "data": DIGITS,
        "layers": [{"neurons": 64, "capacity": 24}],
        "batch": 16,
        "device": {"training": "device"},
    },
    "clipped on tiles": {
        "data": DIGITS,
        "layers": [{"neurons": 64, "trainable": False}, {"neurons": 64, "bias": True}],
        "batch": 16,
        "device": {"training": "device"},
        "training": {"gradient_clipping": {"value": 0.5, "global_norm": 1.0}},
    },
    "sgd on tiles": {
        "data": RANDMAN,
        "layers": [{"neurons": 128}],
        "batch": 32,
        "device": {"training": "device", "weights_dtype": "float16"},
        "training": {"optimizer": {"kind": "sgd", "learning_rate": 0.01}},
    },
}


class Emulated(NamedTuple):
    """What the emulator counted in a training step."""

    cycles: float
    activity: tuple[Activity, ...]  # of the input, and then of each layer that spikes
    slots: int  # of the input
    profile: dict[str, Any]


def spec_of(name: str) -> ExperimentSpec:
    """Return the spec of a network."""
    described = NETWORKS[name]
    training = {"epochs": 1, "batch_size": described["batch"], **described.get("training", {})}
    return parse_spec(
        {
            "version": 1,
            "seed": 1,
            "data": described["data"],
            "network": {"layers": described["layers"], **described.get("network", {})},
            "training": training,
            "device": {"kind": "emulator", **described.get("device", {})},
        }
    )


def emulate(spec: ExperimentSpec) -> Emulated:
    """Emulate the first training step as a runner does; to be called in a fresh process."""
    import os
    import time

    from benchmarks.training.single_process import build_kernels  # sets TensorFlow up
    from ipulse_core.data_files.directory import DataDirectory
    from ipulse_worker.runner.backends.emulator import Emulator
    from ipulse_worker.runner.data.load import load
    from ipulse_worker.runner.model.batches import TrainingBatch
    from ipulse_worker.runner.model.initial_weights import initial_weights
    from ipulse_worker.runner.training.metric_accumulator import empty_accumulator

    read = read_spec(spec_to_json(spec))
    build_kernels()
    device = Emulator(read, lambda *_, **__: None, lambda: None)
    device.configure()
    data = load(read.data, DataDirectory.from_environment(os.environ), lambda done, samples: None)
    samples = data.training[: read.training.batch_size]
    ids, counts = data.trains.batch(samples)
    model = device.compile(data.trains.slots)
    model.weights = initial_weights(read, data)
    model.feed(lambda step: TrainingBatch(ids, counts, data.wanted(samples), 0.01), 1)
    (result,) = model.execute(1, time.perf_counter).step_results
    metrics = empty_accumulator(read)
    metrics.add(result.sums)
    profile = device.poplar_profile()
    if profile is None:
        raise RuntimeError("the emulator has no profile")
    device.release()
    sites = read.data.steps * len(samples)
    spikes = float(counts.mean())
    found = [Activity(spikes, spikes)]
    for neurons, rate, share, dropped in zip(
        metrics.neurons,
        metrics.firing_rates,
        metrics.active_gradient_fractions,
        metrics.dropped,
        strict=True,
    ):
        found.append(Activity(neurons * rate, neurons * share, dropped / sites))
    cycles = float(profile["execution"]["totalCycles"]["total"])
    return Emulated(cycles, tuple(found), data.trains.slots, profile)


def compare(name: str) -> Row:
    """Return a row about one network."""
    spec = spec_of(name)
    emulated = emulate(spec)
    network = network_on_tiles(spec)
    planned = step_cycles(spec)
    if network is None or planned is None:
        raise RuntimeError(f"{name} is not predicted")
    network = network._replace(input_slots=emulated.slots)
    found = predict_cycles(network, emulated.activity, host_link(spec.device))
    return {
        "network": name,
        "layers": "-".join(str(layer.neurons) for layer in network.layers),
        "emulated (cycles)": round(emulated.cycles),
        "predicted at the activity": round(found.total),
        "ratio": found.total / emulated.cycles,
        "predicted before a run": round(planned.prediction.total),
        "ratio before a run": planned.prediction.total / emulated.cycles,
    }


def summary(ratios: list[float]) -> str:
    """Return the error of all predictions in a sentence."""
    off = sorted(max(ratio, 1 / ratio) for ratio in ratios)
    return f"median factor {statistics.median(off):.2f}, worst {off[-1]:.2f}"


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("emulator cycles", __doc__)
    parser.add_argument("--only", choices=sorted(NETWORKS), help="one of the networks")
    options = parser.parse_args(arguments)
    names = [options.only] if options.only else list(NETWORKS)
    rows: list[Row] = [in_fresh_process(compare, name) for name in names]
    finish(rows, options.output)
    print(f"at the activity: {summary([float(row['ratio']) for row in rows])}")
    print(f"before a run: {summary([float(row['ratio before a run']) for row in rows])}")
