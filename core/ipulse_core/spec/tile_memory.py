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
# The program of a tile, without its layers and with each of them; and if steps are run again.
_CONTROL_BYTES, _CONTROL_OF_LAYER = 600, 245
_CONTROL_OF_SEGMENTS, _CONTROL_OF_CHECKPOINT, _CONTROL_OF_IPUS = 780, 48, 800
_UPDATE_BYTES = 9_000  # code of loss and optimizer
# Constants, exchange code and descriptions of vertices, and how they grow with each sample.
_OTHER_BYTES, _OTHER_OF_SAMPLE = 2_500, 50
# Code of the vertices on a tile, by what is on it; the first is on each.
_CODE, _CODE_OF_INPUT, _CODE_OF_SPIKES = 300, 1_340, 6_820
_CODE_OF_READOUT, _CODE_OF_NEURONS, _CODE_OF_LIMIT, _CODE_OF_RECURRENCE = 7_600, 7_160, 940, 530
_CODE_OF_SUMS = 1_750  # of gradients of slots
_CODE_OF_SPLIT = 4_020  # for spikes of a layer that is on several IPUs
_STATES = 8  # tensors of a layer's neurons and samples that live at the same time
_SAMPLES_PER_WORD = 24  # resets of a neuron
_WORDS_OF_ODD_ROW = 4  # addresses of its pieces
_WORDS_OF_PIECE = 1  # exchange code of contiguous numbers that a tile sends or receives
# Words of a readout's neuron, step and sample: gradients, and code that exchanges them one by one.
_LOSS_WORDS = {"last_membrane_cross_entropy": 1.2, "step_cross_entropy": 2.5}
_FLOATS_A_PIECE, _MOST_GROUPS = 12, 8  # of sums of slot gradients, as in the op
_LOSS_ROWS = 4  # values of a loss with equations that each step has, and each class or neuron

_Tile = Tuple[int, int]  # IPU, tile


class _Contents:
    """What a tile has."""

    def __init__(self) -> None:
        self.bytes = 0.0  # of tensors, without those that live only before the first step
        self.of_start = 0.0  # of those
        self.of_loss = 0.0  # of tensors that are read by the loss alone
        self.of_backward = 0.0  # of tensors that live only after the loss
        self.of_layer = 0  # of tensors that live while a layer's step runs
        self.code: Dict[str, int] = {}  # bytes of vertices by what they are for

    def add_part(self, layer: TileLayer, size: int) -> None:
        """Add neurons of a layer."""
        self.bytes += size
        code = _CODE_OF_NEURONS if layer.slots else _CODE_OF_READOUT
        self.code["neurons"] = max(code, self.code.get("neurons", 0))
        more = _CODE_OF_RECURRENCE if layer.recurrent else 0
        more = _CODE_OF_LIMIT if 0 < layer.slots < layer.neurons else more
        self.code["more"] = max(more, self.code.get("more", 0))

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
        always = self.bytes - self.of_loss - self.of_backward
        then = max(self.of_start, self.of_loss, self.of_backward)
        return always + then + self.of_layer + _CODE + sum(self.code.values())


class MemoryPrediction(NamedTuple):
    """The prediction."""

    fullest_bytes: int
    tiles_used: int  # that have neurons or samples
    least_bytes: int  # that the fullest tile needs under any placement


def predict(network: TileNetwork) -> MemoryPrediction:
    """Return the prediction for a network.

    Raises ValueError if an IPU has fewer tiles than layers.
    """
    round_of_tiles = max(1, network.tiles_per_ipu - 1)
    used: DefaultDict[_Tile, _Contents] = defaultdict(_Contents)
    parts = place_neurons(network)
    checkpoints, length = segments_of(network) if network.recomputes else (0, network.steps)
    for part in parts:
        size = _bytes_of_part(network, part, checkpoints)
        contents = used[part.ipu, part.tile]
        contents.add_part(network.layers[part.layer], size)
        contents.of_layer = max(contents.of_layer, _bytes_received(network, part.layer))
        contents.of_backward += _backward_bytes_of_part(network, part)
    per_sample = [_bytes_of_input(network, length)]
    sent = [layer for layer in network.layers if layer.slots]
    per_sample += [_bytes_of_sample(network, layer, length) for layer in sent]
    sums = _slot_sums(network, parts)
    messages = [0, *(sum_of.bytes for sum_of in sums)]
    later = [0, *(_WORD * length * layer.slots for layer in sent)]
    homes = [0] + [ipu for layer, ipu in zip(network.layers, ipu_of_layers(network)) if layer.slots]
    ipus = Counter(layer for layer, _ in {(part.layer, part.ipu) for part in parts})
    numbers = [number for number, layer in enumerate(network.layers) if layer.slots]
    is_split = [False, *(ipus[number] > 1 for number in numbers)]
    for source, (each, ipu) in enumerate(zip(per_sample, homes)):
        for sample in range(min(network.batch, round_of_tiles)):
            samples = divide_up(network.batch - sample, round_of_tiles)  # that are on this tile
            place = (ipu, sample_tile(network, source, sample))
            used[place].add_samples(source, samples * each, is_split[source])
            used[place].of_backward += samples * later[source]
            used[place].bytes += samples * messages[source]
            if source == 0:
                used[place].of_start += samples * _bytes_of_checked_input(network)
    first = min(1, network.tiles_per_ipu - 1)
    for sum_of in sums:
        for ipu, pieces in sum_of.pieces.items():
            for tile in range(first, first + min(pieces, round_of_tiles)):
                if (ipu, tile) in used:
                    used[ipu, tile].code["sums"] = _CODE_OF_SUMS
    if network.loss_reads:  # its samples are spread over all tiles
        tiles = network.ipus * network.tiles_per_ipu
        for sample in range(network.batch):
            place = divmod(sample * tiles // network.batch, network.tiles_per_ipu)
            read, kept = _bytes_of_loss(network)
            used[place].bytes += read + kept
            used[place].of_loss += read
    fullest = max(contents.all_bytes for contents in used.values())
    fullest += _bytes_of_gradients(network) / (network.ipus * network.tiles_per_ipu)
    fullest += _STACK_BYTES + _bytes_of_control(network, checkpoints)
    fullest += _OTHER_BYTES + _OTHER_OF_SAMPLE * network.batch
    fullest += _UPDATE_BYTES if network.updates else 0
    return MemoryPrediction(int(fullest), len(used), _least(network))


def _bytes_of_part(network: TileNetwork, part: TilePart, checkpoints: int) -> int:
    layer = network.layers[part.layer]
    # Weights, their gradients and moments; an odd row is arranged anew, and addressed in pieces.
    is_odd = part.neurons % 2
    each = 1 + is_odd + network.weight_words
    each += 0 if layer.frozen else network.optimizer_words
    words = (each * part.row + is_odd * _WORDS_OF_ODD_ROW) * network.senders(part.layer)
    words += _STATES * network.batch * part.row
    if network.recomputes:  # without it the backward pass, where most lives, has no membranes
        saved = 1 - network.state_words
        words += (checkpoints * network.state_words - saved) * network.batch * part.row
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
    return round(_WORD * words)


def _bytes_received(network: TileNetwork, number: int) -> int:
    """Return the bytes of the spikes that a tile of a layer receives, while a step runs.

    They are messages with ids, and part sums of the gradients of these spikes with their messages.
    """
    layer = network.layers[number]
    received = network.slots_before(number) + (layer.slots if layer.recurrent else 0)
    sums = received if number or layer.recurrent else 0
    return network.batch * (_WORD * sums + 2 * received + 8)


def segments_of(network: TileNetwork) -> Tuple[int, int]:
    """Return the checkpoints that the op stores, and the steps that it runs again at a time.

    They take the fewest bytes, as `steps_between_checkpoints` of ipulse_ops/lif/poplar/outputs.py.
    """
    a_step = 0  # words that a step that is run again stores
    for number, layer in enumerate(network.layers):
        if layer.slots:  # ids, surrogates of each IPU, and counts
            ranges = divide_up(layer.neurons, network.range_size(number))
            a_step += network.batch * ((1 + ranges) * layer.slots + 3)
        if 0 < layer.slots < layer.neurons and network.resets and network.masks_resets:
            a_step += divide_up(network.batch, _SAMPLES_PER_WORD) * layer.neurons
    states = network.state_words * network.batch
    states *= sum(layer.neurons * (1 + layer.synapse) for layer in network.layers)
    found = []
    for segments in range(1, network.steps + 1):
        length = divide_up(network.steps, segments)
        checkpoints = max(1, divide_up(network.steps, length) - 1)
        found.append((checkpoints * states + length * a_step, checkpoints, length))
    return min(found)[1:]


def _bytes_of_input(network: TileNetwork, length: int) -> int:
    """Return the bytes of a sample's ids: as given, and arranged for `length` steps."""
    return (network.steps + length) * (network.input_slots + 2) * _WORD


def _bytes_of_checked_input(network: TileNetwork) -> int:
    """Return the bytes of a sample's ids in 16 bits, which are checked before the first step."""
    return 2 * network.steps * network.input_slots


def _bytes_of_sample(network: TileNetwork, layer: TileLayer, length: int) -> int:
    """Return the bytes of a sample's spikes of a layer: ids, surrogates and gradients.

    `length` steps of them live at the same time. If steps are run again, all ids are stored, too.
    """
    words = length * (3 * layer.slots + 5)
    if network.recomputes:
        words += network.steps * (layer.slots + 5)
    return words * _WORD


def _bytes_of_control(network: TileNetwork, checkpoints: int) -> int:
    size = _CONTROL_BYTES + _CONTROL_OF_LAYER * len(network.layers)
    if network.recomputes:
        size += _CONTROL_OF_SEGMENTS + _CONTROL_OF_CHECKPOINT * checkpoints * len(network.layers)
        size += _CONTROL_OF_IPUS if network.ipus > 1 else 0
    return size


class _SlotSums(NamedTuple):
    """The sums of dL/ds of a layer's slots, of groups of tiles with receivers."""

    bytes: int  # that a sample's tile receives in a step
    pieces: Counter[int]  # by IPU, on a tile each as long as there are tiles


def _slot_sums(network: TileNetwork, parts: Sequence[TilePart]) -> List[_SlotSums]:
    """Return the sums of the layers with slots (SlotSums of the Poplar op)."""
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
        pieces: Counter[int] = Counter()
        receivers = [number + 1] if number + 1 < len(network.layers) else []
        receivers += [number] if layer.recurrent else []
        for receiver in receivers:
            ranges = len(tiles[receiver]) if network.splits_neurons else 1
            most = max(1, min(_MOST_GROUPS // ranges, network.tiles_per_ipu // across))
            groups += sum(min(most, count) for count in tiles[receiver].values())
            for ipu, count in tiles[receiver].items():
                pieces[ipu] = max(pieces[ipu], min(most, count) * across)
        found.append(_SlotSums(_WORD * stride * groups, pieces))
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
