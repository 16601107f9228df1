"""Runs the Poplar op's Adam on NumPy arrays with the emulator."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy as np

from ipulse_core.ipu import MK2_TILES
from ipulse_ops.lif.network import Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.attributes import attributes_of
from ipulse_ops.lif.poplar.build import build
from ipulse_ops.lif.weights import weight_shapes
from poplar_emulator.custom_op import POISON, CustomOp


class AdamState(NamedTuple):
    """Weights and moments, float32 arrays with the shapes of `weight_shapes`."""

    weights: Tuple[np.ndarray, ...]
    means: Tuple[np.ndarray, ...]
    squares: Tuple[np.ndarray, ...]


class PoplarAdam:
    """Adam on a network's weights, with the tile mapping of the LIF op."""

    def __init__(
        self,
        network: Network,
        placement: Placement = Placement(),
        input_slots: int = 1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        weight_decay: float = 0.0,
        tiles_per_ipu: int = MK2_TILES,
    ) -> None:
        """Compile.

        weight_decay: coefficient of decoupled weight decay (AdamW).

        Raises UnsupportedNetwork; CustomOpError; MissingCompiler, BuildFailed.
        """
        own = (
            f"ipulse-adam/1 beta_1={beta_1!r} beta_2={beta_2!r} epsilon={epsilon!r} "
            f"weight_decay={weight_decay!r}"
        )
        shapes = [("float32", shape.shape) for shape in weight_shapes(network)]
        op = build()
        self._matrices = len(shapes)
        self.op = CustomOp(
            op.library,
            str(op.codelets),
            [*shapes * 4, ("float32", (1,)), ("int32", (1,))],
            shapes * 3,
            op_name="Adam",
            attributes=f"{own} {attributes_of(network, input_slots, placement)}",
            ipus=placement.ipus,
            tiles_per_ipu=tiles_per_ipu,
            options=POISON,
        )

    def update(
        self, state: AdamState, gradients: Sequence[np.ndarray], rate: float, number: int
    ) -> AdamState:
        """Return the state after update `number`, from 1.

        Raises ValueError if shapes or dtypes do not fit the network.
        """
        scalars: List[Any] = [np.array([rate], np.float32), np.array([number], np.int32)]
        found = self.op.forward(
            [*state.weights, *state.means, *state.squares, *gradients, *scalars]
        )
        n = self._matrices
        return AdamState(tuple(found[:n]), tuple(found[n : 2 * n]), tuple(found[2 * n :]))

    def close(self) -> None:
        """Release the emulated device."""
        self.op.close()

    def __enter__(self) -> PoplarAdam:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
