"""LIF networks as a differentiable TensorFlow op, on TensorFlow 2.6 to 2.21.

Per-slot gradients: the gradient that arrives at `spike_ids` is dL/ds of the neuron in that slot.
So `tf.reduce_sum(weight * spike_ids)` as part of a loss differentiates as if each id were its
neuron's spike; what is behind the last filled slot is not looked at. Input spikes that are float32
get such a gradient, too.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import tensorflow as tf

from ipulse_ops.lif.constant_tensors import constant_tensors
from ipulse_ops.lif.cpu import abi, native
from ipulse_ops.lif.input_spikes import input_spikes
from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.op_library import library
from ipulse_ops.lif.poplar.attributes import Placement
from ipulse_ops.lif.weights import check_shapes
from ipulse_ops.sparse.seed import word64
from ipulse_ops.training.weight_types import WEIGHT_TYPES, rounded
from ipulse_ops.validation import choice, instance, whole
from ipulse_ops.xla import refuse_xla
from poplar_emulator.custom_op import MK2_TILES

BACKENDS = ("cpu", "numpy", "emulator", "ipu")
MEMORIES = {"slots": "membranes", "recompute": "spikes"}


class LIFOutputs(NamedTuple):
    """What a network did over a whole sequence, all float32.

    "Per layer" is per layer that spikes: the hidden ones, and the readout if it does.
    """

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
    constants: Optional[Sequence[Mapping[str, Any]]] = None,
    seed: Any = 0,
    memory: str = "slots",
    weights_dtype: str = "float32",
    return_membranes: bool = False,
    backend: str = "cpu",
    placement: Placement = Placement(),  # noqa: B008 (frozen)
    tiles_per_ipu: int = MK2_TILES,
) -> LIFOutputs:
    """Run the network from rest on input spikes; differentiable by weights, given constants and,
    if ids are float32, by the input's spikes.

    weights: float32, the arrays of ipulse_ops.lif.weights.weight_shapes.
    ids: int32, uint16 or float32 `[time, batch, slots]`.
    counts: of any of them `[time, batch]`; or `[time, batch, 2]`, spikes and filled slots, as a
        network gives them: gradient-only neurons get a gradient then, too.
    threads: 0 for as many as the process may run on; results do not depend on it.
    arch: CPU features that may be used, None for all of this machine's.
    keep: False saves the backward pass's memory; a gradient is then an error.
    constants: of each layer and the readout, float32 tensors `[neurons]` that take the place of
        its "decay", "threshold", "synapse_decay" or "second_threshold" and, the last one aside,
        get a gradient.
    seed: of the policy "cyclic", 0 to 2^64 - 1 or an int64 tensor.
    memory: what waits for the backward pass: "slots", the membranes that carry gradient;
        "recompute", the spikes alone, from which the layers are run again.
    weights_dtype: "bfloat16" rounds the matrices to it first, so that the kernels' copies of them
        take half the bytes; all else stays float32.
    return_membranes: whether the outputs hold the hidden layers' membranes.
    backend: "numpy" runs the float64 reference, slowly and without a compiler; "emulator" the
        Poplar op on emulated IPUs of `tiles_per_ipu`, "ipu" on those of Graphcore's TensorFlow,
        both with a `placement`, see ipulse_ops.lif.poplar.user_op.

    Raises ValueError for an argument out of range, tf.errors.InvalidArgumentError (ValueError while
    tracing) if the input's shapes or numbers or a constant do not fit; NotImplementedError if XLA
    is to compile it, unless the backend is "ipu"; MissingCompiler, BuildFailed on the first call.
    """
    instance("network", network, Network)
    choice("backend", backend, BACKENDS)
    choice("memory", memory, tuple(MEMORIES))
    choice("weights_dtype", weights_dtype, WEIGHT_TYPES)
    whole("threads", threads, 0)
    if backend != "ipu":
        refuse_xla()
    weights = [tf.convert_to_tensor(array, tf.float32) for array in weights]
    check_shapes(network, [_known_shape(array) for array in weights])
    if backend in ("emulator", "ipu"):
        from ipulse_ops.lif.poplar.backends import run_on_ipus

        if memory != "slots" or weights_dtype != "float32":
            raise ValueError(
                "the Poplar op has memory='slots' and weights_dtype='float32'; "
                f"got {memory!r} and {weights_dtype!r}"
            )
        return run_on_ipus(
            *(network, weights, ids, counts),
            placement=placement,
            emulated_tiles=tiles_per_ipu if backend == "emulator" else None,
            constants=constants,
            seed=seed,
            return_membranes=return_membranes,
        )
    if backend == "numpy":
        # Imported only here: who asks for it gets it, and nobody else.
        from ipulse_ops.lif.reference.tensorflow_op import run_reference

        # A bias is no matrix that is read again and again: it stays as it is, as in the kernels.
        matrices = [
            rounded(array, weights_dtype if array.shape.rank == 2 else "float32")
            for array in weights
        ]
        return run_reference(network, matrices, ids, counts, constants, seed, return_membranes)
    op = library()
    spikes = input_spikes(ids, counts)
    layers = [*network.layers, network.readout]
    tensors = constant_tensors(network, constants)
    store = MEMORIES[memory] if keep else "nothing"
    outputs = op.ipulse_lif(
        ids=spikes.ids,
        counts=spikes.counts,
        port=spikes.port,
        seed=word64(seed),
        filled=spikes.filled,
        weights=weights,
        decay=[layer.decay for layer in tensors],
        scale=[layer.scale for layer in tensors],
        synapse_decay=[layer.synapse_decay for layer in tensors],
        threshold=[layer.threshold for layer in tensors if layer.threshold is not None],
        second_threshold=[
            layer.second_threshold for layer in tensors if layer.second_threshold is not None
        ],
        hidden=len(network.layers),
        recurrent=[isinstance(layer, LIF) and layer.recurrent for layer in layers],
        bias=[layer.bias for layer in layers],
        slots=[layer.slots for layer in network.spiking],
        policy=[abi.POLICY[layer.policy] for layer in network.spiking],
        delay=network.delay,
        reset=abi.RESET[network.reset],
        reset_on=abi.RESET_ON[network.reset_on],
        reset_gradient=abi.RESET_GRADIENT[network.reset_gradient],
        weight_type=abi.WEIGHTS[weights_dtype],
        store=abi.STORE[store],
        threads=threads,
        arch=native.supported_arch() if arch is None else arch,
        return_membranes=return_membranes,
        trained=sorted(
            {name for given in constants or () for name in given} - {"second_threshold"}
        ),
        **_surrogate(network),
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
            policy=abi.POLICY[layer.policy],
            threads=threads,
        )
        for layer, port, bits, spike_counts in zip(
            network.spiking, outputs.ports, outputs.bits, outputs.spike_counts
        )
    ]
    return LIFOutputs(
        membrane=outputs.membrane,
        spike_ids=spike_ids,
        spike_counts=list(outputs.spike_counts),
        dropped=list(outputs.dropped),
        membranes=list(outputs.u) if return_membranes else [],
    )


def _known_shape(tensor: Any) -> Optional[Tuple[Optional[int], ...]]:
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())


def _surrogate(network: Network) -> Dict[str, Any]:
    described = abi.surrogate(network.surrogate)
    return {
        "surrogate": described.kind,
        "slope": described.slope,
        "width": described.width,
        "values": list(getattr(network.surrogate, "values", ())),
    }
