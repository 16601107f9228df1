"""Where the Poplar op runs inside TensorFlow: on emulated IPUs, or on those of Graphcore's."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from ops.emulator.user_op import emulated_ipus
from ops.lif.network import Network
from ops.lif.poplar import build, sdk
from ops.lif.poplar.attributes import Placement
from ops.lif.poplar.user_op import run_user_op
from ops.lif.tensorflow_op import LIFOutputs


def run_on_ipus(
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    placement: Placement,
    emulated_tiles: Optional[int],
    **options: Any,
) -> LIFOutputs:
    """ops.lif.poplar.user_op.run_user_op, which takes the options.

    emulated_tiles: of an emulated IPU; None for IPUs of the machine.
    Raises MissingSDK, BuildFailed, and what run_user_op raises.
    """
    if emulated_tiles is None:
        user_op, built = sdk.precompiled_user_op(), sdk.built_op()
    else:
        user_op = emulated_ipus(placement.ipus, emulated_tiles).precompiled_user_op
        built = build.build()
    return run_user_op(
        network, weights, ids, counts, user_op, built, placement=placement, **options
    )
