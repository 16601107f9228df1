"""Layers with equations by TensorFlow's ops in float64, for its automatic differentiation."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

import tensorflow as tf

from ipulse_core.equations.neuron import NeuronEquations
from ipulse_core.equations.tree import Constant, Expression, Operation, Variable


def _number(comparison: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: tf.cast(comparison(a, b), tf.float64)


FUNCTIONS: Dict[str, Callable[..., Any]] = {
    "add": tf.add,
    "subtract": tf.subtract,
    "multiply": tf.multiply,
    "divide": tf.divide,
    "negate": tf.negative,
    "less": _number(tf.less),
    "less_equal": _number(tf.less_equal),
    "greater": _number(tf.greater),
    "greater_equal": _number(tf.greater_equal),
    "equal": _number(tf.equal),
    "not_equal": _number(tf.not_equal),
    "min": tf.minimum,
    "max": tf.maximum,
    "where": lambda c, a, b: tf.where(tf.not_equal(c, 0), a, b),
    "abs": tf.abs,
    "square": tf.square,
    "sqrt": tf.sqrt,
    "exp": tf.exp,
    "log": tf.math.log,
    "tanh": tf.tanh,
    "detach": tf.stop_gradient,
    "sum": lambda a: tf.reduce_sum(a, 2, keepdims=True),
    "mean": lambda a: tf.reduce_mean(a, 2, keepdims=True),
    "largest": lambda a: tf.reduce_max(a, 2, keepdims=True),
    "logsumexp": lambda a: tf.reduce_logsumexp(a, 2, keepdims=True),
    "softmax": lambda a: tf.nn.softmax(a, 2),
    "log_softmax": lambda a: tf.nn.log_softmax(a, 2),
    "sum_over_time": lambda a: tf.reduce_sum(a, 0, keepdims=True),
    "mean_over_time": lambda a: tf.reduce_mean(a, 0, keepdims=True),
    "max_over_time": lambda a: tf.reduce_max(a, 0, keepdims=True),
    "last": lambda a: a[-1:],
}


def value_of(tree: Expression, names: Mapping[str, Any]) -> Any:
    if isinstance(tree, Constant):
        return tf.constant(tree.value, tf.float64)
    if isinstance(tree, Variable):
        return names[tree.name]
    assert isinstance(tree, Operation)
    return FUNCTIONS[tree.name](*(value_of(each, names) for each in tree.arguments))


def spikes_of(
    neuron: NeuronEquations,
    parameters: Mapping[str, Any],
    current: Any,
    slope: float,
    recurrent: Any = None,
    gate: float = float("-inf"),
    membranes: Optional[List[Any]] = None,
) -> Any:
    """The spikes `[time, batch, neurons]`, with the derivative of SuperSpike above the gate.

    membranes: the first states of all steps, before their resets, are appended to it.
    """

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def spike(x: Any) -> Any:
        phi = tf.cast(x > gate, tf.float64) / tf.square(slope * tf.abs(x) + 1)
        return tf.cast(x > 0, tf.float64), lambda grad: grad * phi

    zeros = tf.zeros_like(current[0])
    states = {name: zeros + value for name, value in zip(neuron.states, neuron.initial)}
    spikes: List[Any] = []
    for now in tf.unstack(current):
        if recurrent is not None and spikes:
            now = now + spikes[-1] @ recurrent
        old = {**parameters, **states, "I": now}
        updates = dict(zip(neuron.states, neuron.updates))
        new: Dict[str, Any] = {}
        while len(new) < len(updates):
            for name in set(updates) - set(new):
                try:
                    found = {**old, **{f"new({each})": new[each] for each in new}}
                    new[name] = value_of(updates[name], found)
                except KeyError:  # needs another one first
                    continue
        after = {**parameters, **new, "I": now}
        if membranes is not None:
            membranes.append(new[neuron.states[0]] + zeros)
        spikes.append(spike(value_of(neuron.spike, after) + zeros))
        after["r"] = spikes[-1]
        states = {
            name: value_of(reset, after) + zeros
            for name, reset in zip(neuron.states, neuron.resets)
        }
    return tf.stack(spikes)
