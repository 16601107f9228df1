"""The backward pass of one layer, by the equations of network_pass.py."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple, Union

import numpy as np

from ipulse_ops.lif.network import LIF, Layer, Network
from ipulse_ops.lif.neuron_constants import scale_by_decay
from ipulse_ops.lif.reference.delay import later
from ipulse_ops.lif.reference.dynamics import (
    Slots,
    adaptation_after,
    after_reset,
    checked_slots,
    constants_of,
    synaptic_current,
)
from ipulse_ops.lif.reference.trace import ConstantGradients, LayerTrace
from ipulse_ops.lif.weights import LayerWeights
from ipulse_ops.reference.select_spikes import filled
from ipulse_ops.reference.spike_matmul import matrix_gradient, spike_matmul
from ipulse_ops.reference.spikes import check_shape


class Adjoint(NamedTuple):
    """A loss's gradients of one layer."""

    current: np.ndarray  # dL/dI, float64 [time, batch, neurons]
    weights: LayerWeights
    constants: ConstantGradients


class _Run(NamedTuple):
    """Values of a layer and the direct gradients of the loss, `[time, batch, neurons]`."""

    current: np.ndarray  # I
    u: np.ndarray
    reset: np.ndarray  # 0 or 1
    phi: np.ndarray  # 0 without a slot
    grad_spikes: np.ndarray
    own: Slots  # the layer's own spikes of the step before


def layer_adjoint(
    network: Network,
    number: int,
    weights: LayerWeights,
    entering: Slots,
    trace: Union[LayerTrace, np.ndarray],
    arriving: np.ndarray,
    grad_slots: Optional[np.ndarray],
    grad_u: Optional[np.ndarray],
) -> Adjoint:
    """Return the gradients of layer `number`; the readout follows the hidden layers.

    entering: ids and counts of the layer's input spikes.
    trace: the layer's trace, or the membrane of a leaky readout.
    arriving: dL/ds `[time, batch, neurons]` through the layers after it.
    grad_slots, grad_u: direct gradients of the loss, as `grad_spikes` and `grad_u` of `backward`.
    """
    layer = (*network.layers, network.readout)[number]
    current = spike_matmul(weights.input, *entering)
    if weights.bias is not None:
        current += weights.bias
    if isinstance(layer, LIF) and isinstance(trace, LayerTrace):
        run = _spiking_run(layer, number, weights, current, trace, grad_slots)
    else:
        zeros = np.zeros(current.shape)
        none = (np.zeros((*current.shape[:2], 1), np.int32), np.zeros(current.shape[:2], np.int32))
        run = _Run(current, np.asarray(trace), reset=zeros, phi=zeros, grad_spikes=zeros, own=none)
    check_shape(f"u of layer {number + 1}", run.u, current.shape)
    if grad_u is None:
        grad_u = np.zeros(current.shape)
    check_shape(f"grad_u[{number}]", grad_u, current.shape)
    grad_current, constants = _backward_in_time(
        network, layer, weights.recurrent, run, arriving + run.grad_spikes, grad_u
    )
    by_weights = LayerWeights(
        input=matrix_gradient(*entering, grad_current, len(weights.input)),
        recurrent=None
        if weights.recurrent is None
        else matrix_gradient(*run.own, grad_current, layer.neurons),
        bias=None if weights.bias is None else grad_current.sum(axis=(0, 1)),
    )
    return Adjoint(grad_current, by_weights, constants)


def _spiking_run(
    layer: LIF,
    number: int,
    weights: LayerWeights,
    current: np.ndarray,
    trace: LayerTrace,
    grad_slots: Optional[np.ndarray],
) -> _Run:
    slots = (trace.spike_ids, trace.spike_counts)
    spike_ids, spike_counts = checked_slots(layer, current.shape[:2], slots)
    own = (later(spike_ids, 1), later(spike_counts[..., 0], 1))
    if weights.recurrent is not None:
        current = current + spike_matmul(weights.recurrent, *own)
    t, b, k = np.nonzero(filled(spike_ids, spike_counts[..., 1]))
    place = (t, b, spike_ids[t, b, k])
    # A neuron has at most one slot, so that assignment suffices.
    phi, direct = np.zeros(current.shape), np.zeros(current.shape)
    phi[place] = trace.surrogate[t, b, k]
    if grad_slots is not None:
        check_shape(f"grad_spikes[{number}]", grad_slots, spike_ids.shape)
        direct[place] = grad_slots[t, b, k]
    return _Run(current, trace.u, trace.reset.astype(np.float64), phi, direct, own)


def _backward_in_time(
    network: Network,
    layer: Layer,
    recurrent: Optional[np.ndarray],
    run: _Run,
    grad_spikes: np.ndarray,
    grad_u: np.ndarray,
) -> Tuple[np.ndarray, ConstantGradients]:
    """Return dL/dI `[time, batch, neurons]` and the gradients of the constants."""
    constants = constants_of(layer)
    steps, shape = len(run.u), run.u.shape[1:]
    # i[t] is the current of step t - 1, and v[t] the membrane after the reset of step t - 1.
    v, i, b = np.zeros((3, steps + 1, *shape))
    for t in range(steps):
        i[t + 1] = synaptic_current(constants, i[t], run.current[t])
        b[t + 1] = adaptation_after(constants, b[t], run.reset[t])
    threshold = constants.threshold + constants.adaptation_strength * b[:-1]  # theta
    v[1:] = after_reset(network.reset, run.u, run.reset > 0, threshold)
    raises = isinstance(layer, LIF) and layer.adapts and not layer.detach_adaptation

    grad_current = np.zeros((steps + 1, *shape))
    grad_i, grad_v, grad_b = np.zeros((3, *shape))  # of the step after: dL/di, kappa, mu
    by_decay, by_threshold, by_synapse_decay, by_strength, by_rate = np.zeros((5, *shape))
    v_by_u, v_by_r, v_by_threshold = _reset_derivatives(network, run.u, run.reset, threshold)
    for t in reversed(range(steps)):
        is_cut = network.truncate is not None and (t + 1) % network.truncate == 0
        if is_cut:
            grad_i, grad_v, grad_b = np.zeros((3, *shape))
        e = grad_spikes[t] + v_by_r[t] * grad_v
        if recurrent is not None and not is_cut:
            e = e + grad_current[t + 1] @ recurrent.T
        if raises:
            e = e + grad_b
        total = run.phi[t] * e + v_by_u[t] * grad_v + grad_u[t]  # lambda
        grad_i = constants.scale * total + constants.synapse_decay * grad_i
        grad_current[t] = (1 - constants.synapse_decay) * grad_i
        by_decay += total * (v[t] + scale_by_decay(constants.decay, constants.gain) * i[t + 1])
        tau = v_by_threshold[t] * grad_v - run.phi[t] * e
        by_threshold += tau
        by_strength += tau * b[t]
        by_rate += grad_b * b[t]
        grad_b = constants.adaptation_decay * grad_b + constants.adaptation_strength * tau
        by_synapse_decay += grad_i * (i[t] - run.current[t])
        grad_v = constants.decay * total
    adapts = isinstance(layer, LIF) and layer.adapts
    return grad_current[:steps], ConstantGradients(
        decay=by_decay.sum(axis=0),
        threshold=by_threshold.sum(axis=0) if isinstance(layer, LIF) else None,
        synapse_decay=None if layer.synapse_decay is None else by_synapse_decay.sum(axis=0),
        adaptation_decay=by_rate.sum(axis=0) if adapts else None,
        adaptation_strength=by_strength.sum(axis=0) if adapts else None,
    )


def _reset_derivatives(
    network: Network, u: np.ndarray, reset: np.ndarray, threshold: np.ndarray
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Du, Dr and Dtheta of the table in network_pass.py, `[time, batch, neurons]`."""
    zeros, ones = np.zeros(u.shape), np.ones(u.shape)
    by_u, by_r, by_threshold = {
        "zero": (1 - reset, -u, zeros),
        "subtract": (ones, zeros - threshold, -reset),
        "none": (ones, zeros, zeros),
    }[network.reset]
    if network.reset_gradient == "none":
        return by_u, by_r, by_threshold
    if network.reset_gradient == "mask":
        return by_u, zeros, by_threshold
    return ones, zeros, zeros
