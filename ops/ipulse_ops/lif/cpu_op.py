"""The back end "cpu" of `run_network`: the C++ kernels as TensorFlow ops."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Tuple

from ipulse_core.neurons.constants import IN_KERNELS
from ipulse_ops.lif.constant_tensors import constant_tensors
from ipulse_ops.lif.cpu import abi, native
from ipulse_ops.lif.cpu.op_library import library
from ipulse_ops.lif.input_spikes import input_spikes
from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.run_options import LIFOutputs, RunOptions
from ipulse_ops.lif.single_layers import run_single_layers
from ipulse_ops.sparse.seed import word64

# The storage of the forward pass (LifStore in lif.h) by the argument `memory`.
MEMORIES = {"slots": "membranes", "recompute": "spikes"}


def run_on_cpu(
    network: Network, weights: Sequence[Any], ids: Any, counts: Any, options: RunOptions
) -> LIFOutputs:
    """Run the network with the C++ kernels.

    Raises what `run_network` raises for shapes and numbers that do not fit; MissingCompiler,
    BuildFailed.
    """
    if options.dropout_seed is not None or network.has_residual or network.has_delays:
        return run_single_layers(run_op, network, weights, ids, counts, options)
    return run_op(network, weights, ids, counts, options)[0]


def run_op(
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    options: RunOptions,
    reads_out: bool = True,
) -> Tuple[LIFOutputs, Callable[[], List[Any]]]:
    """Run the network in one op; return its outputs, and a function that returns shorter lists.

    reads_out: False leaves the membrane of a spiking readout out, float32 `[0]`.

    The lists are `spike_ids` with only as many slots as the longest list fills. Gradients of both
    are added.
    """
    op = library()
    spikes = input_spikes(ids, counts)
    layers = [*network.layers, network.readout]
    tensors = constant_tensors(network, options.constants)
    store = MEMORIES[options.memory] if options.keep else "nothing"
    given = {name for of_layer in options.constants or () for name in of_layer}
    outputs = op.ipulse_lif(
        ids=spikes.ids,
        counts=spikes.counts,
        port=spikes.port,
        seed=word64(options.seed),
        filled=spikes.filled,
        weights=weights,
        **{
            row.array: [
                getattr(layer, row.array)
                for layer in tensors
                if getattr(layer, row.array) is not None
            ]
            for row in IN_KERNELS
        },
        hidden=len(network.layers),
        recurrent=[isinstance(layer, LIF) and layer.recurrent for layer in layers],
        bias=[layer.bias for layer in layers],
        slots=[layer.slots for layer in network.spiking],
        policy=[abi.POLICY[layer.policy] for layer in network.spiking],
        detach_adaptation=[layer.detach_adaptation for layer in network.spiking],
        delay=network.delays,
        reset=abi.RESET[network.reset],
        reset_on=abi.RESET_ON[network.reset_on],
        reset_gradient=abi.RESET_GRADIENT[network.reset_gradient],
        truncate=network.truncate or 0,
        weight_type=abi.WEIGHTS[options.weights_dtype],
        store=abi.STORE[store],
        threads=options.threads,
        arch=native.supported_arch() if options.arch is None else options.arch,
        return_membranes=options.return_membranes,
        reads_out=reads_out,
        trained=sorted(given - {"second_threshold"}),
        **_surrogate(network),
    )

    def slots(ports: Sequence[Any], filled: bool) -> List[Any]:
        # A separate op, which TensorFlow removes from the graph when nothing reads the ids.
        return [
            op.ipulse_lif_slots(
                port=port,
                bits=bits,
                spike_counts=spike_counts,
                neurons=layer.neurons,
                slots=layer.slots,
                gated=layer.second_threshold is not None,
                filled=filled,
                policy=abi.POLICY[layer.policy],
                threads=options.threads,
            )
            for layer, port, bits, spike_counts in zip(
                network.spiking, ports, outputs.bits, outputs.spike_counts
            )
        ]

    found = LIFOutputs(
        membrane=outputs.membrane,
        spike_ids=slots(outputs.ports, False),
        spike_counts=list(outputs.spike_counts),
        dropped=list(outputs.dropped),
        membranes=list(outputs.u) if options.return_membranes else [],
    )
    return found, lambda: slots(outputs.short_ports, True)


def _surrogate(network: Network) -> Dict[str, Any]:
    described = abi.surrogate(network.surrogate)
    return {
        "surrogate": described.kind,
        "slope": described.slope,
        "width": described.width,
        "values": list(getattr(network.surrogate, "values", ())),
    }
