"""Predicts the emulated cycles of a training step of a network, before anything is compiled.

The compute sets are those of the Poplar op (ops/ipulse_ops/lif/poplar), and its vertices are on the
tiles of `tile_placement`. Sync, exchange and launch cost what the emulator's machine says
(emulator/poplar_emulator/engine/device/machine.cc); the bundles of vertices are what the emulator
counts. `python -m benchmarks.emulator cycles` compares predictions with it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import (
    DefaultDict,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from ipulse_core.pva.layers import AROUND, READOUT
from ipulse_core.spec.host_links import HostLink
from ipulse_core.spec.tile_placement import (
    TileLayer,
    TileNetwork,
    TilePart,
    divide_up,
    place_neurons,
    sample_tile,
)

ERROR = 1.1  # factor to the emulator's cycles at the same activity, for 80 % of networks

_SYNC, _EXCHANGE, _BYTES_A_CYCLE = 90, 100, 4  # of the machine, as the next ones
_GLOBAL_SYNC = 600
_WORKERS, _START, _SUPERVISOR = 6, 20, 11
_COPY, _COPY_PER_BYTE, _COPY_PER_ODD_BYTE = 587, 0.4404, 3.125  # within a tile, by alignment
_WORD, _ID, _COUNTS = 4, 2, 8  # bytes
_SAMPLES_PER_WORD = 24  # resets of a neuron
_LOSS, _LOSS_PER_VALUE = 14_000, 0.5
_FILL, _FILL_REGION = 22, 7  # cycles of a fill, and of each further region
_GROUPS, _PIECE = 8, 12  # of SlotSums: rows that a sample's tile adds, and floats of a tile
_CHUNK_SAMPLES = 6

# Bundles of a vertex on its slowest worker, by what it has so many of.
_BUNDLES: Dict[str, Tuple[float, ...]] = {
    # samples; samples and pairs of neurons; these times sources; these times spikes
    "integrate": (26, 11.4, 26.5, 19, 4),
    "synapse": (2.9, 0.9),  # samples; samples and pairs
    "reset": (19,),  # samples and pairs
    "half": (3.2,),  # loads of a pair of weights of half
    "list": (97, 15.5, 28.5),  # neurons; candidates
    "join": (69, 19, 38.5),  # chunks; slots
    "record": (33, 4.5),  # samples and pairs
    "resets": (82, 26, 5.4),  # words; bits
    "take": (37, 5.7),  # slots
    "locate": (28, 9.3),  # halvings
    "advance": (6,),
    # samples; slots of a lone pair; slots of several; these times pairs
    "partials": (6, 0, 8, 6.3, 5.1),
    "weights": (36, 17.7, 6, 11.3, 8.3),  # samples; spikes as the slots before
    "bias": (0, 6.8),  # samples and pairs
    "sum": (14, 0, 6.5),  # pairs of slots; these times rows
    "slots": (46, 9.6, 5.4),  # slots; these times groups
    # samples; those of neurons that spike; samples and pairs; halvings; slots
    "adjoint": (46, 35, 18, 16.4, 7.1, 24.6),
    "adjoint_synapse": (11.5,),  # samples and pairs
    "adjoint_resets": (24,),  # samples and neurons
    "check": (20, 20, 25),  # steps; slots
    "adam": (42, 31),  # pairs of weights
    "sgd": (20, 8),  # pairs of weights
    "clip_values": (12, 12),  # pairs of weights
    "clip_share": (22, 4),  # sums of squares
    "clip_norm": (9, 5),  # pairs of weights
}


class Activity(NamedTuple):
    """The mean number of slots that the spikes of a sample and step fill."""

    spikes: float
    filled: float  # with those neurons that have a gradient only
    dropped: float = 0.0  # spikes that find no slot, and so come from the last neurons


class PassCycles(NamedTuple):
    """Cycles of a layer, or of what belongs to none, in a training step."""

    name: str
    forward: float
    backward: float


class CyclesPrediction(NamedTuple):
    """The prediction for a training step."""

    layers: Sequence[PassCycles]  # and, as AROUND, what belongs to none
    compute: float
    exchange: float
    sync: float
    host: float

    @property
    def total(self) -> float:
        """All cycles."""
        return self.compute + self.exchange + self.sync + self.host


class _ComputeSet:
    """A compute set, or a copy, and what it costs."""

    def __init__(self, name: str, layer: Optional[str] = None) -> None:
        self.name = name
        self.layer = layer  # None: it is of several
        self.compute: DefaultDict[int, float] = defaultdict(float)  # cycles by tile
        self.received: DefaultDict[int, int] = defaultdict(int)  # bytes by tile
        self.sent: DefaultDict[int, int] = defaultdict(int)
        self.by_layer: DefaultDict[str, float] = defaultdict(float)  # cycles of vertices
        self.copies: DefaultDict[int, float] = defaultdict(float)  # cycles by tile
        self.arrived: Set[Tuple[int, int]] = set()  # tile, source

    def add(self, tile: int, layer: str, kind: str, *amounts: float) -> None:
        """Add a vertex: the first figure of its kind is there once, the others by the amounts."""
        bundles = sum(each * amount for each, amount in zip(_BUNDLES[kind], (1.0, *amounts)))
        cycles = _WORKERS * (_START + bundles)
        self.compute[tile] += cycles
        self.by_layer[layer] += cycles

    def extend(self, tile: int, layer: str, kind: str, *amounts: float) -> None:
        """Add bundles to a vertex that is there."""
        cycles = _WORKERS * sum(e * amount for e, amount in zip(_BUNDLES[kind], amounts))
        self.compute[tile] += cycles
        self.by_layer[layer] += cycles

    def arrange(self, tile: int, pieces: int, size: int) -> None:
        """Collect pieces of a field that are on the tile with those that others send."""
        rate = _COPY_PER_BYTE if size % 8 == 0 else _COPY_PER_ODD_BYTE
        self.copies[tile] += pieces * size * rate

    @property
    def cycles(self) -> Tuple[float, float, float]:
        """Compute, exchange and sync."""
        busy = dict(self.compute)
        for tile, copied in self.copies.items():
            busy[tile] = busy.get(tile, 0) + _COPY + copied
        most = max([0, *self.received.values(), *self.sent.values()])
        exchange = _EXCHANGE + divide_up(most, _BYTES_A_CYCLE) if most else 0
        compute = max(busy.values()) + _SUPERVISOR if busy else 0
        return compute, exchange, _SYNC * (1 + bool(most))


class _Chunk(NamedTuple):
    tile: int
    first_sample: int
    samples: int
    first: int
    neurons: int


class _Piece(NamedTuple):
    tile: int
    rows: range  # parts of the layer
    begin: int
    width: int


class _Step:
    """The compute sets of one training step of a network."""

    def __init__(self, network: TileNetwork, activity: Sequence[Activity]) -> None:
        self.network, self.activity = network, activity
        self.batch = network.batch
        self.tiles = network.tiles_per_ipu
        self.parts: List[List[TilePart]] = [[] for _ in network.layers]
        for part in place_neurons(network):
            self.parts[part.layer].append(part)
        slots = [network.input_slots, *(layer.slots for layer in network.layers)]
        self.strides = [each + each % 2 for each in slots]
        last = len(network.layers) - 1
        self.names = [READOUT if n == last else f"layer {n + 1}" for n in range(last + 1)]
        self.homes = [
            Counter(self.sample(s, b) for b in range(self.batch)) for s in range(last + 2)
        ]
        # Samples that the slowest worker of a tile has whole, and if they are fewer its share.
        self.shared = self.batch < _WORKERS
        self.own = self.batch if self.shared else divide_up(self.batch, _WORKERS)

    def work_tile(self, index: int) -> int:
        """Return the tile of a piece of work."""
        return 0 if self.tiles == 1 else 1 + index % (self.tiles - 1)

    def sample(self, source: int, sample: int) -> int:
        """Return the tile of a sample's spikes."""
        return sample_tile(self.network, source, sample)

    def pairs(self, part: TilePart) -> int:
        """Return the samples and pairs of neurons that the slowest worker updates."""
        pairs = divide_up(part.neurons, 2)
        return self.own * (divide_up(pairs, _WORKERS) if self.shared else pairs)

    def source_bytes(self, source: int) -> int:
        """Return the bytes of all ids and counts of a source."""
        return self.batch * (_ID * self.strides[source] + _COUNTS)

    def sources(self, layer: int) -> List[int]:
        """Return the sources of the spikes that enter a layer."""
        return [layer, *([layer + 1] if self.network.layers[layer].recurrent else [])]

    def chunks(self, layer: int) -> Iterator[_Chunk]:
        """Yield the chunks that list a layer's candidates, as TilePlan::placeChunks has them."""
        neurons = self.network.layers[layer].neurons
        groups = divide_up(self.batch, _CHUNK_SAMPLES)
        most = max(1, min(neurons, self.tiles // groups))
        number = min(most, max(1, int(math.sqrt(22.0 / 24 * neurons))))
        size = divide_up(neurons, number)
        index = 0
        for b in range(0, self.batch, _CHUNK_SAMPLES):
            for n in range(0, neurons, size):
                samples = min(_CHUNK_SAMPLES, self.batch - b)
                yield _Chunk(self.work_tile(index), b, samples, n, min(size, neurons - n))
                index += 1

    def receive(self, step: _ComputeSet, layer: int, sources: Sequence[int], more: int = 0) -> None:
        """Send the spikes of sources to the tiles of a layer, with so many bytes a sample more."""
        for source in sources:
            size = self.source_bytes(source) + more * self.batch
            homes = self.homes[source]
            for tile in {part.tile for part in self.parts[layer]}:
                if (tile, source) in step.arrived:
                    continue
                step.arrived.add((tile, source))
                own = homes.get(tile, 0)
                step.received[tile] += size - own * (size // self.batch)
                if own and self.batch > own:
                    for each in (_ID * self.strides[source], _COUNTS, more):
                        step.arrange(tile, own, each)
            for tile, own in homes.items():
                step.sent[tile] += own * (size // self.batch)

    # The forward pass.

    def forward(self) -> Iterator[_ComputeSet]:
        """Yield the compute sets of a step of time."""
        stages = self.stages
        for number, stage in enumerate(stages):
            first, last = number == 0, number + 1 == len(stages)
            own = None if self.network.delay else self.names[stage[0]]
            update, listing, joining = (
                _ComputeSet(name, own) for name in ("integrate", "list", "join")
            )
            if first:
                listing.add(0, AROUND, "advance")
            for layer in stage:
                self.integrate(update, layer)
                self.record(joining, layer)
                if self.network.layers[layer].slots:
                    self.select(listing, joining, layer)
            if last:
                self.take(joining, 0)
            yield from (update, listing, joining)

    @property
    def stages(self) -> List[List[int]]:
        """The layers that are updated together."""
        every = list(range(len(self.network.layers)))
        return [every] if self.network.delay else [[layer] for layer in every]

    def integrate(self, step: _ComputeSet, number: int) -> None:
        """Add the update of a layer's neurons."""
        layer, name = self.network.layers[number], self.names[number]
        sources = self.sources(number)
        self.receive(step, number, sources)
        spikes = sum(self.activity[source].spikes for source in sources)
        for part in self.parts[number]:
            pairs = self.pairs(part)
            amounts = (self.own, pairs, pairs * len(sources), pairs * spikes)
            step.add(part.tile, name, "integrate", *amounts)
            if self.network.weight_words < 1:
                step.extend(part.tile, name, "half", pairs * spikes)
            if layer.synapse:
                step.extend(part.tile, name, "synapse", self.own, pairs)
            if layer.slots and self.network.resets:
                step.extend(part.tile, name, "reset", pairs)

    def record(self, step: _ComputeSet, number: int) -> None:
        """Add what is stored of a layer for the loss and for the backward pass."""
        layer, name = self.network.layers[number], self.names[number]
        for part in self.parts[number]:
            if not layer.slots:
                step.received[part.tile] += _WORD
                pairs = self.batch * divide_up(part.neurons, 2)
                step.add(part.tile, name, "record", divide_up(pairs, _WORKERS))
            elif self.records_resets(layer):
                step.received[part.tile] += _WORD
                words = divide_up(self.batch, _SAMPLES_PER_WORD)
                own = divide_up(words * part.row, _WORKERS)
                bits = own * min(self.batch, _SAMPLES_PER_WORD)
                step.add(part.tile, name, "resets", own, bits)

    def records_resets(self, layer: TileLayer) -> bool:
        """Return whether the slots do not say which neurons were reset."""
        return self.network.masks_resets and 0 < layer.slots < layer.neurons

    def select(self, listing: _ComputeSet, joining: _ComputeSet, number: int) -> None:
        """Add the choice of the neurons that get a slot."""
        layer, name = self.network.layers[number], self.names[number]
        candidates = self.activity[number + 1].filled if layer.gated else layer.neurons
        chunks = list(self.chunks(number))
        slots = min(layer.slots, chunks[0].neurons)
        stride = slots + slots % 2
        self.send_membranes(listing, number, chunks)
        counted: DefaultDict[int, int] = defaultdict(int)  # chunks by the first sample
        for chunk in chunks:
            listed = min(slots, candidates * chunk.neurons / layer.neurons)
            listing.add(chunk.tile, name, "list", chunk.neurons, listed)
            joining.sent[chunk.tile] += chunk.samples * ((_ID + _WORD) * stride + _COUNTS)
            counted[chunk.first_sample] += 1
            for b in range(chunk.first_sample, chunk.first_sample + chunk.samples):
                if self.sample(number + 1, b) == chunk.tile and chunk.neurons < layer.neurons:
                    for each in (_ID * stride, _WORD * stride, _COUNTS):
                        joining.arrange(chunk.tile, 1, each)
        own = 2 * divide_up(self.strides[number + 1] // 2, _WORKERS)
        for b in range(self.batch):
            lists = counted[b - b % _CHUNK_SAMPLES]
            tile = self.sample(number + 1, b)
            joining.received[tile] += lists * ((_ID + _WORD) * stride + _COUNTS) + _WORD
            joining.add(tile, name, "join", lists, own)

    def send_membranes(self, listing: _ComputeSet, number: int, chunks: Sequence[_Chunk]) -> None:
        """Add what the tiles with a layer's neurons send to those that list candidates."""
        state = round(_WORD * self.network.state_words)
        here: DefaultDict[int, List[Tuple[int, int]]] = defaultdict(list)  # neurons by tile
        first = 0
        for part in self.parts[number]:
            here[part.tile].append((first, first + part.neurons))
            first += part.neurons
            listing.sent[part.tile] += state * self.batch * part.neurons
        for chunk in chunks:
            listing.received[chunk.tile] += state * chunk.samples * chunk.neurons
            for begin, end in here[chunk.tile]:
                shared = min(end, chunk.first + chunk.neurons) - max(begin, chunk.first)
                if shared > 0 and not shared == chunk.neurons == end - begin:
                    listing.arrange(chunk.tile, chunk.samples, state * shared)
                    listing.received[chunk.tile] -= state * chunk.samples * shared

    def take(self, step: _ComputeSet, source: int, locates: bool = False) -> None:
        """Add the copy of a step's spikes to where they are sent from."""
        name = self.names[source - 1] if source else AROUND
        spikes, filled = self.activity[source][:2]
        for b in range(self.batch):
            tile = self.sample(source, b)
            step.received[tile] += _WORD
            step.add(tile, name, "take", filled / _WORKERS)
            if locates:
                step.add(tile, name, "locate", math.log2(1 + spikes))

    # The backward pass.

    def backward(self) -> Iterator[_ComputeSet]:
        """Yield the compute sets of a step of time."""
        layers = self.network.layers
        take = _ComputeSet("take_spikes")
        self.take(take, 0, locates=True)
        for number, layer in enumerate(layers):
            if layer.slots:
                self.take(take, number + 1, locates=True)
        yield take
        if self.network.delay:
            yield from self.backward_together()
            return
        spread, summing = _ComputeSet("spread_recurrent"), _ComputeSet("sum_recurrent")
        spread.add(0, AROUND, "advance")
        for number, layer in enumerate(layers):
            if layer.recurrent:
                self.spread(spread, number, number + 1)
                self.sum(summing, number, number + 1)
        yield spread
        if any(layer.recurrent for layer in layers):
            yield summing
        for number in reversed(range(len(layers))):
            names = ("slot_gradients", "adjoint", "spread", "sum")
            own = self.names[number]
            slots, states, spreading, sums = (_ComputeSet(name, own) for name in names)
            if layers[number].slots:
                self.slot_gradients(slots, number)
                yield slots
            self.adjoint(states, number)
            self.spread(spreading, number, number)
            yield from (states, spreading)
            if number:
                self.sum(sums, number, number)
                yield sums

    def backward_together(self) -> Iterator[_ComputeSet]:
        """Yield the sets of a network whose layers are updated together."""
        sets = [_ComputeSet(name) for name in ("spread", "sum", "slot_gradients", "adjoint")]
        spread, summing, slots, states = sets
        spread.add(0, AROUND, "advance")
        for number, layer in enumerate(self.network.layers):
            for source in self.sources(number):
                self.spread(spread, number, source)
                if source:
                    self.sum(summing, number, source)
            if layer.slots:
                self.slot_gradients(slots, number)
            self.adjoint(states, number)
        yield from sets

    def spread(self, step: _ComputeSet, number: int, source: int) -> None:
        """Add the gradients of the weights from a source, and what its slots receive."""
        layer, name = self.network.layers[number], self.names[number]
        active = self.activity[source]
        self.receive(step, number, [source], more=_WORD * (_WORKERS + 2))
        samples = divide_up(self.batch, _WORKERS)
        for part in self.parts[number]:
            pairs = divide_up(part.neurons, 2)
            alone = float(pairs == 1)
            if source:
                filled = samples * active.filled
                several = filled * (1 - alone)
                amounts = (samples, filled * alone, several, several * pairs)
                step.add(part.tile, name, "partials", *amounts)
                if self.network.weight_words < 1:
                    step.extend(part.tile, name, "half", filled * pairs)
            mine = min(active.spikes, (active.spikes + active.dropped) / _WORKERS)
            mine *= self.batch
            amounts = (self.batch, mine * alone, mine * (1 - alone), mine * pairs * (1 - alone))
            step.add(part.tile, name, "weights", *amounts)
            if layer.bias and source == number:
                step.add(part.tile, name, "bias", self.batch * divide_up(pairs, _WORKERS))

    def pieces(self, number: int, source: int) -> Iterator[_Piece]:
        """Yield the sums over a layer's tiles, as SlotSums has them."""
        size, wide = self.batch * self.strides[source], self.piece_width(source)
        parts, count, index = len(self.parts[number]), self.groups(number, source), 0
        for g in range(count):
            rows = range(parts * g // count, parts * (g + 1) // count)
            for begin in range(0, size, wide):
                yield _Piece(self.work_tile(index), rows, begin, min(wide, size - begin))
                index += 1

    def groups(self, number: int, source: int) -> int:
        """Return how many rows are left of these sums."""
        across = divide_up(self.batch * self.strides[source], self.piece_width(source))
        most = max(1, min(_GROUPS, self.tiles // across))
        return min(most, len(self.parts[number]))

    def piece_width(self, source: int) -> int:
        """Return the floats of a row that one tile adds."""
        return max(_PIECE, divide_up(self.batch * self.strides[source], self.tiles) + 1) // 2 * 2

    def sum(self, step: _ComputeSet, number: int, source: int) -> None:
        """Add the sums over a layer's tiles of what the slots of a source receive."""
        name = self.names[number]
        rows_of: DefaultDict[int, List[int]] = defaultdict(list)  # by tile
        for row, part in enumerate(self.parts[number]):
            rows_of[part.tile].append(row)
        for tile, rows, _, width in self.pieces(number, source):
            here = sum(row in rows for row in rows_of.get(tile, ()))
            step.received[tile] += _WORD * (len(rows) - here) * width
            if here and len(rows) > here:
                step.arrange(tile, here, _WORD * width)
            own = divide_up(width // 2, _WORKERS)
            step.add(tile, name, "sum", own, own * len(rows))
        for part in self.parts[number]:
            step.sent[part.tile] += _WORD * self.batch * self.strides[source]

    def slot_gradients(self, step: _ComputeSet, number: int) -> None:
        """Add the gradients of a layer's slots."""
        source, layer = number + 1, self.network.layers[number]
        receivers = [number + 1] if number + 1 < len(self.network.layers) else []
        receivers += [number] if layer.recurrent else []
        groups, stride = 0, self.strides[source]
        for receiver in receivers:
            groups += self.groups(receiver, source)
            for tile, _, begin, width in self.pieces(receiver, source):
                step.sent[tile] += _WORD * width
                for b in range(begin // stride, divide_up(begin + width, stride)):
                    if self.sample(source, b) == tile and width < stride * self.batch:
                        shared = min(begin + width, (b + 1) * stride) - max(begin, b * stride)
                        step.arrange(tile, 1, _WORD * shared)
        own = self.activity[source].filled / _WORKERS
        for b in range(self.batch):
            tile = self.sample(source, b)
            step.received[tile] += _WORD * (1 + groups * self.strides[source])
            step.add(tile, self.names[number], "slots", own, own * groups)

    def adjoint(self, step: _ComputeSet, number: int) -> None:
        """Add the step back of a layer's neurons."""
        layer, name, source = self.network.layers[number], self.names[number], number + 1
        if layer.slots:
            self.receive(step, number, [source], more=_WORD * self.strides[source])
        for part in self.parts[number]:
            pairs = self.pairs(part)
            visited = search = 0.0
            if layer.slots:
                visited = 2 * pairs * self.activity[source].filled / layer.neurons
                search = self.own * math.log2(1 + layer.slots)
            else:
                step.received[part.tile] += _WORD
            spiking = self.own * bool(layer.slots)
            amounts = (self.own, spiking, pairs, search, visited)
            step.add(part.tile, name, "adjoint", *amounts)
            if layer.synapse:
                step.extend(part.tile, name, "adjoint_synapse", pairs)
            if layer.slots and self.records_resets(layer):
                step.extend(part.tile, name, "adjoint_resets", 2 * pairs)

    def update(self) -> Iterator[_ComputeSet]:
        """Yield the update of the weights on the device."""
        yield from self.clipping()
        kind = "adam" if self.network.optimizer_words == 2 else "sgd"
        if kind == "adam":
            rate = _ComputeSet("adam/rate")
            rate.received[0] = 2 * _WORD
            rate.add(0, AROUND, "adam")
            yield rate
        yield self.of_trained(f"{kind}/update", kind, received=3 * _WORD)

    def clipping(self) -> Iterator[_ComputeSet]:
        """Yield what bounds the gradients of the weights."""
        if not (self.network.clips_values or self.network.clips_norm):
            return
        yield self.of_trained("clip/values", "clip_values", received=0)
        if self.network.clips_norm:
            share = _ComputeSet("clip/share")
            sums = _WORKERS * sum(1 for _ in self.trained_matrices())
            share.received[0] = sums * _WORD
            share.add(0, AROUND, "clip_share", sums)
            yield share
            yield self.of_trained("clip/norm", "clip_norm", received=_WORD)

    def of_trained(self, name: str, kind: str, received: int) -> _ComputeSet:
        """Return a compute set with a vertex for each part of the trained matrices and biases."""
        found = _ComputeSet(name)
        for number, part, pairs in self.trained_matrices():
            found.received[part.tile] = received
            found.add(part.tile, self.names[number], kind, divide_up(pairs, _WORKERS))
        return found

    def trained_matrices(self) -> Iterator[Tuple[int, TilePart, int]]:
        """Yield layer, part and pairs of weights of the matrices and biases that are updated."""
        for number, layer in enumerate(self.network.layers):
            if layer.frozen:
                continue
            for part in self.parts[number]:
                yield number, part, self.network.senders(number) * part.row // 2
                if layer.bias:
                    yield number, part, part.row // 2

    def loss(self) -> _ComputeSet:
        """Return the loss, which is some small steps of PopLibs."""
        loss = _ComputeSet("loss")
        values = self.batch * self.network.layers[-1].neurons
        loss.compute[0] = _LOSS + _LOSS_PER_VALUE * values
        return loss

    # What happens once in a pass.

    def once(self, is_backward: bool) -> Iterator[_ComputeSet]:
        """Yield what comes before the first step of time."""
        yield self.cleared(is_backward)
        counts = _ComputeSet("clear")
        counts.compute[0] = _FILL
        yield counts
        yield from self.arranged(is_backward)
        check = _ComputeSet("check_input")
        filled = self.activity[0].filled
        times = divide_up(self.network.steps, _WORKERS)
        for tile, own in self.homes[0].items():
            for _ in range(own):
                check.add(tile, AROUND, "check", times, times * filled)
        yield check
        start = _ComputeSet("start")
        start.copies[0] = _WORD * _COPY_PER_ODD_BYTE
        yield start
        if not is_backward:
            first = _ComputeSet("take_first_input")
            self.take(first, 0)
            yield first

    def cleared(self, is_backward: bool) -> _ComputeSet:
        """Return the fill with zeros of what a pass adds up."""
        fill = _ComputeSet("clear")
        words: DefaultDict[int, int] = defaultdict(int)
        regions: Counter[int] = Counter()
        for number, layer in enumerate(self.network.layers):
            each = self.batch * (1 + is_backward + layer.synapse)
            if is_backward:
                each += self.network.senders(number) + layer.bias
            for part in self.parts[number]:
                words[part.tile] += each * part.row
                regions[part.tile] += 1 + is_backward
        for tile, size in words.items():
            fill.compute[tile] = _FILL + size / 2 + _FILL_REGION * regions[tile]
        return fill

    def arranged(self, is_backward: bool) -> Iterator[_ComputeSet]:
        """Yield the copies of inputs to where the op reads them."""
        steps, slots = self.network.steps, self.network.input_slots
        constants = _ComputeSet("arrange")
        constants.copies[0] = 8 * _WORD
        if is_backward:
            for part in self.parts[-1]:
                constants.received[part.tile] += _WORD * steps * self.batch * part.neurons
        else:
            constants.received[0] = 8 * _WORD
        yield constants
        ids = _ComputeSet("arrange")
        for tile, own in self.homes[0].items():
            ids.received[tile] += own * _WORD * steps * (slots + 1)
        yield ids


class _Sums:
    """Sums the cycles of steps by layer and pass, and by kind."""

    def __init__(self, names: Sequence[str]) -> None:
        self.of = {name: [0.0, 0.0] for name in (*names, AROUND)}
        self.kinds = [0.0, 0.0, 0.0]

    def add(self, step: _ComputeSet, times: int, is_backward: bool) -> None:
        """Add a step that runs so many times; it is shared by the cycles of its vertices."""
        cycles = step.cycles
        self.kinds = [total + times * one for total, one in zip(self.kinds, cycles)]
        whole = times * sum(cycles)
        if step.layer is not None:
            self.of[step.layer][is_backward] += whole
            return
        of_vertices = sum(step.by_layer.values())
        for name, own in step.by_layer.items():
            self.of[name][is_backward] += whole * own / of_vertices
        if not of_vertices:
            self.of[AROUND][is_backward] += whole


def predict_cycles(
    network: TileNetwork, activity: Sequence[Activity], link: HostLink
) -> CyclesPrediction:
    """Return the prediction for a training step on one IPU that stores what backward reads.

    Args:
        network: of LIF layers that are one program.
        activity: of the input, and then of each layer that spikes.
        link: the connection to the host.

    Raises:
        ValueError: the IPU has fewer tiles than layers.
    """
    step = _Step(network, activity)
    sums = _Sums(step.names)
    passes = ((step.forward, network.steps), (step.backward, network.steps + network.delay))
    for is_backward, (sets, times) in enumerate(passes):
        for each in step.once(bool(is_backward)):
            sums.add(each, 1, bool(is_backward))
        for each in sets():
            sums.add(each, times, bool(is_backward))
    if network.trains:
        sums.add(step.loss(), 1, False)
        for each in step.update():
            sums.add(each, 1, True)
    host = 0.0
    for is_backward, size in _host_copies(network):
        seconds = link.latency_seconds + size / link.bytes_per_second
        copied = math.ceil(seconds * link.clock_hz)
        host += copied
        sums.kinds[2] += _GLOBAL_SYNC
        sums.of[AROUND][is_backward] += copied + _GLOBAL_SYNC
    layers = [PassCycles(name, *each) for name, each in sums.of.items()]
    compute, exchange, sync = sums.kinds
    return CyclesPrediction(layers, compute, exchange, sync, host)


def _host_copies(network: TileNetwork) -> Iterator[Tuple[bool, int]]:
    """Yield whether it is of the backward pass, and the bytes, of each copy of a training step.

    The runner chooses them (ipulse_worker.runner.devices.host_link).
    """
    steps, batch = network.steps, network.batch
    yield False, _WORD * steps * batch * network.input_slots
    yield False, _WORD * steps * batch
    for layer in network.layers:
        if layer.slots:
            yield False, 2 * _WORD * steps * batch
            yield False, _WORD * steps * batch
    yield False, _WORD * steps * batch * network.layers[-1].neurons
    if network.trains:
        for size in (batch, batch, 1, 1, batch):  # labels, mask, rate, update, losses
            yield False, _WORD * size
        return
    for number, layer in enumerate(network.layers):
        before = network.inputs if number == 0 else network.layers[number - 1].neurons
        yield True, _WORD * before * layer.neurons
        if layer.recurrent:
            yield True, _WORD * layer.neurons**2
        if layer.bias:
            yield True, _WORD * layer.neurons
