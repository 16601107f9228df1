"""The equations of sparse LIF networks in float64: the judge of every kernel.

A layer, at step t, from input current I to emitted spikes (the letters are the field's):

    r[t] = u[t] > threshold                                   reset flag, decided by the state
    v[t] = u[t - 1] (1 - r[t - 1])                            0 before the first step
    u[t] = decay v[t] + gain (1 - decay) I[t]
    I[t] = sum over the input's spikes j at step t of W[j]    an id listed twice counts twice

Its slots hold the spiking neurons, then those with `second_threshold < u <= threshold` (all the
others if there is no second threshold), each by ascending id and as far as the capacity goes. A
spiking neuron without a slot is dropped: it resets, yet nothing else sees its spike. The next
layer's input spikes are those of `delay` steps ago. The readout never spikes: r = 0.

The gradient replaces the derivative of a spike by phi = 1 / (slope |u - threshold| + 1)^2 in the
filled slots and by 0 elsewhere. With lambda = dL/du and e = dL/ds, backwards in time:

    e[t] = dL/ds[t] directly + W' (gain' (1 - decay') lambda'[t + delay])      ' = next layer
    lambda[t] = phi[t] e[t] + kappa[t] lambda[t + 1]
    kappa[t] = decay (1 - r[t]) if reset_gradient is "mask", decay if it is "term" or the readout
    dL/dW[j] = sum over t and samples with spike j of gain (1 - decay) lambda[t]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple, Union

import numpy as np

from ops.lif.network import LIF, LeakyReadout, Network, SuperSpike, per_neuron
from ops.spikes import check_spikes, sparse_to_dense

# A layer's spike_ids and spike_counts, as in LayerTrace.
Slots = Tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class LayerTrace:
    """What one hidden layer did. `backward` reads all but `u` and `dropped`."""

    u: np.ndarray  # float64 [time, batch, neurons], after the update, before the reset
    reset: np.ndarray  # bool [time, batch, neurons], u > threshold
    spike_ids: np.ndarray  # int32 [time, batch, slots]: spiking, then gradient-only, then zeros
    spike_counts: np.ndarray  # int32 [time, batch, 2]: spikes, spikes and gradient-only neurons
    surrogate: np.ndarray  # float64 [time, batch, slots], 0 behind the last filled slot
    # int32 [time, batch]: spiking neurons without a slot. Gradient-only neurons without one are
    # not counted: they cost gradient, and no spike.
    dropped: np.ndarray


@dataclass(frozen=True)
class Trace:
    """What a network did over a whole sequence."""

    membrane: np.ndarray  # float64 [time, batch, classes], of the readout
    layers: Tuple[LayerTrace, ...]


@dataclass(frozen=True)
class Gradients:
    """Gradients of a loss."""

    weights: Tuple[np.ndarray, ...]  # float64 [N_in, N_out], of each layer and the readout
    inputs: np.ndarray  # float64 [time, batch, slots], by the spikes in the input's slots


def forward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    replay: Optional[Sequence[Slots]] = None,
) -> Trace:
    """Run the network from rest on the input spikes ids `[time, batch, slots]`, counts
    `[time, batch]`.

    weights: one `[N_in, N_out]` per layer and one for the readout.
    replay: of each layer the `(spike_ids, spike_counts)` of another run, say a kernel's. They
        then decide who spikes and who has a slot, so that a membrane which rounds to the other
        side of a threshold cannot send the two runs apart. Only a neuron that may have been
        dropped (all slots spike, its id is above theirs) is judged by its own membrane.

    Raises ValueError if shapes, dtypes or ids do not fit the network.
    """
    matrices = _checked_weights(network, weights)
    check_spikes(ids, counts, network.inputs)
    if replay is not None and len(replay) != len(network.layers):
        raise ValueError(f"replay must have {len(network.layers)} layers; got {len(replay)}")
    layers: List[LayerTrace] = []
    for number, (layer, matrix) in enumerate(zip(network.layers, matrices)):
        slots = None if replay is None else replay[number]
        current = _current(matrix, ids, counts)
        layers.append(_run_layer(layer, network.surrogate, current, slots))
        ids = _later(layers[-1].spike_ids, network.delay)
        counts = _later(layers[-1].spike_counts[..., 0], network.delay)
    membrane, _ = _integrate(network.readout, _current(matrices[-1], ids, counts), np.inf)
    return Trace(membrane=membrane, layers=tuple(layers))


def backward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    trace: Trace,
    grad_membrane: np.ndarray,
    grad_spikes: Optional[Sequence[Optional[np.ndarray]]] = None,
) -> Gradients:
    """The gradients of a loss by the weights and by the input's spikes.

    trace: of `forward` with the same arguments; any part of it may come from another backend
        (see `LayerTrace`).
    grad_membrane: `[time, batch, classes]`, the loss's derivative by the readout's membrane.
    grad_spikes: of each layer `[time, batch, slots]`, the loss's direct derivative by the spike
        of the neuron in that slot; entries behind the last filled slot are not read. None = 0.

    Raises ValueError if shapes, dtypes or ids do not fit the network.
    """
    matrices = _checked_weights(network, weights)
    check_spikes(ids, counts, network.inputs)
    if grad_spikes is None:
        grad_spikes = [None] * len(network.layers)
    if len(grad_spikes) != len(network.layers):
        raise ValueError(
            f"grad_spikes must have {len(network.layers)} layers; got {len(grad_spikes)}"
        )
    _check_shape("grad_membrane", grad_membrane, trace.membrane.shape)

    never = np.full(trace.membrane.shape, False)
    grad_current = _adjoint(network.readout, grad_membrane, never, "term")
    grad_matrices: List[np.ndarray] = []
    for number in reversed(range(len(network.layers))):
        layer, run = network.layers[number], trace.layers[number]
        spike_ids, spike_counts = _checked_slots(
            layer, run.reset.shape, (run.spike_ids, run.spike_counts)
        )
        spikes = sparse_to_dense(spike_ids, spike_counts[..., 0], layer.neurons)
        grad_matrices.append(_grad_matrix(_later(spikes, network.delay), grad_current))
        grad_arrived = _earlier(grad_current @ matrices[number + 1].T, network.delay)
        grad_slots = np.take_along_axis(grad_arrived, spike_ids.astype(np.int64), axis=2)
        direct = grad_spikes[number]
        if direct is not None:
            _check_shape(f"grad_spikes[{number}]", direct, spike_ids.shape)
            grad_slots = grad_slots + direct
        t, b, k = np.nonzero(_filled(spike_ids, spike_counts[..., 1]))
        grad_u = np.zeros(run.reset.shape)
        # A neuron has one slot at most, so that assignment is enough.
        grad_u[t, b, spike_ids[t, b, k]] = (run.surrogate * grad_slots)[t, b, k]
        grad_current = _adjoint(layer, grad_u, run.reset, network.reset_gradient)
    inputs = sparse_to_dense(ids, counts, network.inputs)
    grad_matrices.append(_grad_matrix(inputs, grad_current))
    used = _filled(ids, counts)
    grad_inputs = np.take_along_axis(
        grad_current @ matrices[0].T, np.where(used, ids, 0).astype(np.int64), axis=2
    )
    return Gradients(weights=tuple(reversed(grad_matrices)), inputs=np.where(used, grad_inputs, 0))


def _run_layer(
    layer: LIF, surrogate: SuperSpike, current: np.ndarray, slots: Optional[Slots]
) -> LayerTrace:
    threshold = per_neuron(layer.threshold, layer.neurons, "threshold")
    if slots is None:
        u, reset = _integrate(layer, current, threshold)
        spike_ids, spike_counts = _choose_slots(layer, threshold, u)
    else:
        spike_ids, spike_counts = _checked_slots(layer, current.shape, slots)
        spikes = sparse_to_dense(spike_ids, spike_counts[..., 0], layer.neurons) > 0
        full = spike_counts[..., 0, None] == layer.slots
        undecided = full & (np.arange(layer.neurons) > spike_ids[..., -1:])
        u, reset = _integrate(layer, current, threshold, (spikes, undecided))
    phi = 1 / (surrogate.slope * np.abs(u - threshold) + 1) ** 2
    phi = np.take_along_axis(phi, spike_ids.astype(np.int64), axis=2)
    return LayerTrace(
        u=u,
        reset=reset,
        spike_ids=spike_ids,
        spike_counts=spike_counts,
        surrogate=np.where(_filled(spike_ids, spike_counts[..., 1]), phi, 0),
        dropped=(reset.sum(axis=2) - spike_counts[..., 0]).astype(np.int32),
    )


def _current(matrix: np.ndarray, ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """I `[time, batch, N_out]`, summed in the order of the slots: the same on every machine."""
    current = np.zeros((*counts.shape, matrix.shape[1]))
    for k in range(counts.max(initial=0)):
        used = k < counts
        current[used] += matrix[ids[used, k]]
    return current


def _integrate(
    layer: Union[LIF, LeakyReadout],
    current: np.ndarray,
    threshold: Union[float, np.ndarray],
    replay: Optional[Tuple[np.ndarray, np.ndarray]] = None,
) -> Tuple[np.ndarray, np.ndarray]:
    """u and r `[time, batch, neurons]`. replay: who spiked, and who is left to the threshold."""
    decay = per_neuron(layer.decay, layer.neurons, "decay")
    gain = per_neuron(layer.gain, layer.neurons, "gain")
    u = np.zeros(current.shape)
    reset = np.zeros(current.shape, dtype=bool)
    v = np.zeros(current.shape[1:])
    for t in range(len(current)):
        u[t] = decay * v + gain * (1 - decay) * current[t]
        reset[t] = u[t] > threshold
        if replay is not None:
            spikes, undecided = replay
            reset[t] = spikes[t] | (undecided[t] & reset[t])
        v = np.where(reset[t], 0, u[t])
    return u, reset


def _choose_slots(
    layer: LIF, threshold: np.ndarray, u: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    spiking = u > threshold
    if layer.second_threshold is None:
        gradient = np.full(u.shape, True)
    else:
        gradient = u > per_neuron(layer.second_threshold, layer.neurons, "second_threshold")
    # second_threshold <= threshold, so a spiking neuron is always among the gradient's.
    rank = np.where(spiking, 0, np.where(gradient, 1, 2))
    ids = np.argsort(rank, axis=2, kind="stable")[..., : layer.slots]
    counts = np.stack([spiking.sum(axis=2), gradient.sum(axis=2)], axis=2)
    counts = np.minimum(counts, layer.slots).astype(np.int32)
    return np.where(_filled(ids, counts[..., 1]), ids, 0).astype(np.int32), counts


def _adjoint(
    layer: Union[LIF, LeakyReadout], grad_u: np.ndarray, reset: np.ndarray, reset_gradient: str
) -> np.ndarray:
    """dL/dI `[time, batch, neurons]` from dL/du without the part that comes through time."""
    decay = per_neuron(layer.decay, layer.neurons, "decay")
    gain = per_neuron(layer.gain, layer.neurons, "gain")
    grad_current = np.zeros(grad_u.shape)
    total = np.zeros(grad_u.shape[1:])  # lambda
    for t in reversed(range(len(grad_u))):
        kappa = decay * (1 - reset[t]) if reset_gradient == "mask" else decay
        total = grad_u[t] + kappa * total
        grad_current[t] = gain * (1 - decay) * total
    return grad_current


def _grad_matrix(spikes: np.ndarray, grad_current: np.ndarray) -> np.ndarray:
    flat_spikes = spikes.reshape(-1, spikes.shape[2]).astype(np.float64)
    grad: np.ndarray = flat_spikes.T @ grad_current.reshape(-1, grad_current.shape[2])
    return grad


def _filled(ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.arange(ids.shape[2]) < counts[..., None]


def _later(array: np.ndarray, steps: int) -> np.ndarray:
    """The array moved by `steps` later in time, zeros before it."""
    return np.concatenate([np.zeros_like(array[:steps]), array[: len(array) - steps]])


def _earlier(array: np.ndarray, steps: int) -> np.ndarray:
    return np.concatenate([array[steps:], np.zeros_like(array[:steps])])


def _checked_weights(network: Network, weights: Sequence[np.ndarray]) -> List[np.ndarray]:
    sizes = network.sizes
    if len(weights) != len(sizes) - 1:
        raise ValueError(f"the network needs {len(sizes) - 1} weights; got {len(weights)}")
    for number, matrix in enumerate(weights):
        _check_shape(f"weights[{number}]", matrix, (sizes[number], sizes[number + 1]))
    return [np.asarray(matrix, dtype=np.float64) for matrix in weights]


def _checked_slots(layer: LIF, shape: Tuple[int, ...], slots: Slots) -> Slots:
    spike_ids, spike_counts = slots
    _check_shape("spike_ids", spike_ids, (*shape[:2], layer.slots))
    _check_shape("spike_counts", spike_counts, (*shape[:2], 2))
    check_spikes(spike_ids, spike_counts[..., 1], layer.neurons)
    if not np.all((spike_counts[..., 0] >= 0) & (spike_counts[..., 0] <= spike_counts[..., 1])):
        raise ValueError("spike_counts must be (spikes, spikes and gradient-only)")
    if sparse_to_dense(spike_ids, spike_counts[..., 1], layer.neurons).max(initial=0) > 1:
        raise ValueError("spike_ids must give a neuron one slot at most")
    filled = _filled(spike_ids, spike_counts[..., 1])
    return np.where(filled, spike_ids, 0).astype(np.int32), spike_counts.astype(np.int32)


def _check_shape(name: str, array: np.ndarray, shape: Tuple[int, ...]) -> None:
    if np.shape(array) != shape:
        raise ValueError(f"{name} must have shape {shape}; got {np.shape(array)}")
