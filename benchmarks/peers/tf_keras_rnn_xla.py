"""tf_keras_rnn compiled by XLA."""

from __future__ import annotations

from benchmarks.peers import tf_keras_rnn
from benchmarks.program import Program
from benchmarks.workload import Workload


def build(work: Workload, threads: int, fused_adam: bool) -> Program:
    """The peer's passes."""
    return tf_keras_rnn.build(work, threads, fused_adam, compiled=True)
