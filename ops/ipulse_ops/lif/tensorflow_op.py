"""LIF networks as a differentiable TensorFlow op, on TensorFlow 2.6 to 2.21.

Gradients per slot: the gradient that arrives at `spike_ids` is dL/ds of the neuron in that slot.
`tf.reduce_sum(weight * spike_ids)` as a part of a loss therefore differentiates as if each id were
its neuron's spike; values after the last filled slot are ignored. Input spikes in float32 receive
such a gradient, too.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

import tensorflow as tf

from ipulse_core.ipu import MK2_TILES
from ipulse_ops.lif.cpu.tensorflow_op import MEMORIES, run_on_cpu
from ipulse_ops.lif.network import Network
from ipulse_ops.lif.poplar.attributes import Placement
from ipulse_ops.lif.poplar.backends import run_on_emulator, run_on_ipus
from ipulse_ops.lif.reference.tensorflow_op import run_reference
from ipulse_ops.lif.run_options import LIFOutputs, OnLayer, RunOptions, check_states
from ipulse_ops.lif.weights import check_shapes
from ipulse_ops.training.weight_types import WEIGHT_TYPES
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
    threads: int = 0,
    arch: Optional[int] = None,
    keep: bool = True,
    constants: Optional[Sequence[Mapping[str, Any]]] = None,
    seed: Any = 0,
    dropout_seed: Any = None,
    memory: str = "slots",
    weights_dtype: str = "float32",
    states_dtype: str = "float32",
    stochastic_rounding: bool = False,
    return_membranes: bool = False,
    backend: str = "cpu",
    placement: Placement = Placement(),
    tiles_per_ipu: int = MK2_TILES,
    on_layer: OnLayer = lambda number: None,
) -> LIFOutputs:
    """Run the network from rest on input spikes.

    The outputs are differentiable with respect to the weights, the given constants and, if ids are
    float32, the input spikes.

    weights: float32 arrays with the shapes of ipulse_ops.lif.weights.weight_shapes.
    ids: int32, uint16 or float32 `[time, batch, slots]`.
    counts: any numeric type, `[time, batch]`; or `[time, batch, 2]`, spikes and filled slots, as a
        network returns them: gradient-only neurons receive a gradient then, too.
    threads: 0 for all processors that the process may use; results do not depend on it.
    arch: mask of CPU features to use, None for all of this machine's.
    keep: False saves the backward pass's memory; computing a gradient is then an error.
    constants: one mapping per layer and the readout: float32 tensors `[neurons]` that replace its
        "decay", "threshold", "synapse_decay", "adaptation_decay", "adaptation_strength" or
        "second_threshold". All but the last receive a gradient.
    seed: seed of the policy "cyclic", 0 to 2^64 - 1 or an int64 tensor.
    dropout_seed: seed of the layers' dropout, as `seed`, in training, where each step has another
        one; None receives every spike.
    memory: what is stored for the backward pass: "slots", the membranes that carry gradient;
        "recompute", the spikes alone, from which the layers are run again.
    weights_dtype: "bfloat16" rounds the matrices to it before the run; their packed copies then
        take two bytes per weight. All else stays float32.
    states_dtype: "float16" stores membranes and synapses in two bytes between time steps, rounded
        to the nearest number or, with `stochastic_rounding`, at random by `seed`; sums, gradients
        and outputs are float32. Only the Poplar op has it.
    return_membranes: True adds the hidden layers' membranes to the outputs.
    backend: a name in BACKENDS. "numpy" runs the float64 reference, slowly and without a compiler;
        "emulator" runs the Poplar op on emulated IPUs of `tiles_per_ipu` tiles, "ipu" on the IPUs
        of Graphcore's TensorFlow, both with a `placement`.
    on_layer: called with the number of each layer, from 0, before it is run alone: with dropout,
        residual additions or delays.

    Raises ValueError for an argument out of range; tf.errors.InvalidArgumentError (ValueError while
    tracing) if the input's shapes or numbers or a constant do not fit; NotImplementedError under
    XLA, unless the backend is "ipu"; UnsupportedNetwork for what the Poplar op lacks, and on "ipu"
    for dropout, residual additions and delays of more than a step; MissingCompiler, BuildFailed or
    MissingEmulator on the first call.
    """
    instance("network", network, Network)
    choice("backend", backend, tuple(BACKENDS))
    choice("memory", memory, tuple(MEMORIES))
    choice("weights_dtype", weights_dtype, WEIGHT_TYPES)
    check_states(states_dtype, stochastic_rounding, backend)
    whole("threads", threads, 0)
    layers = (*network.layers, network.readout)
    if weights_dtype != "float32" and any(x.delays and x.delays.are_trained for x in layers):
        raise ValueError("weights with trained delays are not rounded: use weights_dtype float32")
    if backend != "ipu":
        refuse_xla()
    weights = [tf.convert_to_tensor(array, tf.float32) for array in weights]
    check_shapes(network, [_known_shape(array) for array in weights])
    options = RunOptions(
        threads=threads,
        arch=arch,
        keep=keep,
        constants=constants,
        seed=seed,
        dropout_seed=dropout_seed if network.has_dropout else None,
        memory=memory,
        weights_dtype=weights_dtype,
        states_dtype=states_dtype,
        stochastic_rounding=stochastic_rounding,
        return_membranes=return_membranes,
        placement=placement,
        tiles_per_ipu=tiles_per_ipu,
        on_layer=on_layer,
    )
    return BACKENDS[backend](network, weights, ids, counts, options)


def _known_shape(tensor: Any) -> Optional[Tuple[Optional[int], ...]]:
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())
