"""LIF networks as a TensorFlow op with a registered gradient, on TensorFlow 2.6 to 2.21.

Per-slot gradients: the gradient that arrives at `spike_ids` is dL/ds of the neuron in that slot.
So `tf.reduce_sum(weight * spike_ids)` as part of a loss differentiates as if each id were its
neuron's spike; what is behind the last filled slot is not looked at.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, List, NamedTuple, Optional, Sequence, Union

import tensorflow as tf

from ops.cached_build import say_on_stderr
from ops.lif.cpu import native
from ops.lif.cpu.abi import RESET_GRADIENT
from ops.lif.cpu.arrays import constants
from ops.lif.cpu.supported import check_supported
from ops.lif.network import LIF, LeakyReadout, Network


class LIFOutputs(NamedTuple):
    """What a network did over a whole sequence, all float32."""

    membrane: Any  # [time, batch, classes], of the readout
    spike_ids: List[Any]  # per layer [time, batch, slots]: spiking, gradient-only, then zeros
    spike_counts: List[Any]  # per layer [time, batch, 2]: spikes, and with gradient-only neurons
    dropped: List[Any]  # per layer [time, batch]: spiking neurons without a slot
    membranes: List[Any]  # per hidden layer [time, batch, neurons]; empty unless asked for


def run_network(
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    threads: int = 0,
    arch: Optional[int] = None,
    keep: bool = True,
) -> LIFOutputs:
    """Run the network from rest on the input spikes ids int32 `[time, batch, slots]`, counts int32
    `[time, batch]`; differentiable by the weights.

    weights: one float32 `[N_in, N_out]` per layer and one for the readout.
    threads: 0 for as many as the process may run on; results do not depend on it.
    arch: CPU features that may be used, None for all of this machine's.
    keep: False saves the backward pass's memory; a gradient is then an error.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or ids do not fit;
    UnsupportedNetwork; MissingCompiler, BuildFailed on the first call.
    """
    surrogate = check_supported(network)
    op = library()
    layers: List[Union[LIF, LeakyReadout]] = [*network.layers, network.readout]
    arrays = [constants(layer) for layer in layers]
    if arch is None:
        arch = native.supported_arch()
    outputs = op.ipulse_lif(
        ids=ids,
        counts=counts,
        weights=list(weights),
        decay=[layer.decay for layer in arrays],
        scale=[layer.scale for layer in arrays],
        threshold=[layer.threshold for layer in arrays[:-1]],
        second_threshold=[
            [] if layer.second_threshold is None else layer.second_threshold
            for layer in arrays[:-1]
        ],
        slots=[layer.slots for layer in network.layers],
        delay=network.delay,
        reset_gradient=RESET_GRADIENT[network.reset_gradient],
        slope=surrogate.slope,
        threads=threads,
        arch=arch,
        keep=keep,
    )
    # An op of its own, which TensorFlow leaves out where nobody reads the ids.
    spike_ids = [
        op.ipulse_lif_slots(
            port=port,
            bits=bits,
            spike_counts=spike_counts,
            neurons=layer.neurons,
            slots=layer.slots,
            gated=layer.second_threshold is not None,
            threads=threads,
        )
        for layer, port, bits, spike_counts in zip(
            network.layers, outputs.ports, outputs.bits, outputs.spike_counts
        )
    ]
    return LIFOutputs(
        membrane=outputs.membrane,
        spike_ids=spike_ids,
        spike_counts=list(outputs.spike_counts),
        dropped=list(outputs.dropped),
        membranes=[],
    )


@lru_cache(maxsize=None)
def library() -> Any:
    """The op library, built and loaded with its gradients registered."""
    # Loading it registers the ops, whose gradients must then be known.
    loaded = tf.load_op_library(str(native.build_tensorflow_op(say_on_stderr)))

    def gradient(op: Any, *grads: Any) -> List[Any]:
        layers, everything = op.get_attr("layers"), op.get_attr("all")
        inputs, outputs = list(op.inputs), list(op.outputs)
        first_constant = 2 + everything
        first_threshold = first_constant + 2 * everything
        grad_weights = loaded.ipulse_lif_grad(
            ids=inputs[0],
            counts=inputs[1],
            weights=inputs[2:first_constant],
            decay=inputs[first_constant : first_constant + everything],
            scale=inputs[first_constant + everything : first_threshold],
            threshold=inputs[first_threshold : first_threshold + layers],
            second_threshold=inputs[first_threshold + layers :],
            bits=outputs[1 + 2 * layers : 1 + 3 * layers],
            membranes=outputs[1 + 3 * layers : 1 + 4 * layers],
            grad_membrane=grads[0],
            grad_ports=grads[1 + 4 * layers :],
            slots=op.get_attr("slots"),
            delay=op.get_attr("delay"),
            reset_gradient=op.get_attr("reset_gradient"),
            slope=op.get_attr("slope"),
            threads=op.get_attr("threads"),
            arch=op.get_attr("arch"),
        )
        return [None, None, *grad_weights, *[None] * (len(inputs) - first_constant)]

    def slots_gradient(op: Any, grad: Any) -> List[Any]:
        return [grad, None, None]  # to the port, see tensorflow_op.cc

    tf.RegisterGradient("IpulseLif")(gradient)
    tf.RegisterGradient("IpulseLifSlots")(slots_gradient)
    return loaded
