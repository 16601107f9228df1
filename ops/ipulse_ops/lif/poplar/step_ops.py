"""The Poplar ops of one time step in TensorFlow, for cells on IPUs."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence

import tensorflow as tf

from ipulse_core.registry.refusals import STEP_OP
from ipulse_ops.lif.poplar.attributes import surrogate_word
from ipulse_ops.lif.poplar.sources import BuiltOp
from ipulse_ops.lif.poplar.user_op import PrecompiledUserOp
from ipulse_ops.lif.unsupported import refuse
from ipulse_ops.sparse.selection import Selected
from ipulse_ops.surrogate import Surrogate


class PoplarStepOps(NamedTuple):
    """The ops of ipulse_ops.sparse for float32 tensors `[batch, ...]` with static shapes."""

    user_op: PrecompiledUserOp
    built: BuiltOp

    def spike_matmul(self, weights: Any, ids: Any, counts: Any) -> Any:
        """Run ipulse_ops.sparse.spike_matmul; counts `[batch, 2]`."""
        batch, neurons = ids.shape[0], weights.shape[1]
        inputs = [weights, ids[tf.newaxis], counts[tf.newaxis]]
        words = "ipulse-spike-matmul/1"
        return self._run("SpikeMatmul", words, inputs, [(1, batch, neurons)], [0, 1])[0][0]

    def sparse_to_dense(self, ids: Any, counts: Any, neurons: int) -> Any:
        """Run ipulse_ops.sparse.sparse_to_dense; counts `[batch, 2]`."""
        inputs = [ids[tf.newaxis], counts[tf.newaxis]]
        words = f"ipulse-sparse-to-dense/1 neurons={neurons}"
        return self._run("SparseToDense", words, inputs, [(1, ids.shape[0], neurons)], [0])[0][0]

    def select_spikes(
        self,
        u: Any,
        threshold: Any,
        second_threshold: Optional[Any],
        capacity: int,
        policy: str,
        surrogate: Surrogate,
        **_: Any,
    ) -> Selected:
        """Run ipulse_ops.sparse.select_spikes; thresholds `[neurons]`.

        Raises UnsupportedNetwork for the policy "cyclic", which only MultiLIF supports.
        """
        if policy == "cyclic":
            refuse("cyclic", STEP_OP)
        words = f"ipulse-select-spikes/1 slots={capacity} surrogate={surrogate_word(surrogate)}"
        words += "" if second_threshold is None else " second_threshold"
        words += "" if policy == "index" else f" {policy}"
        given = [] if second_threshold is None else [second_threshold]
        batch = u.shape[0]
        outputs = [(batch, capacity), (batch, 2), (batch,), (batch, capacity)]
        found = self._run("SelectSpikes", words, [u, threshold, *given], outputs, [0, 1])
        return Selected(*found[:3])

    def dense_matmul(self, spikes: Any, weights: Any) -> Any:
        """Run ipulse_ops.keras.dense_ops.dense_matmul."""
        shape = (spikes.shape[0], weights.shape[1])
        words = "ipulse-dense-matmul/1"
        return self._run("DenseMatmul", words, [spikes, weights], [shape], [0, 1])[0]

    def emit_spikes(
        self, u: Any, threshold: Any, second_threshold: Optional[Any], surrogate: Surrogate
    ) -> Any:
        """Run ipulse_ops.keras.dense_ops.emit_spikes; thresholds `[neurons]`."""
        words = f"ipulse-emit-spikes/1 surrogate={surrogate_word(surrogate)}"
        words += "" if second_threshold is None else " second_threshold"
        given = [] if second_threshold is None else [second_threshold]
        inputs = [u, threshold, *given]
        return self._run("EmitSpikes", words, inputs, [tuple(u.shape)], [0, 1])[0]

    def _run(
        self,
        name: str,
        attributes: str,
        inputs: Sequence[Any],
        outputs: Sequence[Sequence[int]],
        with_gradients: List[int],
    ) -> List[Any]:
        return run_small_op(
            self.user_op, self.built, name, attributes, inputs, outputs, with_gradients
        )


def run_small_op(
    user_op: PrecompiledUserOp,
    built: BuiltOp,
    name: str,
    attributes: str,
    inputs: Sequence[Any],
    outputs: Sequence[Sequence[int]],
    with_gradients: List[int],
) -> List[Any]:
    """Return the float32 outputs of one of the smaller ops, which have these shapes.

    name: the op's `op_name`.
    with_gradients: places of the inputs that receive a gradient.

    Raises what precompiled_user_op raises.
    """
    return user_op(
        list(inputs),
        str(built.library),
        gp_path=str(built.codelets),
        outs={
            "output_types": [tf.float32] * len(outputs),
            "output_shapes": [tf.TensorShape(shape) for shape in outputs],
        },
        name=f"ipulse_{name.lower()}",
        op_name=name,
        inputs_with_gradients=with_gradients,
        attributes=attributes,
        gradient_attributes=attributes,
    )
