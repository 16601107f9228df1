"""Loads the library of LIF ops and registers their gradients, once per process."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Dict, List, Optional, Sequence

import tensorflow as tf

from ipulse_core.neurons.constants import ALL, IN_KERNELS
from ipulse_ops.lif.cpu import native
from ipulse_ops.unsupported import refuse_second_order, without_gradient


@lru_cache(maxsize=None)
def library() -> Any:
    """Return the op library with its gradients registered; build it if necessary."""
    # Loading registers the ops. Their gradients are registered below, before any is called.
    loaded = tf.load_op_library(str(native.build_tensorflow_op()))

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
            grad_short_ports=grads[1 + 5 * layers : 1 + 6 * layers],
            grad_u=grads[1 + 6 * layers : 1 + 6 * layers + hidden],
            trained=op.get_attr("trained"),
            **{name: op.get_attr(name) for name in ATTRIBUTES},
        )
        trained = {tf.compat.as_str(name) for name in op.get_attr("trained")}
        by_constant: List[Any] = []
        for row in IN_KERNELS:
            # The scale depends on the decay.
            wanted = ("decay" if row.name == "gain" else row.name) in trained
            grads_of = getattr(found, f"grad_{row.array}") if row.has_gradient else ()
            by_constant += grads_of if wanted else [None] * len(inputs[row.array])
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
        ]

    def slots_gradient(op: Any, grad: Any) -> List[Any]:
        return [grad, None, None]  # of the port, see forward_op.h

    def loss_gradient(op: Any, grad: Any, _: Any) -> List[Any]:
        return [grad[:, tf.newaxis] * without_gradient(op, op.outputs[1]), None]

    tf.RegisterGradient("IpulseLif")(gradient)
    tf.RegisterGradient("IpulseLifSlots")(slots_gradient)
    tf.RegisterGradient("IpulseCrossEntropy")(loss_gradient)
    refuse_second_order("IpulseLifGrad")
    refuse_second_order("IpulseStandardise")
    return loaded


# The op's inputs and outputs in order, with the attribute that is their number, and the attributes
# that its gradient has, too.
INPUTS: Dict[str, Optional[str]] = {
    **dict.fromkeys(("ids", "counts", "port", "seed", "filled")),
    "weights": "matrices",
    **{row.array: "all" if row.of == ALL else "layers" for row in IN_KERNELS},
}
OUTPUTS: Dict[str, Optional[str]] = {
    "membrane": None,
    **dict.fromkeys(("spike_counts", "dropped", "bits", "membranes"), "layers"),
    **dict.fromkeys(("ports", "short_ports"), "layers"),
    "u": "hidden",
}
ATTRIBUTES = (
    *("recurrent", "bias", "slots", "policy", "detach_adaptation"),
    *("delay", "reset", "reset_on", "reset_gradient", "truncate"),
    *("surrogate", "slope", "width", "values", "weight_type", "store", "threads", "arch"),
)


def _by_name(op: Any, names: Dict[str, Optional[str]], tensors: Sequence[Any]) -> Dict[str, Any]:
    found, first = {}, 0
    for name, size in names.items():
        end = first + (1 if size is None else op.get_attr(size))
        found[name] = list(tensors[first:end])
        first = end
    return found
