"""JAX by hand: the whole network in one lax.scan over time."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.peers.jax_side import advance, program, spike
from benchmarks.program import Program
from benchmarks.workload import CLASSES, DECAY, Workload


def build(work: Workload, threads: int, fused_adam: bool) -> Program:
    """The peer's passes."""
    hidden = jnp.zeros((work.config.batch, work.config.neurons))
    rest = (hidden, hidden, hidden, hidden, jnp.zeros((work.config.batch, CLASSES)))

    def network(weights: Any, spikes: jax.Array) -> Any:
        def step(state: Any, now: jax.Array) -> Any:
            u1, s1, u2, s2, membrane = state
            u1 = advance(u1, s1, now @ weights[0])
            s1 = spike(u1)
            u2 = advance(u2, s2, s1 @ weights[1])
            s2 = spike(u2)
            membrane = DECAY * membrane + (1 - DECAY) * (s2 @ weights[2])
            return (u1, s1, u2, s2, membrane), (membrane, s1.mean(), s2.mean())

        _, (membranes, first, second) = jax.lax.scan(step, rest, spikes)
        return membranes.mean(0), (first.mean(), second.mean())

    return program(work, network, [jnp.asarray(matrix) for matrix in work.weights])
