"""A smooth twin of a network, whose true gradient is what the reference calls the gradient.

The surrogate 1 / (slope |x| + 1)^2 is the derivative of x / (slope |x| + 1). Around one run, hold
what the backward pass holds constant (who spiked, who has a slot, the resets) and let the neuron
in a slot emit

    its spike in that run + x / (slope |x| + 1) - the same of that run,     x = u - threshold

At the run's own weights the twin does exactly what the network did, and away from them it is
smooth. Its derivative comes from complex-step differentiation: no rule of differentiation is
written down here, and, unlike a difference quotient, nothing cancels.
"""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple, Union

import numpy as np

from ops.lif.network import LIF, LeakyReadout
from ops.lif.reference import Trace
from tests.ops.strategies import Problem

STEP = 1e-30  # its square vanishes beside 1: the derivative is exact to rounding


def twin_loss(
    problem: Problem, trace: Trace, weights: Sequence[np.ndarray], inputs: np.ndarray
) -> complex:
    """The sum of the problem's gradients times the twin's membrane and spikes.

    weights and inputs `[time, batch, N_in]` may be complex.
    """
    network = problem.network
    steps, batch = problem.counts.shape
    loss = 0j
    for b in range(batch):
        v = [np.zeros(layer.neurons, dtype=complex) for layer in network.layers]
        membrane = np.zeros(network.readout.neurons, dtype=complex)
        emitted: List[List[np.ndarray]] = [[] for _ in network.layers]
        for t in range(steps):
            arriving: Optional[np.ndarray] = inputs[t, b]
            for number, layer in enumerate(network.layers):
                base = trace.layers[number]
                u = _update(layer, v[number], weights[number], arriving)
                x, x_base = u - layer.threshold, base.u[t, b] - layer.threshold
                spikes, slots = _spikes_and_slots(base.spike_ids, base.spike_counts, t, b, x.size)
                smooth = _smooth_spike(x, x_base, network.surrogate.slope)
                smooth -= _smooth_spike(x_base, x_base, network.surrogate.slope)
                emitted[number].append(spikes + slots * smooth)
                reset = base.u[t, b] > layer.threshold
                if network.reset_gradient == "mask":
                    v[number] = u * (1 - reset)
                else:
                    v[number] = u - base.u[t, b] * reset
                filled = base.spike_counts[t, b, 1]
                in_slots = emitted[number][t][base.spike_ids[t, b, :filled]]
                loss += problem.grad_spikes[number][t, b, :filled] @ in_slots
                arriving = emitted[number][t - network.delay] if t >= network.delay else None
            membrane = _update(network.readout, membrane, weights[-1], arriving)
            loss += problem.grad_membrane[t, b] @ membrane
    return complex(loss)


def twin_derivative(
    problem: Problem, trace: Trace, d_weights: Sequence[np.ndarray], d_inputs: np.ndarray
) -> float:
    """The loss's derivative in one direction of all weights and input slots at once.

    d_inputs: `[time, batch, slots]`.
    """
    weights = [w + 1j * STEP * d for w, d in zip(problem.weights, d_weights)]
    inputs = np.zeros((*problem.counts.shape, problem.network.inputs), dtype=complex)
    for t, b in np.ndindex(*problem.counts.shape):
        for k in range(problem.counts[t, b]):
            inputs[t, b, problem.ids[t, b, k]] += 1 + 1j * STEP * d_inputs[t, b, k]
    return twin_loss(problem, trace, weights, inputs).imag / STEP


def _update(
    layer: Union[LIF, LeakyReadout],
    v: np.ndarray,
    weights: np.ndarray,
    arriving: Optional[np.ndarray],
) -> np.ndarray:
    current = 0 if arriving is None else arriving @ weights
    u: np.ndarray = layer.decay * v + layer.gain * (1 - layer.decay) * current
    return u


def _smooth_spike(x: np.ndarray, x_base: np.ndarray, slope: float) -> np.ndarray:
    # |x| by the sign of the run's own x: analytic, as complex steps need it.
    result: np.ndarray = x / (slope * np.sign(x_base) * x + 1)
    return result


def _spikes_and_slots(
    ids: np.ndarray, counts: np.ndarray, t: int, b: int, neurons: int
) -> Tuple[np.ndarray, np.ndarray]:
    spikes, slots = np.zeros(neurons), np.zeros(neurons)
    spikes[ids[t, b, : counts[t, b, 0]]] = 1
    slots[ids[t, b, : counts[t, b, 1]]] = 1
    return spikes, slots
