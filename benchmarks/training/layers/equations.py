"""Time a LIF layer that is written as equations beside the LIF layer of the kernels.

    python -m benchmarks.training equations
    python -m benchmarks.training equations --neurons 1024 --rounds 15

Both have the same weights, input spikes and gradient of their slots, no second threshold, and one
thread. A step is a forward pass and a backward pass to the weights, in one TensorFlow function. The
figure is the processor time of the process, in interleaved rounds of which the fastest call counts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.training.network import limit_tensorflow_threads
from benchmarks.training.workload import CONFIGS, DECAY, INPUTS, SLOPE, Config, draw
from ipulse.spec.network.equations import NeuronParameterSpec, NeuronSpec, NeuronStateSpec
from ipulse_core.equations.neuron import NeuronEquations, read_neuron
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.lif.network import LIF, SuperSpike

SECONDS = 0.3  # of repeated calls in a round
Measured = Callable[[], Any]


def leaky() -> NeuronEquations:
    """Return the neuron of LIF layers with reset to zero."""
    return read_neuron(
        NeuronSpec(
            name="lif",
            states=(
                NeuronStateSpec(name="u", update="decay * u + scale * I", reset="where(r, 0, u)"),
            ),
            parameters=(
                NeuronParameterSpec(name="decay", value=DECAY),
                NeuronParameterSpec(name="scale", value=1 - DECAY),
            ),
            spike="u - 1",
        )
    )


def steps(config: Config) -> dict[str, dict[str, Measured]]:
    """Return the passes of both layers, by pass and layer."""
    import tensorflow as tf

    from ipulse_ops.direct_call import DirectCall
    from ipulse_ops.keras import LIFLayer
    from ipulse_ops.keras.equations_layer import EquationsLayer
    from ipulse_ops.reference.spikes import dense_to_sparse

    work = draw(config)
    ids, counts = (tf.constant(array) for array in dense_to_sparse(work.spikes))
    surrogate = SuperSpike(SLOPE)
    neurons = LIF(config.neurons, DECAY, gain=1.0)
    equations = LayerEquations(leaky(), config.neurons, surrogate)
    layers = {
        "kernels": LIFLayer(INPUTS, neurons, surrogate=surrogate, threads=1),
        "equations": EquationsLayer(INPUTS, equations, threads=1),
    }
    rng = np.random.default_rng(1)
    shape = (config.steps, config.batch, config.neurons)
    by_slots = tf.constant(rng.standard_normal(shape, np.float32))

    def passes(layer: Any) -> tuple[Measured, Measured]:
        layer.set_kernels([work.weights[0]])

        @tf.function
        def forward() -> Any:
            return tf.reduce_sum(layer(ids, counts, training=False).counts)

        @tf.function
        def step() -> Any:
            with tf.GradientTape() as tape:
                spikes = layer(ids, counts, training=True)
                loss = tf.reduce_sum(by_slots * spikes.ids)
            return tf.reduce_sum(spikes.counts[..., 0]), tape.gradient(loss, layer.kernels[0])

        return DirectCall(forward), DirectCall(step)

    found: dict[str, dict[str, Measured]] = {"forward": {}, "step": {}}
    for name, layer in layers.items():
        found["forward"][name], found["step"][name] = passes(layer)
    spikes = {name: float(call()[0]) for name, call in found["step"].items()}
    if len(set(spikes.values())) != 1:
        raise ValueError(f"the layers emit other spikes: {spikes}")
    return found


def least(call: Measured) -> float:
    """Return the processor time of the fastest of several calls, in ms."""
    found, end = float("inf"), time.monotonic() + SECONDS
    while found == float("inf") or time.monotonic() < end:
        start = time.process_time()
        call()
        found = min(found, time.process_time() - start)
    return 1e3 * found


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("training equations", __doc__)
    parser.add_argument("--neurons", type=int, action="append", help="default: 256 and 1,024")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(arguments)
    limit_tensorflow_threads()
    rows: list[Row] = []
    for neurons in options.neurons or (256, 1024):
        measured = steps(replace(CONFIGS["A"], neurons=neurons))
        for name, calls in measured.items():
            for call in calls.values():
                call()
            rounds = [
                {layer: least(call) for layer, call in calls.items()} for _ in range(options.rounds)
            ]
            ms = {layer: statistics.median(each[layer] for each in rounds) for layer in calls}
            ratios = [each["equations"] / each["kernels"] for each in rounds]
            row: Row = {"neurons": neurons, "pass": name}
            row.update({f"{layer}_ms": value for layer, value in ms.items()})
            rows.append({**row, "ratio": statistics.median(ratios)})
    finish(rows, options.output)
