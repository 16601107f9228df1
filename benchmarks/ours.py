"""Our side of a comparison: the Keras layer with each of its gradients."""

from __future__ import annotations

from importlib.metadata import version

from benchmarks import ops
from benchmarks.program import Program
from benchmarks.workload import Workload

# Second threshold of the hidden layers: gradient only where the membrane is above it.
SECOND_THRESHOLD: dict[str, float | None] = {"exact": None, "gated 0.5": 0.5, "gated 0.9": 0.9}


def build(work: Workload, variant: str, threads: int) -> Program:
    """The passes of a variant."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    program = ops.build(work, SECOND_THRESHOLD[variant], threads)
    return Program(program.forward, program.train, program.gradients, program.rates)


def versions() -> dict[str, str]:
    """Of what ours runs in."""
    return {package: version(package) for package in ("tensorflow-cpu", "keras")}
