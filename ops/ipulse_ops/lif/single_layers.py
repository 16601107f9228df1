"""Networks with dropout, residual additions or delays, of which each layer runs alone."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_ops.lif.delayed_weights import taps_of
from ipulse_ops.lif.network import LIF, Layer, LeakyReadout, Network
from ipulse_ops.lif.neuron_constants import NEVER
from ipulse_ops.lif.run_options import LIFOutputs, RunOptions
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.reference.dropout import scale_of
from ipulse_ops.sparse.addition import added_spikes
from ipulse_ops.sparse.delay import delayed_spikes
from ipulse_ops.sparse.dropout import kept_spikes
from ipulse_ops.sparse.seed import word64

_LAYER_SEEDS = 0x9E3779B97F4A7C15  # odd: different layers draw different numbers

# Returns the outputs of a network, and a function for its lists of spikes without empty slots.
Result = Tuple[LIFOutputs, Callable[[], List[Any]]]
Run = Callable[..., Result]
# Takes ids, counts, and how many slots are enough for them; returns ids and counts.
Arrange = Callable[[Any, Any, int], Tuple[Any, Any]]


def run_single_layers(
    run: Run,
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    options: RunOptions,
    arrange: Optional[Arrange] = None,
) -> LIFOutputs:
    """Run the network layer by layer; `run` runs a network of one layer.

    arrange: changes the lists that were made for a layer of those of several layers or steps, or
        of some senders; all lists must have static shapes then.

    Layers pass on only as many slots as the longest list of spikes fills.

    Outputs and gradients are those of the reference. Only the policy "cyclic" draws other numbers,
    from a seed of each layer.
    """
    layers = [*network.layers, network.readout]
    constants = options.constants or [{}] * len(layers)
    matrices = _by_layer(network, weights)
    outputs: List[LIFOutputs] = []
    sent = [(ids, counts)]  # of the input and the layers
    for number, (layer, arrays, given) in enumerate(zip(layers, matrices, constants)):
        options.on_layer(number)
        sources = [sent[source + 1] for source in network.senders(number)]
        ids, counts, factor = received_spikes(
            *(sources, network.sizes[number], layer.dropout, number),
            seed=options.dropout_seed,
        )
        most = sum(each.shape[-1] for each, _ in sources) if arrange else 0
        if factor != 1:
            arrays = [arrays[0] * np.float32(factor), *arrays[1:]]
        senders = network.sizes[number]
        if layer.delays is not None:
            matrix, arrivals = taps_of(arrays[0], arrays.pop(), layer.delays)
            ids, counts = delayed_spikes(ids, counts, arrivals)
            most *= layer.delays.taps
            arrays[0] = matrix
            senders *= layer.delays.taps
        if arrange and ids is not sent[number][0]:
            ids, counts = arrange(ids, counts, most)
        out, filled = run(
            _alone(network, number, layer, senders),
            arrays,
            ids,
            counts,
            replace(
                options,
                constants=[given],
                seed=word64(options.seed) + tf.constant(_wrapped(number * _LAYER_SEEDS), tf.int64),
                dropout_seed=None,
                return_membranes=False,
            ),
            reads_out=options.return_membranes or number == len(network.layers),
        )
        outputs.append(out)
        if isinstance(layer, LIF):
            sent.append((filled()[0], out.spike_counts[0]))
    spiking = outputs[: len(network.spiking)]
    hidden = outputs[: len(network.layers)]
    return LIFOutputs(
        membrane=outputs[-1].membrane,
        spike_ids=[out.spike_ids[0] for out in spiking],
        spike_counts=[out.spike_counts[0] for out in spiking],
        dropped=[out.dropped[0] for out in spiking],
        membranes=[out.membrane for out in hidden] if options.return_membranes else [],
    )


def received_spikes(
    sources: Sequence[Tuple[Any, Any]],
    senders: int,
    dropout: float,
    layer: int,
    seed: Optional[Any],
) -> Tuple[Any, Any, float]:
    """Return ids and counts of the spikes that a layer receives, and the factor of its weights.

    sources: the lists of the layers that send to it, of which the spikes are added.
    senders: number of the neurons of each of them.
    dropout, layer, seed: as of ipulse_ops.sparse.dropout.kept_spikes; without a seed all spikes are
        received.
    """
    ids, counts = sources[0]
    if len(sources) > 1:
        ids, counts = added_spikes(sources, senders)
    if not dropout or seed is None:
        return ids, counts, 1.0
    return (*kept_spikes(ids, counts, senders, dropout, seed, layer), scale_of(dropout))


def _alone(network: Network, number: int, layer: Layer, senders: int) -> Network:
    """Return a network of one layer; a leaky readout runs as neurons that never spike."""
    without: Dict[str, Any] = {"dropout": 0.0, "residual": (), "delays": None}
    if isinstance(layer, LIF):
        reset: Dict[str, Any] = {"reset": network.reset, "reset_gradient": network.reset_gradient}
        alone = replace(layer, **without)
    else:
        values = {field.name: getattr(layer, field.name) for field in fields(LeakyReadout)}
        values.update(threshold=NEVER, second_threshold=NEVER, capacity=1, **without)
        reset, alone = {"reset": "none"}, LIF(**values)
    return Network(
        inputs=senders,
        layers=(),
        readout=alone,
        delay=(network.delays[number],),
        truncate=network.truncate,
        surrogate=network.surrogate,
        reset_on=network.reset_on,
        **reset,
    )


def _by_layer(network: Network, weights: Sequence[Any]) -> List[List[Any]]:
    found: List[List[Any]] = [[] for _ in network.sizes[1:]]
    for array, shape in zip(weights, weight_shapes(network)):
        found[shape.layer].append(array)
    return found


def _wrapped(number: int) -> int:
    """Return the int64 with the low 64 bits of a number."""
    return (number + 2**63) % 2**64 - 2**63
