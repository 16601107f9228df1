"""LIF networks as a TensorFlow op with a registered gradient, on TensorFlow 2.6 to 2.21.

Per-slot gradients: the gradient that arrives at `spike_ids` is dL/ds of the neuron in that slot.
So `tf.reduce_sum(weight * spike_ids)` as part of a loss differentiates as if each id were its
neuron's spike; what is behind the last filled slot is not looked at. Input spikes that are float32
get such a gradient, too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import tensorflow as tf

from ops.cached_build import say_on_stderr
from ops.emulator.custom_op import MK2_TILES
from ops.lif.constant_tensors import constant_tensors
from ops.lif.cpu import abi, native
from ops.lif.input_spikes import input_spikes
from ops.lif.network import LIF, Network
from ops.lif.poplar.attributes import Placement
from ops.second_order import refuse_second_order
from ops.sparse.seed import word64
from ops.weight_types import rounded

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

    weights: float32, the arrays of ops.lif.weights.weight_shapes.
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
    weights_dtype: "bfloat16" rounds the matrices to it first; all else stays float32.
    return_membranes: whether the outputs hold the hidden layers' membranes.
    backend: "numpy" runs the float64 reference, slowly and without a compiler; "emulator" the
        Poplar op on emulated IPUs of `tiles_per_ipu`, "ipu" on those of Graphcore's TensorFlow,
        both with a `placement`, see ops.lif.poplar.user_op.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or ids do not fit;
    MissingCompiler, BuildFailed on the first call.
    """
    if backend in ("emulator", "ipu"):
        from ops.lif.poplar.backends import run_on_ipus

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
        from ops.lif.numpy_op import run_reference

        # A bias is no matrix that is read again and again: it stays as it is, as in the kernels.
        matrices = [
            rounded(array, weights_dtype if array.shape.rank == 2 else "float32")
            for array in map(tf.convert_to_tensor, weights)
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
        weights=list(weights),
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


@lru_cache(maxsize=None)
def library() -> Any:
    """The op library, built and loaded with its gradients registered."""
    # Loading it registers the ops, whose gradients must then be known.
    loaded = tf.load_op_library(str(native.build_tensorflow_op(say_on_stderr)))

    def gradient(op: Any, *grads: Any) -> List[Any]:
        layers, hidden = op.get_attr("layers"), op.get_attr("hidden")
        inputs = _by_name(op, INPUTS, op.inputs)
        outputs = _by_name(op, OUTPUTS, op.outputs)
        found = loaded.ipulse_lif_grad(
            **{name: inputs[name][0] for name in ("ids", "counts", "port", "seed", "filled")},
            **{name: inputs[name] for name in list(INPUTS)[5:]},
            bits=outputs["bits"],
            membranes=outputs["membranes"],
            grad_membrane=grads[0],
            grad_ports=grads[1 + 4 * layers : 1 + 5 * layers],
            grad_u=grads[1 + 5 * layers : 1 + 5 * layers + hidden],
            trained=op.get_attr("trained"),
            **{name: op.get_attr(name) for name in ATTRIBUTES},
        )
        trained = {tf.compat.as_str(name) for name in op.get_attr("trained")}
        wanted = {**dict.fromkeys(trained, True), "scale": "decay" in trained}
        by_constant = [
            grad if wanted.get(name) else None
            for name in ("decay", "scale", "synapse_decay", "threshold")
            for grad in getattr(found, f"grad_{name}")
        ]
        has_port = inputs["port"][0].shape.rank == 3
        by_port = found.grad_port if has_port else None
        return [
            None,
            None,
            by_port,
            None,
            None,
            *found.grad_weights,
            *by_constant,
            *[None] * layers,
        ]

    def slots_gradient(op: Any, grad: Any) -> List[Any]:
        return [grad, None, None]  # to the port, see forward_op.h

    tf.RegisterGradient("IpulseLif")(gradient)
    tf.RegisterGradient("IpulseLifSlots")(slots_gradient)
    refuse_second_order("IpulseLifGrad")
    return loaded


# Of the op, in order: its inputs and outputs with the attribute that says how many there are, and
# the attributes that its gradient takes over.
INPUTS: Dict[str, Optional[str]] = {
    **dict.fromkeys(("ids", "counts", "port", "seed", "filled")),
    "weights": "matrices",
    **dict.fromkeys(("decay", "scale", "synapse_decay"), "all"),
    **dict.fromkeys(("threshold", "second_threshold"), "layers"),
}
OUTPUTS: Dict[str, Optional[str]] = {
    "membrane": None,
    **dict.fromkeys(("spike_counts", "dropped", "bits", "membranes", "ports"), "layers"),
    "u": "hidden",
}
ATTRIBUTES = (
    *("recurrent", "bias", "slots", "policy", "delay", "reset", "reset_on", "reset_gradient"),
    *("surrogate", "slope", "width", "values", "weight_type", "store", "threads", "arch"),
)


def _by_name(op: Any, names: Dict[str, Optional[str]], tensors: Sequence[Any]) -> Dict[str, Any]:
    found, first = {}, 0
    for name, size in names.items():
        end = first + (1 if size is None else op.get_attr(size))
        found[name] = list(tensors[first:end])
        first = end
    return found


def _trained(constants: Sequence[Mapping[str, Any]]) -> List[str]:
    return sorted({name for given in constants for name in given} - {"second_threshold"})


def _surrogate(network: Network) -> Dict[str, Any]:
    described = abi.surrogate(network.surrogate)
    return {
        "surrogate": described.kind,
        "slope": described.slope,
        "width": described.width,
        "values": list(getattr(network.surrogate, "values", ())),
    }
