"""Initial weights under which every layer of a network is active, however deep it is."""

from __future__ import annotations

from typing import List, Tuple, Union

import numpy as np

from ops.lif.network import LIF, LeakyReadout, Network, per_neuron
from ops.lif.reference import forward
from ops.spikes import check_spikes


def balanced_weights(
    network: Network, ids: np.ndarray, counts: np.ndarray, std: float = 1.0, seed: int = 0
) -> List[np.ndarray]:
    """Float32 weights `[N_in, N_out]` for every layer and the readout.

    Zero-mean weights and n input spikes a step, each as likely at any step and channel, give a
    membrane that is never reset the variance

        var(u) = (gain (1 - decay))^2 n var(W) / (1 - decay^2)

    Weights are uniform in -a to a, with `a` such that this is `std` times the neuron's threshold;
    the readout, which has none, counts its membrane by a threshold of 1. Layer by layer, n is
    measured: the mean count of spikes that arrive when the sample ids `[time, batch, slots]`,
    counts `[time, batch]` runs through the layers before. Input that repeats itself through time
    (the same channels at every step) makes membranes wider than this.

    A few dozen samples are enough: the run is the reference's, in float64 and with every membrane
    kept, some 100 bytes per step, sample and neuron of the widest layer. A delay between layers
    only shifts time, and is left out. The weights depend on nothing but the arguments.

    Raises ValueError if the sample does not fit the network, a threshold is not above 0, a gain
    is 0, or no spike reaches a layer: no finite weights would make it active.
    """
    if not (np.isfinite(std) and std > 0):
        raise ValueError(f"std must be greater than 0; got {std}")
    check_spikes(ids, counts, network.inputs)
    rng = np.random.Generator(np.random.PCG64(seed))
    weights: List[np.ndarray] = []
    layers: Tuple[Union[LIF, LeakyReadout], ...] = (*network.layers, network.readout)
    for number, (n_in, layer) in enumerate(zip(network.sizes, layers)):
        arriving = float(counts.mean()) if counts.size else 0.0
        if arriving == 0:
            raise ValueError(_silence(number))
        limit = np.sqrt(3) * std * _unit_std(layer, number, arriving)
        matrix = ((2 * rng.random((n_in, layer.neurons)) - 1) * limit).astype(np.float32)
        weights.append(matrix)
        if isinstance(layer, LIF):
            alone = Network(inputs=n_in, layers=(layer,), readout=LeakyReadout(neurons=1))
            unread = np.zeros((layer.neurons, 1))
            trace = forward(alone, [matrix, unread], ids, counts).layers[0]
            ids, counts = trace.spike_ids, trace.spike_counts[..., 0]
    return weights


def _unit_std(layer: Union[LIF, LeakyReadout], number: int, arriving: float) -> np.ndarray:
    """The weights' std `[neurons]` that makes the membrane's equal to the threshold."""
    decay = per_neuron(layer.decay, layer.neurons, "decay")
    gain = per_neuron(layer.gain, layer.neurons, "gain")
    threshold = np.ones(layer.neurons)
    if isinstance(layer, LIF):
        threshold = per_neuron(layer.threshold, layer.neurons, "threshold")
    if not np.all(threshold > 0):
        raise ValueError(f"layer {number} needs thresholds above 0 to balance its weights")
    if np.any(gain == 0):
        raise ValueError(f"layer {number} needs gains other than 0 to balance its weights")
    std: np.ndarray = threshold * np.sqrt((1 - decay**2) / arriving) / np.abs(gain * (1 - decay))
    return std


def _silence(number: int) -> str:
    if number == 0:
        return "the input sample has no spikes to balance weights by; give samples that spike"
    return (
        f"no spike of the sample gets through layer {number - 1}, so that the weights after it "
        f"cannot be balanced; raise std, or give more samples or steps"
    )
