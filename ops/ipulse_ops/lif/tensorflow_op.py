"""LIF networks as a differentiable TensorFlow op, on TensorFlow 2.6 to 2.21.

Gradients per slot: the gradient that arrives at `spike_ids` is dL/ds of the neuron in that slot.
`tf.reduce_sum(weight * spike_ids)` as a part of a loss therefore differentiates as if each id were
its neuron's spike; values after the last filled slot are ignored. Input spikes in float32 receive
such a gradient, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import tensorflow as tf

from ipulse_ops.lif.cpu_op import MEMORIES, run_on_cpu
from ipulse_ops.lif.network import Network
from ipulse_ops.lif.poplar.backends import run_on_emulator, run_on_ipus
from ipulse_ops.lif.reference.tensorflow_op import run_reference
from ipulse_ops.lif.run_options import LIFOutputs, RunOptions, check_states
from ipulse_ops.lif.weight_types import WEIGHT_TYPES
from ipulse_ops.lif.weights import check_shapes
from ipulse_ops.unsupported import refuse_xla
from ipulse_ops.validation import choice, instance, whole

Backend = Callable[[Network, Sequence[Any], Any, Any, RunOptions], LIFOutputs]

BACKENDS: Dict[str, Backend] = {
    "cpu": run_on_cpu,
    "numpy": run_reference,
    "emulator": run_on_emulator,
    "ipu": run_on_ipus,
}


def run_network(
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    options: RunOptions = RunOptions(),
) -> LIFOutputs:
    """Run the network from rest on input spikes.

    The outputs are differentiable with respect to the weights, the given constants and, if ids are
    float32, the input spikes.

    weights: float32 arrays with the shapes of ipulse_ops.lif.weights.weight_shapes.
    ids: int32, uint16 or float32 `[time, batch, slots]`.
    counts: any numeric type, `[time, batch]`; or `[time, batch, 2]`, spikes and filled slots, as a
        network returns them: gradient-only neurons receive a gradient then, too.

    Raises ValueError for an option out of range; tf.errors.InvalidArgumentError (ValueError while
    tracing) if the input's shapes or numbers or a constant do not fit; NotImplementedError under
    XLA, unless the backend is "ipu"; UnsupportedNetwork for what the Poplar op lacks, and on "ipu"
    for dropout, residual additions and delays of more than a step; MissingCompiler, BuildFailed or
    MissingEmulator on the first call.
    """
    instance("network", network, Network)
    instance("options", options, RunOptions)
    choice("backend", options.backend, tuple(BACKENDS))
    choice("memory", options.memory, tuple(MEMORIES))
    choice("weights_dtype", options.weights_dtype, WEIGHT_TYPES)
    check_states(options.states_dtype, options.stochastic_rounding, options.backend)
    whole("threads", options.threads, 0)
    layers = (*network.layers, network.readout)
    if options.weights_dtype != "float32" and any(
        x.delays and x.delays.are_trained for x in layers
    ):
        raise ValueError("weights with trained delays are not rounded: use weights_dtype float32")
    if options.backend != "ipu":
        refuse_xla()
    weights = [tf.convert_to_tensor(array, tf.float32) for array in weights]
    check_shapes(network, [_known_shape(array) for array in weights])
    if not network.has_dropout:
        options = replace(options, dropout_seed=None)
    return BACKENDS[options.backend](network, weights, ids, counts, options)


def _known_shape(tensor: Any) -> Optional[Tuple[Optional[int], ...]]:
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())
