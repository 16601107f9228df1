"""What stream copies move between a host and emulated IPUs, and how fast the connection is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Set, Tuple

from ipulse_core.equations.loss import MEMBRANE, SPIKES, equation_texts, names_in
from ipulse_core.spec.derived_values import bounded_layers, has_own_loss
from ipulse_core.spec.host_links import host_link
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_values import values_read
from ipulse_core.spec.single_layers import makes_lists_on_host, programs_of
from ipulse_core.spec.stretches import Stretch
from ipulse_ops.lif.poplar.outputs import output_names
from ipulse_ops.lif.poplar.train_op import STEP_INPUTS

if TYPE_CHECKING:
    from ipulse.spec import EmulatorDevice, ExperimentSpec


def host_link_options(device: EmulatorDevice) -> Dict[str, str]:
    """Return the options of the emulator's engine that describe the connection of a spec."""
    link = host_link(device)
    return {
        "emulator.hostBytesPerSecond": repr(link.bytes_per_second),
        "emulator.hostLatencySeconds": repr(link.latency_seconds),
    }


def streams(spec: ExperimentSpec, part: int, **arguments: Any) -> Dict[str, List[int]]:
    """Return the arguments of CustomOp with the streams of an op.

    Args:
        spec: of the job.
        part: number of the part of the network that the op runs, from 0.
        arguments: the others of CustomOp.
    """
    programs = programs_of(spec)
    on_host = [makes_lists_on_host(spec.network, program) for program in programs]
    behind = part > 0 and _is_lif_convolution(programs[part - 1]) and not on_host[part]
    before = any(on_host[part + 1 : part + 2])
    return {
        "streamed_inputs": streamed_inputs(behind, **arguments),
        "streamed_outputs": streamed_outputs(spec, programs[part], before, **arguments),
    }


def streamed_inputs(behind_convolution: bool, attributes: str, inputs: Any, **_: Any) -> List[int]:
    """Return the inputs of a LIF op that change with every batch; weights stay on the device.

    These are ids, counts and the seed of the policy "cyclic"; with loss and update on the device
    also labels, mask, rate and the number of the step. Another op has none.

    Args:
        behind_convolution: the spikes are of a convolution of LIF neurons, and on the device.
        attributes: of the op.
        inputs: of the op.
    """
    if attributes.startswith("ipulse-train/"):
        last = len(inputs)
        return [*_of_batch(inputs), *range(last - len(STEP_INPUTS), last)]
    if attributes.startswith("ipulse-conv-lif/"):
        return [] if behind_convolution else [1, 2]  # behind the kernel
    found = _of_batch(inputs) if attributes.startswith("ipulse-lif/") else []
    return found[2:] if behind_convolution else found


def streamed_outputs(
    spec: ExperimentSpec,
    part: Stretch,
    before_host: bool,
    attributes: str,
    inputs: Any,
    **_: Any,
) -> List[int]:
    """Return the outputs of a LIF op that a training step reads on the host.

    These are counts of spikes and dropped spikes for the metrics; the readout's membrane, or the
    spikes of one that spikes, for the loss; and what regularisers read. With loss and update on the
    device also the losses, and of the network what predictions are made of. What the backward pass
    reads stays on the device, as do weights and the spikes that a convolution sends to a program
    that takes them as they are.

    Args:
        spec: of the job.
        part: of the network, which the op runs.
        before_host: the host drops some of its spikes, or adds others, for the next program.
        attributes: of the op.
        inputs: of the op.
    """
    if attributes.startswith("ipulse-conv-lif/"):
        return [0, 1] if before_host or _read_spikes(spec, part) else [1]  # ids, counts
    at = attributes.find("ipulse-lif/")
    if at < 0:
        return []
    # Behind the training op's inputs, means and squares, which stay: losses, maybe penalties, and
    # the LIF op's outputs.
    losses = []
    if attributes.startswith("ipulse-train/"):
        place = len(inputs) - len(STEP_INPUTS)
        losses = [place, place + 1] if "own_loss" in attributes[:at].split() else [place]
    first = losses[-1] + 1 if losses else 0
    names = output_names(attributes[at:])
    last = max(layer for _, layer in names)
    spikes = _read_spikes(spec, part)
    if ("spike_ids", last) in names:
        spikes.add(last)
    reads_membrane = last not in spikes or _reads_membrane_of_last(spec, part)

    def is_read(name: str, layer: int) -> bool:
        if name == "spike_ids":
            return layer in spikes
        if name == "membrane" and layer != last:
            return not _trains_on_device(spec) or (layer, MEMBRANE) in _values_of_equations(spec)
        if name == "membrane":
            return reads_membrane
        return name in ("spike_counts", "dropped")

    return losses + [first + place for place, of in enumerate(names) if is_read(*of)]


def _is_lif_convolution(part: Stretch) -> bool:
    return part.is_conv and not part.is_equations


def _read_spikes(spec: ExperimentSpec, part: Stretch) -> Set[int]:
    """Return the layers whose spikes the host reads; the first one of the part is 0."""
    found: Set[int] = set()
    for layer, what in _values_of_equations(spec):
        if what == SPIKES and layer in part.layers:
            found.add(part.layers.index(layer))
    for bound in _regularisers(spec):
        if bound.kind in ("lower", "upper"):
            numbers = bound.layers or [index + 1 for index in part.layers]
            found.update(at for at, index in enumerate(part.layers) if index + 1 in numbers)
    return found


def _reads_membrane_of_last(spec: ExperimentSpec, part: Stretch) -> bool:
    """Return whether the host reads the membrane of a part's last layer, which spikes."""
    last = len(spec.network.layers) if part.has_readout else part.layers[-1]
    if any(
        bound.kind == "membrane" and last in bounded_layers(bound, len(spec.network.layers))
        for bound in _regularisers(spec)
    ):
        return True
    if (last, MEMBRANE) in _values_of_equations(spec):
        return True
    return part.has_readout and any(
        MEMBRANE in names_in(equation_texts(each)) for each in _equations(spec)
    )


def _values_of_equations(spec: ExperimentSpec) -> Set[Tuple[int, str]]:
    """Return what equations on the host read of layers: index, membrane or spikes."""
    found: Set[Tuple[int, str]] = set()
    for described in _equations(spec):
        found |= values_read(spec.network, described)
    return found


def _equations(spec: ExperimentSpec) -> List[Any]:
    """Return the loss and the regularisers that the host computes from equations."""
    loss = [spec.training.loss] if has_own_loss(spec.training) else []
    return [*loss, *(each for each in _regularisers(spec) if each.kind == "equations")]


def _regularisers(spec: ExperimentSpec) -> Tuple[Any, ...]:
    """Return the regularisers that the host computes, none if the device computes the loss."""
    return () if _trains_on_device(spec) else tuple(spec.training.regularisers)


def _trains_on_device(spec: ExperimentSpec) -> bool:
    """Return whether loss and update are part of the device's program."""
    return bool(field_of(spec.device, "training") == "device")


def _of_batch(inputs: Any) -> List[int]:
    return [0, 1, *([2] if inputs[2] == ("int32", (2,)) else [])]
