"""Profiles of the programs that a job ran on emulated IPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from ipulse_core.spec.single_layers import programs_of
from ipulse_core.spec.stretches import stretches_of
from ipulse_ops.keras.convolutions.conv_network import ConvNetwork
from ipulse_ops.keras.equations_neurons import EquationsNeurons
from ipulse_worker.runner.devices.description import Log
from ipulse_worker.runner.model.op_network import OpNetwork
from ipulse_worker.runner.profile.merged_profile import (
    FORGED,
    ProfiledPart,
    layers_renamed,
    merged,
    op_renamed,
)
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.ops.ops import CustomOps
from poplar_emulator.custom_op import CustomOp

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def cycles_of(profile: Dict[str, Any]) -> float:
    """Return the cycles of all runs of a program."""
    return float(profile.get("execution", {"totalCycles": {"total": 0}})["totalCycles"]["total"])


def equations_profiles(
    spec: ExperimentSpec, network: Union[OpNetwork, ConvNetwork]
) -> List[ProfiledPart]:
    """Return the profiles of the layers with equations that ran."""
    found = []
    for part, stretch in zip(getattr(network, "parts", ()), stretches_of(spec)):
        if isinstance(part, EquationsNeurons):
            profile = part.tile_profile()
            if profile is not None:
                name = part.layer.neuron.name
                found.append(
                    ProfiledPart(profile, op_renamed(f"layer{stretch.layers[0] + 1}", name))
                )
    return found


def profile_of_parts(
    spec: ExperimentSpec,
    compiled: Iterable[Tuple[Tuple[int, str], CustomOp]],
    equations: Sequence[ProfiledPart],
    custom: Optional[CustomOps],
    log: Log,
) -> Dict[str, Any]:
    """Return one profile of the programs of all parts of the network, and of its custom ops.

    Args:
        spec: of the job.
        compiled: the ops, with the part of the network and the name of each.
        equations: the profiles of layers with equations.
        custom: the custom ops of the network, if it has any.
        log: receives a warning where a custom op gives no profile.
    """
    most: Dict[Tuple[int, str], Dict[str, Any]] = {}
    for part, op in compiled:
        found = op.profile()
        if part not in most or cycles_of(found) > cycles_of(most[part]):
            most[part] = found
    programs = programs_of(spec)
    own = [
        ProfiledPart(found, layers_renamed(programs[part].names))
        for (part, _), found in sorted(most.items(), key=lambda each: each[0])
    ]
    own += equations
    if custom is None:
        return merged(own)
    try:
        of_ops = [_profile_of_op(custom, each.layers[0]) for each in programs if each.is_op]
        return merged([*own, *of_ops])
    except (ProgramFailure, *FORGED) as error:
        log(f"the profile is without custom ops: {error}", level="warning")
        return merged(own)


def _profile_of_op(custom: CustomOps, layer: int) -> ProfiledPart:
    rename = op_renamed(f"layer{layer + 1}", custom.name_of(layer))
    return ProfiledPart(custom.profile(layer), rename)
