"""Predicts the memory of the fullest tile of a network, before anything is compiled.

The neurons of a layer, and the spikes of a sample, are on the tiles where the Poplar op puts them
(ops/ipulse_ops/lif/poplar/layout/tile_plan.cc); tests/ipulse/spec/test_tile_memory.py compares
both. A typical figure stands for the rest of a tile, such as code.
"""

from __future__ import annotations

import math
from typing import Dict, List, NamedTuple, Sequence, Tuple

TILE_BYTES = 638_976  # of an IPU of the second generation
_WORD = 4  # bytes
_UPDATE_COST = 8.0  # of a pair of neurons, in spikes
_OTHER_BYTES = 26_000  # stacks, code and exchange code of a tile
_STATES = 8  # tensors of a layer's neurons and samples that live at the same time
_SAMPLES_PER_WORD = 24  # resets of a neuron
_RECOMPUTED_SLOTS = 1.4  # words of a slot: ids of all steps, and the rest of one segment
_SOURCE_DISTANCE = 97  # tiles between the first samples of two sources

_Tile = Tuple[int, int]  # IPU, tile


class TileLayer(NamedTuple):
    """A layer as the Poplar op sees it; the readout is the last one."""

    neurons: int
    slots: int  # spikes of a sample and step that it may send; 0 for a readout that does not spike
    recurrent: bool = False


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
    optimizer_words: int = 0  # of a weight: moments that are on the device

    def senders(self, layer: int) -> int:
        """Return the number of neurons that send spikes to a layer, its own included."""
        before = self.inputs if layer == 0 else self.layers[layer - 1].neurons
        return before + (self.layers[layer].neurons if self.layers[layer].recurrent else 0)

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
        return 2 * _ceil(self.neurons, 2)


class MemoryPrediction(NamedTuple):
    """The prediction."""

    fullest_bytes: int
    tiles_used: int  # that have neurons or samples
    least_bytes: int  # that the fullest tile needs under any placement


def predict(network: TileNetwork) -> MemoryPrediction:
    """Return the prediction for a network.

    Raises ValueError if an IPU has fewer tiles than layers.
    """
    used: Dict[_Tile, float] = {}
    for part in place_neurons(network):
        place = (part.ipu, part.tile)
        used[place] = used.get(place, 0) + _bytes_of_part(network, part)
    per_sample = [_bytes_of_input(network)]
    per_sample += [_bytes_of_sample(network, layer) for layer in network.layers if layer.slots]
    homes = [0] + [ipu for layer, ipu in zip(network.layers, _ipu_of(network)) if layer.slots]
    round_of_tiles = max(1, network.tiles_per_ipu - 1)
    for source, (each, ipu) in enumerate(zip(per_sample, homes)):
        for sample in range(min(network.batch, round_of_tiles)):
            place = (ipu, sample_tile(network, source, sample))
            samples = _ceil(network.batch - sample, round_of_tiles)  # that are on this tile
            used[place] = used.get(place, 0) + samples * each
    shared = _bytes_of_gradients(network) / (network.ipus * network.tiles_per_ipu)
    fullest = max(used.values()) + shared + _OTHER_BYTES
    return MemoryPrediction(int(fullest), len(used), _least(network))


def place_neurons(network: TileNetwork) -> List[TilePart]:
    """Return the parts of all layers, as TilePlan::placeNeurons has them.

    Raises ValueError if an IPU has fewer tiles than layers.
    """
    parts: List[TilePart] = []
    ipu_of = _ipu_of(network)
    for ipu in range(network.ipus):
        pieces = []
        for number, layer in enumerate(network.layers):
            neurons = layer.neurons
            if network.splits_neurons:
                size = 2 * _ceil(_ceil(layer.neurons, 2), network.ipus)
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
        return sum(_ceil(_ceil(n, 2), pairs_a_tile(number, load)) for number, n in pieces)

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
        pairs = _ceil(neurons, 2)
        linear = network.mapping == "linear"
        most = _ceil(pairs, tiles) if linear else pairs_a_tile(number, load)
        count = _ceil(pairs, most)
        following = 0 if linear else following
        bounds = [min(2 * (pairs * at // count), neurons) for at in range(count + 1)]
        for begin, end in zip(bounds, bounds[1:]):
            tile = 0 if network.tiles_per_ipu == 1 else 1 + following % tiles
            parts.append(TilePart(number, ipu, tile, end - begin))
            following += 1
    return parts


def _ipu_of(network: TileNetwork) -> List[int]:
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


def sample_tile(network: TileNetwork, source: int, sample: int) -> int:
    """Return the tile with a sample's spikes of a source: 0 is the input, n is layer n."""
    if network.tiles_per_ipu == 1:
        return 0
    most = network.tiles_per_ipu - 1
    return most - (sample + _SOURCE_DISTANCE * source) % most


def _bytes_of_part(network: TileNetwork, part: TilePart) -> int:
    layer = network.layers[part.layer]
    before = network.slots_before(part.layer)
    # Weights, their gradients and moments; an odd row is arranged anew in both passes.
    each = (1 if part.neurons % 2 == 0 else 4) + network.weight_words + network.optimizer_words
    words = each * network.senders(part.layer) * part.row
    words += _STATES * network.batch * part.row
    if part.layer == len(network.layers) - 1:  # membranes and their gradients
        words += 2 * network.steps * network.batch * part.row
    elif (
        layer.slots < layer.neurons and not network.recomputes
    ):  # resets, of the forward and of the backward pass
        words += 2 * network.steps * _ceil(network.batch, _SAMPLES_PER_WORD) * part.row
    received = before + (layer.slots if layer.recurrent else 0)
    # The gradients of these spikes, and the messages with their ids.
    words += network.batch * (received if part.layer or layer.recurrent else 0)
    return round(_WORD * words) + network.batch * (2 * received + 8)


def _bytes_of_input(network: TileNetwork) -> int:
    """Return the bytes of a sample's ids: as given, arranged, and checked in 16 bits."""
    return network.steps * (network.input_slots * (2 * _WORD + 2) + 4 * _WORD)


def _bytes_of_sample(network: TileNetwork, layer: TileLayer) -> int:
    """Return the bytes of a sample's spikes of a layer: ids, surrogates and gradients."""
    slots = _RECOMPUTED_SLOTS if network.recomputes else 3
    return round(network.steps * (slots * layer.slots + 5) * _WORD)


def _bytes_of_gradients(network: TileNetwork) -> int:
    """Return the bytes of the gradients by the outputs, which lie on all tiles."""
    slots = sum(layer.slots for layer in network.layers)
    return network.steps * network.batch * (2 * slots + network.layers[-1].neurons) * _WORD


def _least(network: TileNetwork) -> int:
    """Return the bytes of the fullest tile that no placement avoids."""
    tiles = network.ipus * network.tiles_per_ipu
    weights = network.weight_words * sum(
        layer.neurons * network.senders(number) for number, layer in enumerate(network.layers)
    )
    stored = 1 if network.recomputes else 2  # ids, and surrogates
    slots = [layer.slots for layer in network.layers]
    # A sample's ids and surrogates of a layer are on one tile, and so are a pair's weights.
    kept = stored * network.steps * max(slots, default=0)
    pair = (
        2
        * network.weight_words
        * max(network.senders(number) for number in range(len(network.layers)))
    )
    spread = weights + stored * network.steps * network.batch * sum(slots)
    return math.ceil(_WORD * max(kept, pair, spread / tiles))


def _ceil(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)
