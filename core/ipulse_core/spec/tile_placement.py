"""Places the neurons of a network on tiles as the Poplar op does."""

from __future__ import annotations

import math
from typing import List, NamedTuple, Sequence, Tuple

_UPDATE_COST = 8.0  # of a pair of neurons, in spikes
_SOURCE_DISTANCE = 97  # tiles between the first samples of two sources


class TileLayer(NamedTuple):
    """A layer as the Poplar op sees it; the readout is the last one."""

    neurons: int
    slots: int  # spikes of a sample and step that it may send; 0 for a readout that does not spike
    recurrent: bool = False
    synapse: bool = False
    bias: bool = False
    gated: bool = False  # has a second threshold; else every neuron may have a gradient
    frozen: bool = False  # its weights are not updated


class TileNetwork(NamedTuple):
    """A network and its placement."""

    inputs: int
    input_slots: int  # spikes of a sample and step that come in
    layers: Sequence[TileLayer]
    steps: int
    batch: int
    mapping: str  # capacity, neurons or linear
    ipus: int
    tiles_per_ipu: int
    splits_neurons: bool  # every layer over all IPUs
    recomputes: bool = False  # runs steps again instead of storing what the backward pass reads
    weight_words: float = 1.0  # of a weight: 0.5 for weights of half
    state_words: float = 1.0  # of a neuron and sample: 0.5 for states of half
    optimizer_words: int = 0  # of a weight: moments that are on the device
    updates: bool = False  # weights are updated on the device: it has the code of the optimizer
    trains: bool = False  # a program has the loss and the update, too
    clips_values: bool = False  # of gradients, on the device
    clips_norm: bool = False
    # The inputs of a loss with equations on the tiles, which compute a sample each: "membrane" or
    # "spikes", and the number of the layer.
    loss_reads: Sequence[Tuple[str, int]] = ()
    loss: str = ""  # one without equations that is computed on the tiles
    membranes: bool = False  # those of hidden layers are stored, with their gradients
    delay: int = 0  # steps from layer to layer, 0 or 1
    resets: bool = True  # a spike changes the membrane
    masks_resets: bool = True  # the backward pass needs to know which neurons were reset

    def senders(self, layer: int) -> int:
        """Return the number of neurons that send spikes to a layer, its own included."""
        before = self.inputs if layer == 0 else self.layers[layer - 1].neurons
        return before + (self.layers[layer].neurons if self.layers[layer].recurrent else 0)

    def range_size(self, layer: int) -> int:
        """Return the most neurons of a layer that one IPU has; if it is split, whole pairs."""
        neurons = self.layers[layer].neurons
        if not self.splits_neurons:
            return neurons
        return 2 * divide_up(divide_up(neurons, 2), self.ipus)

    def slots_before(self, layer: int) -> int:
        """Return the spikes of a sample and step that enter a layer, without its own."""
        return self.input_slots if layer == 0 else self.layers[layer - 1].slots


class TilePart(NamedTuple):
    """Neurons of a layer on one tile, in pairs."""

    layer: int
    ipu: int
    tile: int
    neurons: int

    @property
    def row(self) -> int:
        """The neurons with the silent partner of an odd last one."""
        return 2 * divide_up(self.neurons, 2)


def place_neurons(network: TileNetwork) -> List[TilePart]:
    """Return the parts of all layers, as TilePlan::placeNeurons has them.

    Raises ValueError if an IPU has fewer tiles than layers.
    """
    parts: List[TilePart] = []
    ipu_of = ipu_of_layers(network)
    for ipu in range(network.ipus):
        pieces = []
        for number, layer in enumerate(network.layers):
            neurons = layer.neurons
            if network.splits_neurons:
                size = network.range_size(number)
                neurons = min((ipu + 1) * size, layer.neurons) - min(ipu * size, layer.neurons)
            elif ipu_of[number] != ipu:
                continue
            if neurons:
                pieces.append((number, neurons))
        parts += _placed_on(network, ipu, pieces)
    return parts


def _placed_on(network: TileNetwork, ipu: int, pieces: Sequence[Tuple[int, int]]) -> List[TilePart]:
    tiles = max(1, network.tiles_per_ipu - 1)

    def pairs_a_tile(number: int, load: float) -> int:
        cost = 1.0
        if network.mapping == "capacity":
            layer = network.layers[number]
            own = layer.slots if layer.recurrent else 0
            cost = _UPDATE_COST + network.slots_before(number) + own
        return max(1, int(min(load / cost, 32768.0)))

    def needed(load: float) -> int:
        return sum(divide_up(divide_up(n, 2), pairs_a_tile(number, load)) for number, n in pieces)

    load = 0.0
    if network.mapping != "linear" and pieces:
        low, high = 0.0, 1.0
        while needed(high) > tiles and high < 1e12:
            high *= 2
        if needed(high) > tiles:
            raise ValueError(f"{len(pieces)} layers on {tiles} tiles of an IPU")
        for _ in range(60):
            middle = (low + high) / 2
            if needed(middle) > tiles:
                low = middle
            else:
                high = middle
        load = high
    parts: List[TilePart] = []
    following = 0
    for number, neurons in pieces:
        pairs = divide_up(neurons, 2)
        linear = network.mapping == "linear"
        most = divide_up(pairs, tiles) if linear else pairs_a_tile(number, load)
        count = divide_up(pairs, most)
        following = 0 if linear else following
        bounds = [min(2 * (pairs * at // count), neurons) for at in range(count + 1)]
        for begin, end in zip(bounds, bounds[1:]):
            tile = 0 if network.tiles_per_ipu == 1 else 1 + following % tiles
            parts.append(TilePart(number, ipu, tile, end - begin))
            following += 1
    return parts


def sample_tile(network: TileNetwork, source: int, sample: int) -> int:
    """Return the tile with a sample's spikes of a source: 0 is the input, n is layer n."""
    if network.tiles_per_ipu == 1:
        return 0
    most = network.tiles_per_ipu - 1
    return most - (sample + _SOURCE_DISTANCE * source) % most


def ipu_of_layers(network: TileNetwork) -> List[int]:
    """Return the IPU of each layer so that the heaviest is as light as can be, or the first."""
    count, ipus = len(network.layers), network.ipus
    if network.splits_neurons or ipus == 1:
        return [0] * count
    before = [0.0]
    for number, layer in enumerate(network.layers):
        before.append(before[-1] + layer.neurons * network.senders(number))
    best = [[math.inf] * (count + 1) for _ in range(ipus + 1)]
    start_of = [[0] * (count + 1) for _ in range(ipus + 1)]
    best[0][0] = 0.0
    for ipu in range(1, ipus + 1):
        for end in range(ipu, count + 1):
            for start in range(ipu - 1, end):
                heaviest = max(best[ipu - 1][start], before[end] - before[start])
                if heaviest < best[ipu][end]:
                    best[ipu][end], start_of[ipu][end] = heaviest, start
    found = [0] * count
    end = count
    for ipu in range(ipus, 0, -1):
        for number in range(start_of[ipu][end], end):
            found[number] = ipu - 1
        end = start_of[ipu][end]
    return found


def divide_up(dividend: int, divisor: int) -> int:
    """Return the quotient, rounded up."""
    return -(-dividend // divisor)
