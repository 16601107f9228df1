"""The spikes that a layer receives, and its weights, in training with dropout and without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Tuple

import numpy as np

from ipulse_ops.lif.network import Layer, Network
from ipulse_ops.lif.reference.dynamics import Slots
from ipulse_ops.lif.weights import LayerWeights
from ipulse_ops.reference.connection_delays import (
    Taps,
    by_senders,
    delayed_spikes,
    taps_gradient,
    taps_of,
)
from ipulse_ops.reference.dropout import kept_senders, received_spikes, scale_of


@dataclass(frozen=True)
class Senders:
    """The senders of one layer in a batch."""

    kept: Optional[np.ndarray]  # bool [batch, senders]; None for all
    scale: float  # of the layer's input weights

    def received(self, weights: LayerWeights, sent: Slots) -> Tuple[LayerWeights, Slots]:
        """Return the layer's weights in use, and ids and counts of the spikes it receives."""
        if self.kept is None:
            return weights, sent
        return self.scaled(weights), received_spikes(*sent, self.kept)

    def scaled(self, weights: LayerWeights) -> LayerWeights:
        """Return the layer's weights in use."""
        return weights._replace(input=self.scale * weights.input)

    def masked(self, gradient: np.ndarray) -> np.ndarray:
        """Return a gradient by the senders' spikes `[time, batch, senders]`, 0 for the dropped."""
        return gradient if self.kept is None else gradient * self.kept

    def unscaled(self, gradient: LayerWeights) -> LayerWeights:
        """Return the gradient of the layer's weights from that of the weights in use."""
        return gradient._replace(input=self.scale * gradient.input)


@dataclass(frozen=True)
class DelayedConnections:
    """The connections of a layer with delays of its own, by the taps of their spikes."""

    longest: int
    delays: np.ndarray  # [N_in, neurons] of synapses, [N_in] of senders
    weights: LayerWeights  # in use

    def received(self, sent: Slots) -> Tuple[LayerWeights, Slots]:
        """Return the matrix of the taps in place of the weights, and the taps' spikes."""
        taps = self._taps()
        in_use = self.weights._replace(input=taps.weights, delays=None)
        return in_use, delayed_spikes(*sent, taps.arrivals)

    def gradient(self, by_taps: LayerWeights) -> LayerWeights:
        """Return the gradient of the weights in use and the delays from that of `received`'s."""
        given = (self.weights.input, self.delays, self.longest)
        by_weights, by_delays = taps_gradient(*given, by_taps.input)
        return by_taps._replace(input=by_weights, delays=by_delays)

    def by_senders(self, by_taps: np.ndarray) -> np.ndarray:
        """Return a gradient by the senders' spikes from that by the taps' spikes."""
        return by_senders(by_taps, self._taps().arrivals)

    def _taps(self) -> Taps:
        return taps_of(self.weights.input, self.delays, self.longest)


def delayed_connections(layer: Layer, weights: LayerWeights) -> Optional[DelayedConnections]:
    """Return the connections of a layer that has delays of its own, else None.

    weights: in use.
    """
    if layer.delays is None or weights.delays is None:
        return None
    return DelayedConnections(layer.delays.longest, weights.delays, weights)


def senders_in_training(
    network: Network, samples: int, dropout_seed: Optional[int]
) -> List[Senders]:
    """Return the senders of each layer and the readout; a seed of None keeps all of them."""
    found: List[Senders] = []
    for number, layer in enumerate((*network.layers, network.readout)):
        if dropout_seed is None or not layer.dropout:
            found.append(Senders(None, 1.0))
            continue
        kept = kept_senders(dropout_seed, number, samples, network.sizes[number], layer.dropout)
        found.append(Senders(kept, scale_of(layer.dropout)))
    return found
