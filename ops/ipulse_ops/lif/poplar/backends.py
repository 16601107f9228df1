"""Where the Poplar op runs inside TensorFlow: on emulated IPUs, or on those of Graphcore's."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

from ipulse_ops.lif.network import Network
from ipulse_ops.lif.poplar import build, sdk
from ipulse_ops.lif.poplar.attributes import Placement
from ipulse_ops.lif.poplar.build import BuiltOp
from ipulse_ops.lif.poplar.step_ops import PoplarStepOps
from ipulse_ops.lif.poplar.user_op import PrecompiledUserOp, run_user_op
from ipulse_ops.lif.tensorflow_op import LIFOutputs
from poplar_emulator.user_op import emulated_ipus


def run_on_ipus(
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    placement: Placement,
    emulated_tiles: Optional[int],
    **options: Any,
) -> LIFOutputs:
    """ipulse_ops.lif.poplar.user_op.run_user_op, which takes the options.

    emulated_tiles: of an emulated IPU; None for IPUs of the machine.
    Raises MissingSDK, BuildFailed, and what run_user_op raises.
    """
    user_op, built = _found(placement.ipus, emulated_tiles)
    return run_user_op(
        network, weights, ids, counts, user_op, built, placement=placement, **options
    )


def step_ops_on_ipus(emulated_tiles: Optional[int]) -> PoplarStepOps:
    """Of one IPU; emulated_tiles and what is raised as above."""
    return PoplarStepOps(*_found(1, emulated_tiles))


def _found(ipus: int, emulated_tiles: Optional[int]) -> Tuple[PrecompiledUserOp, BuiltOp]:
    if emulated_tiles is None:
        return sdk.precompiled_user_op(), sdk.built_op()
    return emulated_ipus(ipus, emulated_tiles).precompiled_user_op, build.build()
