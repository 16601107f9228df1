"""Predicts the memory of the fullest tile of a network, before anything is compiled.

The neurons of a layer, and the spikes of a sample, are on the tiles where the Poplar op puts them
(ops/ipulse_ops/lif/poplar/layout/tile_plan.cc); tests/ipulse/spec/tiles/test_tile_memory.py
compares both. Typical figures stand for the rest of a tile, such as code.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import DefaultDict, Dict, List, NamedTuple, Sequence, Tuple

from ipulse_core.spec.tile_placement import (
    TileLayer,
    TileNetwork,
    TilePart,
    divide_up,
    ipu_of_layers,
    place_neurons,
    sample_tile,
)

TILE_BYTES = 638_976  # of an IPU of the second generation
_WORD = 4  # bytes
_STACK_BYTES = 12_800  # of six workers and the supervisor
_CONTROL_BYTES = 640  # the program of a tile without its layers
_CONTROL_OF_LAYER = {False: 230, True: 850}  # by whether steps are computed again
_UPDATE_BYTES = 9_000  # code of loss and optimizer
_OTHER_BYTES = 3_000  # constants, exchange code and descriptions of vertices
# Code of the vertices on a tile, by what is on it.
_CODE_OF_READOUT, _CODE_OF_NEURONS, _CODE_OF_LIMIT = 8_100, 9_600, 400
_CODE_OF_INPUT, _CODE_OF_SPIKES = 1_500, 6_900
_CODE_OF_SPLIT = 4_000  # for spikes of a layer that is on several IPUs
_STATES = 8  # tensors of a layer's neurons and samples that live at the same time
_SAMPLES_PER_WORD = 24  # resets of a neuron
_RECOMPUTED_SLOTS = 1.4  # words of a slot: ids of all steps, and the rest of one segment
_WORDS_OF_PIECE = 1  # exchange code of contiguous numbers that a tile sends or receives
# Words of a readout's neuron, step and sample: gradients, and code that exchanges them one by one.
_LOSS_WORDS = {"last_membrane_cross_entropy": 1.2, "step_cross_entropy": 2.5}
_FLOATS_A_PIECE, _MOST_GROUPS = 12, 8  # of sums of slot gradients, as in the op
_LOSS_ROWS = 4  # values of a loss with equations that each step has, and each class or neuron

_Tile = Tuple[int, int]  # IPU, tile


class _Contents:
    """What a tile has."""

    def __init__(self) -> None:
        self.bytes = 0.0  # of tensors
        self.of_loss = 0.0  # of them that are read by the loss alone
        self.of_backward = 0.0  # of them that live only after the loss
        self.code: Dict[str, int] = {}  # bytes of vertices by what they are for

    def add_part(self, layer: TileLayer, size: int) -> None:
        """Add neurons of a layer."""
        self.bytes += size
        code = _CODE_OF_NEURONS if layer.slots else _CODE_OF_READOUT
        self.code["neurons"] = max(code, self.code.get("neurons", 0))
        if 0 < layer.slots < layer.neurons:
            self.code["limit"] = _CODE_OF_LIMIT

    def add_samples(self, source: int, size: int, is_split: bool) -> None:
        """Add spikes of a source: 0 is the input."""
        self.bytes += size
        if source == 0:
            self.code["input"] = _CODE_OF_INPUT
        else:
            self.code["spikes"] = _CODE_OF_SPIKES + (_CODE_OF_SPLIT if is_split else 0)

    @property
    def all_bytes(self) -> float:
        """Tensors and vertices; what never lives at the same time has the same memory."""
        return self.bytes - min(self.of_loss, self.of_backward) + sum(self.code.values())


class MemoryPrediction(NamedTuple):
    """The prediction."""

    fullest_bytes: int
    tiles_used: int  # that have neurons or samples
    least_bytes: int  # that the fullest tile needs under any placement


def predict(network: TileNetwork) -> MemoryPrediction:
    """Return the prediction for a network.

    Raises ValueError if an IPU has fewer tiles than layers.
    """
    used: DefaultDict[_Tile, _Contents] = defaultdict(_Contents)
    parts = place_neurons(network)
    for part in parts:
        size = _bytes_of_part(network, part)
        used[part.ipu, part.tile].add_part(network.layers[part.layer], size)
        used[part.ipu, part.tile].of_backward += _backward_bytes_of_part(network, part)
    per_sample = [_bytes_of_input(network)]
    per_sample += [_bytes_of_sample(network, layer) for layer in network.layers if layer.slots]
    messages = [0, *_bytes_of_slot_sums(network, parts)]
    later = [0, *(_WORD * network.steps * layer.slots for layer in network.layers if layer.slots)]
    homes = [0] + [ipu for layer, ipu in zip(network.layers, ipu_of_layers(network)) if layer.slots]
    round_of_tiles = max(1, network.tiles_per_ipu - 1)
    is_split = network.splits_neurons and network.ipus > 1
    for source, (each, ipu) in enumerate(zip(per_sample, homes)):
        for sample in range(min(network.batch, round_of_tiles)):
            samples = divide_up(network.batch - sample, round_of_tiles)  # that are on this tile
            place = (ipu, sample_tile(network, source, sample))
            used[place].add_samples(source, samples * each, is_split)
            used[place].of_backward += samples * later[source]
            used[place].bytes += samples * messages[source]
    if network.loss_reads:  # its samples are spread over all tiles
        tiles = network.ipus * network.tiles_per_ipu
        for sample in range(network.batch):
            place = divmod(sample * tiles // network.batch, network.tiles_per_ipu)
            read, kept = _bytes_of_loss(network)
            used[place].bytes += read + kept
            used[place].of_loss += read
    fullest = max(contents.all_bytes for contents in used.values())
    fullest += _bytes_of_gradients(network) / (network.ipus * network.tiles_per_ipu)
    fullest += _STACK_BYTES + _CONTROL_BYTES + _OTHER_BYTES
    fullest += _CONTROL_OF_LAYER[network.recomputes] * len(network.layers)
    fullest += _UPDATE_BYTES if network.updates else 0
    return MemoryPrediction(int(fullest), len(used), _least(network))


def _bytes_of_part(network: TileNetwork, part: TilePart) -> int:
    layer = network.layers[part.layer]
    before = network.slots_before(part.layer)
    # Weights, their gradients and moments; an odd row is arranged anew in both passes.
    each = (1 if part.neurons % 2 == 0 else 4) + network.weight_words
    each += 0 if layer.frozen else network.optimizer_words
    words = each * network.senders(part.layer) * part.row
    words += _STATES * network.batch * part.row
    if network.recomputes:  # without it the backward pass, where most lives, has no membranes
        saved = 1 - network.state_words
        words += (_checkpoints(network) * network.state_words - saved) * network.batch * part.row
    is_readout = part.layer == len(network.layers) - 1
    if is_readout or network.membranes:
        # Membranes and their gradients, and the exchange code that sends and receives them: a
        # piece for each step and sample. The backward pass that computes steps again has only one.
        copies = 1 if network.recomputes else 2
        own = _LOSS_WORDS.get(network.loss, 0.0) * part.row if is_readout else 0.0
        piece = copies * (part.row + _WORDS_OF_PIECE) + own
        words += network.steps * network.batch * piece
    if not is_readout and layer.slots < layer.neurons and not network.recomputes:
        # Resets, of the forward and of the backward pass.
        words += 2 * network.steps * divide_up(network.batch, _SAMPLES_PER_WORD) * part.row
    received = before + (layer.slots if layer.recurrent else 0)
    # The gradients of these spikes, and the messages with their ids.
    words += network.batch * (received if part.layer or layer.recurrent else 0)
    return round(_WORD * words) + network.batch * (2 * received + 8)


def _checkpoints(network: TileNetwork) -> int:
    """Return about how many checkpoints the op stores: as many as take the fewest bytes.

    `steps_between_checkpoints` of ipulse_ops/lif/poplar/outputs.py chooses them exactly.
    """
    sent = [layer for layer in network.layers if layer.slots]
    of_a_step = sum(
        2 * layer.slots + 3 + divide_up(layer.neurons, _SAMPLES_PER_WORD) for layer in sent
    )
    states = network.state_words * sum(layer.neurons for layer in network.layers)
    segments = round(math.sqrt(network.steps * of_a_step / states))
    return max(1, min(segments, network.steps) - 1)


def _bytes_of_input(network: TileNetwork) -> int:
    """Return the bytes of a sample's ids: as given, arranged, and checked in 16 bits."""
    return network.steps * (network.input_slots * (2 * _WORD + 2) + 4 * _WORD)


def _bytes_of_sample(network: TileNetwork, layer: TileLayer) -> int:
    """Return the bytes of a sample's spikes of a layer: ids, surrogates and gradients."""
    slots = _RECOMPUTED_SLOTS if network.recomputes else 3
    return round(network.steps * (slots * layer.slots + 5) * _WORD)


def _bytes_of_slot_sums(network: TileNetwork, parts: Sequence[TilePart]) -> List[int]:
    """Return the bytes that a sample's tile receives in a step, by layer with slots: part sums.

    They are dL/ds of the slots, of groups of tiles with receivers (SlotSums of the Poplar op).
    """
    tiles: List[Counter[int]] = [Counter() for _ in network.layers]  # by IPU
    for part in parts:
        tiles[part.layer][part.ipu] += 1
    found = []
    for number, layer in enumerate(network.layers):
        if not layer.slots:
            continue
        stride = layer.slots + layer.slots % 2
        size = network.batch * stride
        wide = max(_FLOATS_A_PIECE, divide_up(size, network.tiles_per_ipu) + 1) // 2 * 2
        across = divide_up(size, wide)
        groups = 0
        receivers = [number + 1] if number + 1 < len(network.layers) else []
        receivers += [number] if layer.recurrent else []
        for receiver in receivers:
            ranges = len(tiles[receiver]) if network.splits_neurons else 1
            most = max(1, min(_MOST_GROUPS // ranges, network.tiles_per_ipu // across))
            groups += sum(min(most, count) for count in tiles[receiver].values())
        found.append(_WORD * stride * groups)
    return found


def _backward_bytes_of_part(network: TileNetwork, part: TilePart) -> float:
    """Return the bytes of a part that live in the backward pass alone: gradients."""
    words = float(network.senders(part.layer) * part.row)
    if part.layer == len(network.layers) - 1 or network.membranes:
        words += network.steps * network.batch * (part.row + _WORDS_OF_PIECE)
    return _WORD * words


def _bytes_of_loss(network: TileNetwork) -> Tuple[int, int]:
    """Return the bytes of a sample's loss: what it reads, with its own values, and gradients.

    Membranes and gradients are exchanged with the tiles of their layer, in pairs of neurons; ids
    of spikes with one tile, and spread over the neurons in bytes.
    """
    read, kept = _LOSS_ROWS * network.steps, 0
    rows = {network.layers[-1].neurons}  # of classes, and of neurons of layers that are read
    for what, number in network.loss_reads:
        layer = network.layers[number]
        rows.add(layer.neurons)
        if what == "membrane":
            exchanged = layer.neurons + _WORDS_OF_PIECE * divide_up(layer.neurons, 2)
        else:
            exchanged = layer.slots
            read += network.steps * (2 + divide_up(layer.neurons, _WORD))
        read += network.steps * exchanged
        kept += network.steps * exchanged
    return _WORD * (read + _LOSS_ROWS * sum(rows)), _WORD * kept


def _bytes_of_gradients(network: TileNetwork) -> int:
    """Return the bytes of the gradients by the outputs, which lie on all tiles.

    A loss on the device is of the membrane alone.
    """
    slots = 0 if network.trains else sum(layer.slots for layer in network.layers)
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
