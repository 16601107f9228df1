"""Parts of the JAX peer: surrogate gradient, Adam, and the compiled passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.training.program import Program
from benchmarks.training.workload import DECAY, LEARNING_RATE, SLOPE, Workload

# Parameters, input spikes -> logits [batch, classes], rates of both hidden layers.
Network = Callable[[Any, jax.Array], tuple[jax.Array, tuple[jax.Array, jax.Array]]]


@jax.custom_jvp
def spike(membrane: jax.Array) -> jax.Array:
    """Return 1 where the membrane exceeds 1, with SuperSpike as the derivative."""
    return (membrane > 1).astype(membrane.dtype)


@spike.defjvp
def _spike_jvp(primals: Any, tangents: Any) -> Any:
    (membrane,), (change,) = primals, tangents
    return spike(membrane), change / (SLOPE * jnp.abs(membrane - 1) + 1) ** 2


def advance(membrane: jax.Array, spikes: jax.Array, current: jax.Array) -> jax.Array:
    """Return a hidden layer's membrane after a step; the reset passes no gradient."""
    return DECAY * membrane * (1 - jax.lax.stop_gradient(spikes)) + (1 - DECAY) * current


def program(work: Workload, network: Network, parameters: list[jax.Array]) -> Program:
    """Return the passes of a network."""
    spikes, labels = jnp.asarray(work.spikes), jnp.asarray(work.labels)
    adam = optax.adam(LEARNING_RATE)
    state = {"parameters": parameters, "adam": adam.init(parameters)}

    def loss_of(parameters: Any, spikes: jax.Array, labels: jax.Array) -> jax.Array:
        logits, _ = network(parameters, spikes)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    def update(parameters: Any, adam_state: Any, spikes: jax.Array, labels: jax.Array) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(parameters, spikes, labels)
        updates, adam_state = adam.update(grads, adam_state, parameters)
        return optax.apply_updates(parameters, updates), adam_state, loss

    compiled_loss = jax.jit(loss_of)
    compiled_update = jax.jit(update, donate_argnums=(0, 1))

    def train() -> float:
        parameters, adam_state, loss = compiled_update(
            state["parameters"], state["adam"], spikes, labels
        )
        jax.block_until_ready((parameters, adam_state))
        state.update(parameters=parameters, adam=adam_state)
        return float(loss)

    def gradients() -> list[np.ndarray]:
        grads = jax.jit(jax.grad(loss_of))(state["parameters"], spikes, labels)
        return [np.asarray(grad) for grad in grads]

    def rates() -> list[float]:
        return [float(rate) for rate in jax.jit(network)(state["parameters"], spikes)[1]]

    return Program(
        forward=lambda: float(compiled_loss(state["parameters"], spikes, labels)),
        train=train,
        gradients=gradients,
        rates=rates,
    )
