"""JAX by hand: one product per layer over all steps, the recurrence in lax.scan."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.training.peers.jax_common import advance, program, spike
from benchmarks.training.program import Program
from benchmarks.training.workload import DECAY, Workload


def product(spikes: jax.Array, matrix: jax.Array) -> jax.Array:
    """Return the currents of all steps and samples in one matrix product."""
    flat = spikes.reshape(-1, spikes.shape[-1]) @ matrix
    return flat.reshape(*spikes.shape[:-1], matrix.shape[1])


def lif(currents: jax.Array) -> jax.Array:
    """Return the spikes [time, batch, neurons] of a layer."""

    def step(state: Any, current: jax.Array) -> Any:
        membrane = advance(*state, current)
        spikes = spike(membrane)
        return (membrane, spikes), spikes

    rest = jnp.zeros_like(currents[0])
    return jax.lax.scan(step, (rest, rest), currents)[1]


def leaky(currents: jax.Array) -> jax.Array:
    """Return the membranes of a leaky readout."""

    def step(membrane: jax.Array, current: jax.Array) -> Any:
        membrane = DECAY * membrane + (1 - DECAY) * current
        return membrane, membrane

    return jax.lax.scan(step, jnp.zeros_like(currents[0]), currents)[1]


def build(work: Workload, threads: int) -> Program:
    """Build the peer."""

    def network(weights: Any, spikes: jax.Array) -> Any:
        first = lif(product(spikes, weights[0]))
        second = lif(product(first, weights[1]))
        logits = leaky(product(second, weights[2])).mean(0)
        return logits, (first.mean(), second.mean())

    return program(work, network, [jnp.asarray(matrix) for matrix in work.weights])
