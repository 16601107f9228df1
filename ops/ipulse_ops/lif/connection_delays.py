"""Delays of a layer's connections: one for each synapse, or a trained one for each sender.

Their initial values depend on a seed, the layer's number and the positions alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Tuple

import numpy as np

from ipulse_ops.philox import DELAYS, below, key_of, philox4x32
from ipulse_ops.validation import choice, flag, whole

MAX_LONGEST = 10_000
MAX_TAPS = 2**24  # senders times delays: their numbers are exact in float32


@dataclass(frozen=True)
class ConnectionDelays:
    """The delays of the spikes that enter a layer, in steps; an array of its weights has them.

    longest: the longest delay, 1 to 10,000.
    per: "synapse", a constant whole number of steps for each weight; "neuron", a trained number for
        each sender. The equations are in ipulse_ops.reference.connection_delays.
    rounded: True rounds trained delays to whole steps outside of training.

    Raises ValueError if a field is out of range.
    """

    longest: int
    per: str = "synapse"
    rounded: bool = False

    def __post_init__(self) -> None:
        whole("longest", self.longest, 1, MAX_LONGEST)
        choice("per", self.per, ("synapse", "neuron"))
        flag("rounded", self.rounded)

    @property
    def are_trained(self) -> bool:
        """True if the delays are trained."""
        return self.per == "neuron"

    @property
    def taps(self) -> int:
        """The number of times that a sender's spike can arrive at the layer."""
        return 2 if self.are_trained else self.longest + 1

    def shape(self, senders: int, neurons: int) -> Tuple[int, ...]:
        """Return the shape of the delays."""
        return (senders,) if self.are_trained else (senders, neurons)


def drawn_for(
    delays: ConnectionDelays, seed: int, layer: int, weights: Tuple[int, ...]
) -> np.ndarray:
    """Return what `drawn_delays` returns for weights `[N_in, neurons]` or a kernel as in Keras.

    Of a kernel each weight is a synapse, and each channel of the input a sender.
    """
    senders = weights[-2] if delays.are_trained else math.prod(weights[:-1])
    drawn = drawn_delays(delays, seed, layer, senders, weights[-1])
    return drawn if delays.are_trained else drawn.reshape(weights)


def drawn_delays(
    delays: ConnectionDelays, seed: int, layer: int, senders: int, neurons: int
) -> np.ndarray:
    """Return initial delays, float32, uniform from 0 to the longest.

    Those of synapses are whole. The delay at (sender, neuron) is word `neuron % 4` of philox4x32 at
    the counter (layer, sender, neuron // 4, DELAYS); a trained one is at neuron 0.

    seed: its low 64 bits are the key.
    """
    width = 1 if delays.are_trained else neurons
    sender, block = np.ogrid[:senders, : -(-width // 4)]
    words = philox4x32((layer, sender, block, DELAYS), key_of(seed % 2**64))
    words = words.reshape(senders, -1)[:, :width]
    if delays.are_trained:
        return (words[:, 0] * (delays.longest / 2**32)).astype(np.float32)
    return below(words, delays.longest + 1).astype(np.float32)
