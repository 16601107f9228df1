"""Our side of a comparison: the Keras layer with each of its gradients."""

from __future__ import annotations

from importlib.metadata import version

from benchmarks import ops
from benchmarks.program import Program
from benchmarks.workload import CLASSES, DECAY, INPUTS, SLOPE, Config, Workload
from ipulse_ops.lif.network import LIF, LeakyReadout, Network, SuperSpike

# Second threshold of the hidden layers: gradient only where the membrane is above it.
SECOND_THRESHOLD: dict[str, float | None] = {"exact": None, "gated 0.5": 0.5, "gated 0.9": 0.9}


def build(work: Workload, variant: str, threads: int) -> Program:
    """The passes of a variant."""
    import tensorflow as tf

    # The kernels have threads of their own; those of TensorFlow would spin beside them.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return ops.build(work, SECOND_THRESHOLD[variant], threads)


def network_of(config: Config, second_threshold: float | None) -> Network:
    """The network of `build`, for the reference and for the kernels on arrays."""
    hidden = LIF(config.neurons, DECAY, second_threshold=second_threshold, gain=1.0)
    return Network(
        inputs=INPUTS,
        layers=tuple(hidden for _ in config.gains),
        readout=LeakyReadout(CLASSES, DECAY, gain=1.0),
        surrogate=SuperSpike(SLOPE),
    )


def versions() -> dict[str, str]:
    """Of what ours runs in."""
    return {package: version(package) for package in ("tensorflow-cpu", "keras")}
