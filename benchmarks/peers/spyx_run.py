"""Spyx: its LIF and LI cells under spyx.nn.run."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import spyx.axn
import spyx.nn
from flax import nnx

from benchmarks.peers.jax_side import program
from benchmarks.program import Program
from benchmarks.workload import CLASSES, DECAY, SLOPE, Workload


class Layers(nnx.Module):
    """Both hidden layers and the readout, which also tell the hidden layers' rates."""

    def __init__(self, work: Workload, gain: float) -> None:
        rngs = nnx.Rngs(0)
        surrogate = spyx.axn.superspike(SLOPE)
        linears = []
        for matrix in work.weights:
            linear = nnx.Linear(*matrix.shape, use_bias=False, rngs=rngs)
            linear.kernel[...] = jnp.asarray(matrix * gain)
            linears.append(linear)

        def hidden(linear: Any) -> Any:
            shape = (work.config.neurons,)
            cell = spyx.nn.LIF(shape, beta=DECAY, activation=surrogate, rngs=rngs)
            return spyx.nn.Sequential(linear, cell)

        self.first, self.second = hidden(linears[0]), hidden(linears[1])
        readout = spyx.nn.LI((CLASSES,), beta=DECAY, rngs=rngs)
        self.readout = spyx.nn.Sequential(linears[2], readout)

    def initial_state(self, batch: int) -> list[Any]:
        """What spyx.nn.run starts from."""
        return [part.initial_state(batch) for part in (self.first, self.second, self.readout)]

    def __call__(self, spikes: jax.Array, state: list[Any]) -> Any:
        """One step."""
        first, one = self.first(spikes, state[0])
        second, two = self.second(first, state[1])
        membrane, three = self.readout(second, state[2])
        return (membrane, first.mean(), second.mean()), [one, two, three]


def build(work: Workload, threads: int, fused_adam: bool) -> Program:
    """The peer's passes. Its cells do not scale their input, so the weights do."""
    gain = 1 - DECAY
    # Decays and thresholds are parameters too; only the weights are trained here.
    graph, kernels, others = nnx.split(Layers(work, gain), nnx.PathContains("kernel"), ...)

    def network(kernels: Any, spikes: jax.Array) -> Any:
        (membranes, first, second), _ = spyx.nn.run(nnx.merge(graph, kernels, others), spikes)
        return membranes.mean(0), (first.mean(), second.mean())

    def matrices(grads: Any) -> list[jax.Array]:
        by_shape = {leaf.shape: leaf for leaf in jax.tree.leaves(grads)}
        return [by_shape[matrix.shape] * gain for matrix in work.weights]

    return program(work, network, kernels, matrices)
