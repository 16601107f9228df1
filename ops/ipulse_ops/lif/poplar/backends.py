"""The back ends "emulator" and "ipu" of `run_network`, and of the cells: the Poplar ops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional, Sequence, Tuple

from ipulse_ops.lif.network import Network
from ipulse_ops.lif.poplar import sdk
from ipulse_ops.lif.poplar.attributes import states_of
from ipulse_ops.lif.poplar.conv_ops import PoplarConvOps
from ipulse_ops.lif.poplar.sources import BuiltOp
from ipulse_ops.lif.poplar.step_ops import PoplarStepOps
from ipulse_ops.lif.poplar.user_op import PrecompiledUserOp, run_user_op
from ipulse_ops.lif.run_options import LIFOutputs, RunOptions
from ipulse_ops.lif.single_layers import Result, run_single_layers
from ipulse_ops.lif.slot_lists import later, sorted_lists
from ipulse_ops.lif.unsupported import refuse_unsupported


class MissingEmulator(ImportError):
    """The package poplar-emulator is not installed."""

    code = "missing_emulator"


def run_on_emulator(
    network: Network, weights: Sequence[Any], ids: Any, counts: Any, options: RunOptions
) -> LIFOutputs:
    """Run the network on emulated IPUs of `options.tiles_per_ipu` tiles.

    Raises MissingEmulator, MissingCompiler, BuildFailed, and what run_user_op raises.
    """
    ipus = options.placement.ipus
    ops = _emulated(ipus, options.tiles_per_ipu)
    if not network.runs_layers_alone:
        return _run(network, weights, ids, counts, options, *ops)
    if ipus != 1:
        refuse_unsupported(network, "emulator", {"several_ipus": ipus})

    def run(
        layer: Network,
        weights: Sequence[Any],
        ids: Any,
        counts: Any,
        own: RunOptions,
        reads_out: bool,
    ) -> Result:
        (delay,) = layer.delays
        ids, counts = later(ids, delay), later(counts, delay)
        outputs = _run(replace(layer, delay=0), weights, ids, counts, own, *ops)
        return outputs, lambda: outputs.spike_ids

    return run_single_layers(run, network, weights, ids, counts, options, sorted_lists)


def run_on_ipus(
    network: Network, weights: Sequence[Any], ids: Any, counts: Any, options: RunOptions
) -> LIFOutputs:
    """Run the network on the machine's IPUs.

    Raises MissingSDK, BuildFailed, and what run_user_op raises.
    """
    refuse_unsupported(network, "ipu")
    return _run(network, weights, ids, counts, options, sdk.precompiled_user_op(), sdk.built_op())


def step_ops(emulated_tiles: Optional[int]) -> PoplarStepOps:
    """Return the ops of one step, on one IPU.

    emulated_tiles: tiles of an emulated IPU; None for an IPU of this machine.

    Raises MissingEmulator, MissingSDK, MissingCompiler, BuildFailed.
    """
    return PoplarStepOps(*_ops_of(emulated_tiles))


def conv_ops(emulated_tiles: Optional[int]) -> PoplarConvOps:
    """Return the ops of convolutions, on one IPU.

    emulated_tiles: as for step_ops.

    Raises what step_ops raises.
    """
    return PoplarConvOps(*_ops_of(emulated_tiles))


def _ops_of(emulated_tiles: Optional[int]) -> Tuple[PrecompiledUserOp, BuiltOp]:
    if emulated_tiles is None:
        return sdk.precompiled_user_op(), sdk.built_op()
    return _emulated(1, emulated_tiles)


def _run(
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    options: RunOptions,
    user_op: PrecompiledUserOp,
    built: BuiltOp,
) -> LIFOutputs:
    if options.weights_dtype != "float32":
        raise ValueError(
            f"the Poplar op has weights_dtype='float32'; got {options.weights_dtype!r}"
        )
    return run_user_op(
        network,
        weights,
        ids,
        counts,
        user_op,
        built,
        constants=options.constants,
        seed=options.seed,
        return_membranes=options.return_membranes,
        placement=options.placement,
        memory=options.memory,
        states=states_of(options.states_dtype, options.stochastic_rounding),
    )


def _emulated(ipus: int, tiles: int) -> Tuple[PrecompiledUserOp, BuiltOp]:
    try:
        # Imported here because poplar-emulator is an optional dependency of ipulse-ops.
        from ipulse_ops.lif.poplar.build import build
        from poplar_emulator.user_op import emulated_ipus
    except ImportError as error:
        raise MissingEmulator(
            "backend='emulator' needs the package poplar-emulator: run `pip install ./core "
            "./emulator './ops[emulator]'` in a checkout of the IPUlse repository"
        ) from error
    return emulated_ipus(ipus, tiles).precompiled_user_op, build()
