"""Initial weights that make every layer of a network active at any depth."""

from __future__ import annotations

from dataclasses import replace
from typing import List, Tuple

import numpy as np

from ipulse_ops.lif.connection_delays import drawn_delays
from ipulse_ops.lif.network import LIF, Layer, LeakyReadout, Network
from ipulse_ops.lif.neuron_constants import current_scale, per_neuron
from ipulse_ops.lif.reference.network_pass import forward
from ipulse_ops.reference.spikes import added_spikes, check_spikes


def balanced_weights(
    network: Network,
    ids: np.ndarray,
    counts: np.ndarray,
    std: float = 1.0,
    seed: int = 0,
    before: int = 0,
) -> List[np.ndarray]:
    """Return float32 weights with the shapes of ipulse_ops.lif.weights.weight_shapes.

    ids, counts: a sample of input spikes, `[time, batch, slots]` and `[time, batch]`. A few dozen
        samples suffice; the float64 reference runs on them and stores every membrane, about 100
        bytes per step, sample and neuron of the widest layer.
    std: standard deviation of the membranes in units of the threshold.
    before: layers in front of the network, which messages count.

    With zero-mean weights and n input spikes per step, uniformly distributed over steps and
    channels, a membrane without reset has the variance

        var(u) = (gain (1 - decay))^2 n var(W) / (1 - decay^2).

    With a decay of 1 the variance grows; its mean over T steps is gain^2 n var(W) T / 2. A synapse
    multiplies it by (1 - b) (1 + a b) / ((1 + b) (1 - a b)), where a is the decay and b
    the synapse's decay. Weights are uniform in -w to w, with w such that the standard deviation is
    `std` times the neuron's threshold, or `std` in a leaky readout. n is the mean number of spikes
    that reach the layer from the sample. Input with the same channels at every step yields a larger
    variance. In a recurrent layer n includes the spikes that it emits without recurrence. Biases
    are 0. Delays of connections are drawn, and otherwise delays are ignored. The weights depend on
    the arguments alone.

    Raises ValueError if the sample does not fit the network, a threshold is not above 0, a gain
    is 0, or no spike reaches a layer: no finite weights would make it active.
    """
    if not (np.isfinite(std) and std > 0):
        raise ValueError(f"std must be greater than 0; got {std}")
    check_spikes(ids, counts, network.inputs)
    rng = np.random.Generator(np.random.PCG64(seed))
    weights: List[np.ndarray] = []
    layers: Tuple[Layer, ...] = (*network.layers, network.readout)
    sent = [(ids, counts)]  # of the input and the layers
    for number, (n_in, layer) in enumerate(zip(network.sizes, layers)):
        ids, counts = sent[number]
        if layer.residual:
            ids, counts = added_spikes([sent[source + 1] for source in network.senders(number)])
        arriving = float(counts.mean()) if counts.size else 0.0
        if arriving == 0:
            raise ValueError(silence(before + number))
        uniform = 2 * rng.random((n_in, layer.neurons)) - 1
        limit = np.sqrt(3) * std * _unit_std(layer, before + number, arriving, len(ids))
        own: List[np.ndarray] = []
        if isinstance(layer, LIF) and layer.recurrent:
            alone = replace(layer, recurrent=False, bias=False, delays=None)
            matrix = (uniform * limit).astype(np.float32)
            arriving += float(_spikes(network, alone, [matrix], ids, counts)[1].mean())
            limit = np.sqrt(3) * std * _unit_std(layer, before + number, arriving, len(ids))
            again = 2 * rng.random((layer.neurons, layer.neurons)) - 1
            own.append((again * limit).astype(np.float32))
        if layer.bias:
            own.append(np.zeros(layer.neurons, np.float32))
        if layer.delays is not None:
            own.append(drawn_delays(layer.delays, seed, number, n_in, layer.neurons))
        own.insert(0, (uniform * limit).astype(np.float32))
        weights.extend(own)
        if number < len(network.layers):
            sent.append(_spikes(network, network.layers[number], own, ids, counts))
    return weights


def _spikes(
    network: Network,
    layer: LIF,
    weights: List[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the ids and counts of a layer that runs alone."""
    readout, unread = LeakyReadout(neurons=1), np.zeros((layer.neurons, 1))
    layer = replace(layer, residual=())
    alone = replace(network, inputs=len(weights[0]), layers=(layer,), readout=readout, delay=0)
    trace = forward(alone, [*weights, unread], ids, counts).layers[0]
    return trace.spike_ids, trace.spike_counts[..., 0]


def _unit_std(layer: Layer, number: int, arriving: float, steps: int) -> np.ndarray:
    """Return the weights' std `[neurons]` that makes the membrane's equal to the threshold."""
    decay = per_neuron(layer.decay, layer.neurons, "decay")
    gain = per_neuron(layer.gain, layer.neurons, "gain")
    threshold = np.ones(layer.neurons)
    if isinstance(layer, LIF):
        threshold = per_neuron(layer.threshold, layer.neurons, "threshold")
    if not np.all(threshold > 0):
        raise ValueError(f"layer {number + 1} needs thresholds above 0 to balance its weights")
    if np.any(gain == 0):
        raise ValueError(f"layer {number + 1} needs gains other than 0 to balance its weights")
    settled = inverse_variance(decay, steps)
    scale = current_scale(decay, gain)
    std: np.ndarray = threshold * np.sqrt(settled / arriving) / np.abs(scale)
    if layer.synapse_decay is not None:
        slow = per_neuron(layer.synapse_decay, layer.neurons, "synapse_decay")
        std = std * np.sqrt((1 + slow) * (1 - decay * slow) / ((1 - slow) * (1 + decay * slow)))
    return std


def inverse_variance(decay: np.ndarray, steps: int) -> np.ndarray:
    """Return 1 over the variance of a membrane to which each step adds one of variance 1."""
    return np.where(decay == 1, 2.0 / steps, 1 - decay**2)


def silence(number: int) -> str:
    """Return the message for layer `number`, of which no spike arrives at the next; 0: input."""
    if number == 0:
        return "the input sample has no spikes to balance the weights; pass samples with spikes"
    return (
        f"layer {number} does not spike on the sample, so that the weights after it cannot be "
        f"balanced; raise std, or pass more samples or steps"
    )
