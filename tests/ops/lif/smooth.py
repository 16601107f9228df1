"""A smooth twin of a network. Its true gradient is the surrogate gradient of the reference.

Every surrogate phi is the derivative of some F. Around one run, hold what the backward pass holds
constant (who spiked, who has a slot, what `reset_gradient` says of the resets) and let the neuron
in a slot emit

    its spike in that run + F(x) - F(x of that run),     x = u - threshold

and, where the reset is not held constant, be reset by

    its reset flag in that run + the same difference

At the run's own weights and constants the twin does exactly what the network did, and away from
them it is smooth. Its derivative comes from complex-step differentiation: no rule of
differentiation is written down here but F' = phi, and, unlike a difference quotient, nothing
cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.spec.start_weights import CONSTANTS
from ipulse_ops.lif.network import LIF, Layer, Network
from ipulse_ops.lif.reference.trace import Gradients, LayerTrace, Trace
from ipulse_ops.reference.dropout import kept_senders
from ipulse_ops.reference.spike_matmul import both_counts
from ipulse_ops.surrogate import Surrogate
from tests.ops.lif.surrogate_integrals import surrogate_integral
from tests.ops.lif.variants import rises
from tests.ops.strategies import Problem

STEP = 1e-30  # its square is 0 relative to 1: the derivative is exact to rounding


@dataclass(frozen=True)
class Direction:
    """A direction to differentiate in: of all that a loss has gradients by."""

    weights: Tuple[np.ndarray, ...]
    inputs: np.ndarray  # [time, batch, slots]
    constants: Tuple[Tuple[np.ndarray, ...], ...]  # as `constants_of`


def random_direction(problem: Problem, rng: np.random.Generator) -> Direction:
    layers = (*problem.network.layers, problem.network.readout)
    return Direction(
        weights=tuple(rng.normal(size=array.shape) for array in problem.weights),
        inputs=rng.normal(size=problem.ids.shape),
        constants=tuple(
            tuple(rng.normal(size=(len(CONSTANTS), layer.neurons))) for layer in layers
        ),
    )


def error_and_size_in_a_direction(
    problem: Problem, trace: Trace, actual: Gradients
) -> Tuple[float, float]:
    """How far the gradient's component is from the smooth twin's derivative, and its largest part.

    The direction is random, in all weights, input slots and constants; the parts are each array's
    component, which may cancel each other.
    """
    direction = random_direction(problem, np.random.Generator(np.random.PCG64([problem.seed, 2])))
    parts = [float(np.sum(g * d)) for g, d in zip(actual.weights, direction.weights)]
    parts.append(float(np.sum(actual.inputs * direction.inputs)))
    for grads, steps in zip(actual.constants, direction.constants):
        for grad, step in zip((getattr(grads, name) for name in CONSTANTS), steps):
            if grad is None:
                step[:] = 0  # the layer has no such constant, which the twin takes for 0
            else:
                parts.append(float(np.sum(grad * step)))
    error = abs(sum(parts) - twin_derivative(problem, trace, direction))
    return error, max(map(abs, parts))


def constants_of(layer: Layer) -> Tuple[np.ndarray, ...]:
    """Those of CONSTANTS, `[neurons]` each; 0 where the layer has none."""
    values = (getattr(layer, name, None) for name in CONSTANTS)
    return tuple(np.ones(layer.neurons) * (0.0 if x is None else x) for x in values)


def twin_derivative(problem: Problem, trace: Trace, direction: Direction) -> float:
    """The derivative of `twin_loss` in one direction of all weights, inputs and constants."""
    weights = [w + 1j * STEP * d for w, d in zip(problem.weights, direction.weights)]
    layers = (*problem.network.layers, problem.network.readout)
    constants = [
        [c + 1j * STEP * d for c, d in zip(constants_of(layer), steps)]
        for layer, steps in zip(layers, direction.constants)
    ]
    spikes, filled = both_counts(problem.ids, problem.counts, problem.network.inputs)
    inputs = np.zeros((*spikes.shape, problem.network.inputs), dtype=complex)
    for t, b in np.ndindex(*spikes.shape):
        for k in range(filled[t, b]):
            step = 1j * STEP * direction.inputs[t, b, k]
            inputs[t, b, problem.ids[t, b, k]] += (k < spikes[t, b]) + step
    return twin_loss(problem, trace, weights, inputs, constants).imag / STEP


def twin_loss(
    problem: Problem,
    trace: Trace,
    weights: Sequence[np.ndarray],
    inputs: np.ndarray,
    constants: Optional[Sequence[Any]] = None,
) -> complex:
    """The sum of the problem's gradients times the twin's membranes and spikes.

    weights, inputs `[time, batch, N_in]` and each layer's constants may be complex.
    """
    network = problem.network
    steps = len(problem.counts)
    layers = (*network.layers, network.readout)
    if constants is None:
        constants = [constants_of(layer) for layer in layers]
    arrays = list(weights)
    sent: List[Any] = [list(inputs)]
    loss = 0j
    for number, layer in enumerate(layers):
        matrix = arrays.pop(0)
        recurrent = arrays.pop(0) if isinstance(layer, LIF) and layer.recurrent else None
        bias = arrays.pop(0) if layer.bias else 0.0
        decay, threshold, synapse_decay, adaptation_decay, strength = constants[number]
        run = None
        if number < len(trace.layers):
            grad_spikes = problem.grad_spikes[number]
            run = _Run(network.surrogate, trace.layers[number], layer, grad_spikes)
        v = i = b = np.zeros((problem.counts.shape[1], layer.neurons), dtype=complex)
        emitted: List[np.ndarray] = []
        senders_of_layer = [sent[source + 1] for source in network.senders(number)]
        arriving = [sum(spikes) for spikes in zip(*senders_of_layer)]
        blank = [np.zeros_like(arriving[0])] * network.delays[number]
        arriving = (blank + arriving)[:steps]
        delays = arrays.pop(0) if layer.delays else None
        if layer.dropout:
            senders = (problem.counts.shape[1], network.sizes[number])
            kept = kept_senders(problem.seed, number, *senders, layer.dropout)
            arriving = [spikes * kept for spikes in arriving]
            matrix = matrix / (1 - layer.dropout)
        currents = [spikes @ matrix for spikes in arriving]
        if delays is not None:
            currents = _delayed(arriving, matrix, delays, layer.delays.longest)
        for t in range(steps):
            before = emitted[-1] if emitted else None
            if network.truncate and t % network.truncate == 0:  # the states are constants here
                v, i, b = v.real, i.real, b.real
                before = None if before is None else before.real
            current = currents[t] + bias
            if recurrent is not None and before is not None:
                current = current + before @ recurrent
            i = synapse_decay * i + (1 - synapse_decay) * current
            # A neuron that integrates and fires has an absolute gain.
            scale = np.where(np.equal(layer.decay, 1), layer.gain, layer.gain * (1 - decay))
            u = decay * v + scale * i
            if number < len(network.layers):
                loss += np.sum(problem.grad_u[number][t] * u)
            else:
                loss += np.sum(problem.grad_membrane[t] * u)
            if run is None:
                v = u
                continue
            theta = threshold + strength * b
            moved = run.slots[t] * (
                surrogate_integral(network.surrogate, u - theta, run.x[t]) - run.integral[t]
            )
            emitted.append(run.spikes[t] + moved)
            loss += np.sum(run.grad_spikes[t] * emitted[t])
            v = _reset(network, u, theta, run, t, moved)
            raises = isinstance(layer, LIF) and layer.adapts and not layer.detach_adaptation
            b = adaptation_decay * b + run.reset[t] + (moved if raises else 0)
        if run is not None:
            sent.append(emitted)
    return complex(loss)


def _delayed(
    spikes: List[np.ndarray], matrix: np.ndarray, delays: np.ndarray, longest: int
) -> List[np.ndarray]:
    """The currents of spikes that arrive after the delay of their synapse or sender."""
    found = [np.zeros((len(spikes[0]), matrix.shape[1]), dtype=complex) for _ in spikes]
    for t, sender, neuron in np.ndindex(len(spikes), *matrix.shape):
        delay = delays[sender] if delays.ndim == 1 else delays[sender, neuron]
        whole = min(int(delay.real), longest - 1) if delays.ndim == 1 else int(delay.real)
        for steps, part in ((whole, 1 - (delay - whole)), (whole + 1, delay - whole)):
            if delays.ndim > 1:  # a constant
                part = 1 - (steps - whole)
            if t + steps < len(spikes):
                found[t + steps][:, neuron] += part * matrix[sender, neuron] * spikes[t][:, sender]
    return found


class _Run:
    """A layer's own run, dense: `[time, batch, neurons]`."""

    def __init__(
        self, surrogate: Surrogate, trace: LayerTrace, layer: LIF, grad_slots: np.ndarray
    ) -> None:
        self.reset = trace.reset.astype(float)
        self.theta = layer.threshold + rises(layer, trace)
        self.u, self.x = trace.u, trace.u - self.theta
        self.integral = surrogate_integral(surrogate, self.x, self.x)
        self.spikes, self.slots, self.grad_spikes = np.zeros((3, *trace.u.shape))
        for t, b in np.ndindex(*trace.dropped.shape):
            spikes, filled = trace.spike_counts[t, b]
            ids = trace.spike_ids[t, b, :filled]
            self.spikes[t, b, ids[:spikes]] = 1
            self.slots[t, b, ids] = 1
            self.grad_spikes[t, b, ids] = grad_slots[t, b, :filled]


def _reset(
    network: Network,
    u: np.ndarray,
    theta: np.ndarray,
    run: _Run,
    t: int,
    moved: np.ndarray,
) -> np.ndarray:
    if network.reset == "none":
        return u
    flag, term = run.reset[t], u if network.reset == "zero" else theta
    if network.reset_gradient == "term":
        flag, term = run.reset[t], run.u[t] if network.reset == "zero" else run.theta[t]
    elif network.reset_gradient == "none":
        flag = flag + moved
    result: np.ndarray = u - term * flag
    return result
