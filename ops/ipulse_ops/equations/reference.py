"""Runs a layer with equations in NumPy, and its adjoint: the reference implementation.

Arrays have the type of the input current: float64 to judge by, float32 for the kernels' rounding.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from ipulse_core.equations.adjoint import BY_SPIKE, by_state
from ipulse_core.equations.neuron import INPUT
from ipulse_core.equations.step_program import state_output
from ipulse_ops.conv.reference import convolved, convolved_adjoint
from ipulse_ops.equations.interpreter import run_step
from ipulse_ops.equations.layer_equations import LayerEquations, spread


class EquationsTrace(NamedTuple):
    """The values of a layer."""

    x: np.ndarray  # [time, batch, neurons]; above 0 where a neuron spikes
    states: np.ndarray  # [time + 1, states, batch, neurons] before each step, and after the last
    current: np.ndarray  # [time, batch, neurons] of the senders and the layer's own spikes


class EquationsGradients(NamedTuple):
    """A loss's gradients."""

    current: np.ndarray  # [time, batch, neurons]
    parameters: Dict[str, np.ndarray]  # of the trained ones, in their shapes
    recurrent: Optional[np.ndarray] = None  # as the recurrent weights


def run_equations(
    layer: LayerEquations,
    parameters: Mapping[str, np.ndarray],
    current: np.ndarray,
    may_spike: bool = True,
    recurrent: Optional[np.ndarray] = None,
) -> EquationsTrace:
    """Run the layer on its input current `[time, batch, neurons]`.

    parameters: as of LayerEquations.values, by name.
    may_spike: False resets no neuron, as if r were always 0.
    recurrent: weights of a recurrent layer, in the shape of layer.recurrent_weights.
    """
    step = layer.forward if may_spike else layer.silent
    neuron, shape = layer.neuron, current.shape[1:]
    x = np.zeros(current.shape, current.dtype)
    states = np.zeros((len(current) + 1, len(neuron.states), *shape), current.dtype)
    for index, initial in enumerate(neuron.initial):
        states[0, index] = initial
    current = current if recurrent is None else current.copy()
    for t in range(len(current)):
        if recurrent is not None and t:
            current[t] += _sent(layer, (x[t - 1] > 0).astype(current.dtype), recurrent)
        found = run_step(step, _inputs(layer, parameters, states[t], current[t]))
        x[t] = found["x"]
        for index in range(len(neuron.states)):
            states[t + 1, index] = found[state_output(index)]
    return EquationsTrace(x, states, current)


def equations_adjoint(
    layer: LayerEquations,
    parameters: Mapping[str, np.ndarray],
    trace: EquationsTrace,
    by_spikes: np.ndarray,
    recurrent: Optional[np.ndarray] = None,
    by_membranes: Optional[np.ndarray] = None,
) -> EquationsGradients:
    """Return the gradients, of which `by_spikes` `[time, batch, neurons]` is the loss's.

    by_membranes: that of a layer that shows its membranes, likewise.
    """
    neuron, current, shape = layer.neuron, trace.current, trace.current.shape[1:]
    received: Any = 0.0
    by_recurrent: Any = None if recurrent is None else np.zeros_like(recurrent)
    by_current = np.zeros_like(current)
    sums: Dict[str, List[np.ndarray]] = {each.name: [] for each in neuron.trained}
    states: List[Any] = [np.zeros(shape, current.dtype) for _ in neuron.states]
    for t in reversed(range(len(current))):
        if layer.truncate is not None and (t + 1) % layer.truncate == 0:
            states = [np.zeros(shape, current.dtype) for _ in neuron.states]
            received = 0.0
        inputs = _inputs(layer, parameters, trace.states[t], current[t])
        inputs[BY_SPIKE] = by_spikes[t] + received
        inputs.update((by_state(index), state) for index, state in enumerate(states))
        if by_membranes is not None:
            inputs[by_state(len(states) - 1)] = by_membranes[t]
        found = run_step(layer.backward, inputs)
        by_current[t] = found[INPUT]
        states = [found[state_output(index)] for index in range(len(neuron.states))]
        if recurrent is not None and t:
            spikes = (trace.x[t - 1] > 0).astype(current.dtype)
            by_weights, received = _sent_adjoint(layer, spikes, recurrent, by_current[t])
            by_recurrent += by_weights
        for name, steps in sums.items():
            steps.append(np.broadcast_to(found[name], shape))
    return EquationsGradients(
        by_current,
        {name: _summed(steps, parameters[name].shape) for name, steps in sums.items()},
        by_recurrent,
    )


def _sent(layer: LayerEquations, spikes: np.ndarray, recurrent: np.ndarray) -> np.ndarray:
    """Return the currents `[batch, neurons]` of the spikes of the step before."""
    if layer.own is None:
        return np.asarray(spikes @ recurrent)
    planes = spikes.reshape(1, -1, *layer.own.size, layer.own.filters)
    found = convolved(layer.own, recurrent, planes).astype(spikes.dtype)
    return np.asarray(found.reshape(spikes.shape))


def _sent_adjoint(
    layer: LayerEquations, spikes: np.ndarray, recurrent: np.ndarray, by_current: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the gradients of the recurrent weights and of the spikes of the step before."""
    if layer.own is None:
        return spikes.T @ by_current, by_current @ recurrent.T
    shape = (1, len(spikes), *layer.own.size, layer.own.filters)
    by_weights, by_planes = convolved_adjoint(
        layer.own, recurrent, spikes.reshape(shape), by_current.reshape(shape)
    )
    by_spikes = by_planes.astype(spikes.dtype).reshape(spikes.shape)
    return by_weights.astype(spikes.dtype), by_spikes


def _inputs(
    layer: LayerEquations,
    parameters: Mapping[str, np.ndarray],
    states: np.ndarray,
    current: np.ndarray,
) -> Dict[str, Any]:
    inputs: Dict[str, Any] = dict(zip(layer.neuron.states, states))
    inputs.update(
        (name, spread(value, layer.neurons).astype(current.dtype))
        for name, value in parameters.items()
    )
    inputs[INPUT] = current
    return inputs


def _summed(steps: List[np.ndarray], shape: Any) -> np.ndarray:
    total = np.sum(np.asarray(steps, np.float64), axis=(0, 1))
    return np.asarray(total.reshape(-1, *shape).sum(axis=0))
