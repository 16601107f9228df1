"""The simulators that the trained network is exported for as NIR, and what they cannot run.

The service refuses an export with losses before the training. The runner repeats the check with the
trained constants.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, List, Mapping, Optional, Tuple

from ipulse_core.spec.composed_layers import is_in_nir
from ipulse_core.spec.conv_layers import is_conv
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.part_layers import part_layers

# The name of each target in messages.
SIMULATORS = {
    "generic": "NIR",
    "norse": "Norse",
    "snntorch": "snnTorch",
    "spikingjelly": "SpikingJelly",
    "sinabs": "Sinabs",
    "rockpool": "Rockpool",
}
# The resets that each runs: NIR with additional nodes, Norse by an argument.
_RESETS = {
    "generic": ("zero", "subtract", "none"),
    "norse": ("zero", "subtract"),
    "snntorch": ("zero",),
    "spikingjelly": ("zero",),
    "sinabs": ("subtract",),
    "rockpool": ("subtract",),
}
# Parts of the metadata of files, by which they are imported again.
EULER_DECAY = "decay = 1 - dt / tau"
UNSCALED_INPUT = "v = decay * v + I"
# Targets that spike as often in a step as the membrane has thresholds.
MULTIPLE_SPIKES = ("sinabs", "rockpool")
SUBTRACTED = "v_threshold is subtracted from v"
NO_ADAPTATION = "NIR has no neurons with thresholds that rise at each spike"
# NIR delays all spikes of a neuron alike: delays of synapses take a matrix for each delay.
MAX_DELAY_MATRICES = 256
NO_FRACTIONS = (
    "trained delays are between whole steps, which NIR does not express: set `rounded: true` of "
    "these delays, and the results are rounded to whole steps"
)
NO_ADDED_DELAYS = "spikes of residual additions are not delayed one by one"
# Targets with one threshold for a layer, and those with one decay as well.
ONE_THRESHOLD = ("snntorch", "spikingjelly", "sinabs")
ONE_DECAY = ("spikingjelly", "sinabs")
# Targets that run recurrent layers as NIR defines them.
_RECURRENT = ("generic", "norse", "spikingjelly")
# Weights for snnTorch are divided by the threshold. With this one, weights up to 10^18 still fit
# into float32.
SMALLEST_THRESHOLD = 1e-20


def file_name(target: str) -> str:
    """Returns the name of the file that is exported for the target."""
    return f"network.{target}.nir"


def losses(
    network: Any, target: str, trained: Optional[Mapping[str, Any]] = None
) -> List[Tuple[str, str]]:
    """Lists what a target cannot run: the JSON pointer in the spec, and the loss.

    Args:
        network: Of the spec.
        target: One of SIMULATORS.
        trained: Trained arrays by name; a threshold among them replaces that of the spec.
    """
    return list(_losses(network, target, trained or {}))


def nir_targets(spec: Any) -> List[str]:
    """Lists the targets that can run a spec's network, apart from what its training decides."""
    network = spec.network
    if part_layers(network) or not is_in_nir(spec):
        return []
    return [target for target in SIMULATORS if not losses(network, target)]


def _losses(network: Any, target: str, trained: Mapping[str, Any]) -> Iterator[Tuple[str, str]]:
    name = SIMULATORS[target]
    if network.reset not in _RESETS[target]:
        subtracts = _RESETS[target] == ("subtract",)
        does = "subtracts the threshold from v" if subtracts else "sets v to 0"
        yield (
            "/network/reset",
            f"the reset: {name} {does} after a spike, and this network's reset is {network.reset}",
        )
    hidden = len(network.layers)
    delays = input_delays(network) if target != "generic" else []
    if any(delays):
        index = next(index for index, delay in enumerate(delays) if delay)
        pointer = f"/network/layers/{index}/delay" if index < hidden else "/network/readout/delay"
        pointer = "/network/delay" if network.delay else pointer
        yield pointer, f"the delay: {name} reads no Delay node"
    for index, layer in enumerate([*network.layers, network.readout]):
        pointer = f"/network/layers/{index}" if index < hidden else "/network/readout"
        array = f"layer_{index + 1}" if index < hidden else "readout"
        place = pointer[1:].replace("/", ".")

        def values(field: str, layer: Any = layer, array: str = array) -> List[float]:
            found = trained.get(f"{array}_{field}", getattr(layer, field, None))
            return [] if found is None else list(_numbers(found))

        if target in ONE_THRESHOLD and min(values("threshold"), default=1.0) < SMALLEST_THRESHOLD:
            yield (
                f"{pointer}/threshold",
                f"thresholds below {SMALLEST_THRESHOLD} of {place}: weights are divided by them, "
                "which float32 cannot hold",
            )
        for field in ("decay", "synapse_decay") if target in ONE_DECAY else ():
            if len(set(values(field))) > 1 or (values(field) and field in network.trainable):
                yield (
                    f"{pointer}/{field}",
                    f"that neurons of {place} differ in {field}: {name} has one for a layer",
                )
        if target == "rockpool" and is_conv(layer):
            yield pointer, f"the convolution {place}: Rockpool reads none from NIR"
        if target == "rockpool" and index == hidden and layer.kind == "leaky":
            yield f"{pointer}/kind", "the leaky readout: Rockpool reads no LI of NIR; let it spike"
        if field_of(layer, "delays") is not None:
            reason = delays_left_out(network)
            if reason is None and target != "generic":
                reason = f"{name} reads no Delay node"
            if reason is not None:
                yield f"{pointer}/delays", f"the delays of the connections to {place}: {reason}"
        if field_of(layer, "adaptation") is not None:
            yield f"{pointer}/adaptation", f"the adaptive thresholds of {place}: {NO_ADAPTATION}"
        if field_of(layer, "residual") and target != "generic":
            yield f"{pointer}/residual", f"the residual addition of {place}: {name} runs chains"
        if field_of(layer, "recurrent") and target not in _RECURRENT:
            is_other = target == "snntorch"
            runs = "runs recurrent layers of NIR differently" if is_other else "runs no loops"
            yield f"{pointer}/recurrent", f"the recurrence of {place}: {name} {runs}"


def delays_left_out(network: Any) -> Optional[str]:
    """Returns why NIR cannot have the delays of a network's connections, or None."""
    layers = [*network.layers, network.readout]
    found = [field_of(layer, "delays") for layer in layers]
    for delays in found:
        if delays is None:
            continue
        if delays.per == "synapse" and delays.longest >= MAX_DELAY_MATRICES:
            return (
                f"NIR has a matrix for each delay of synapses, of which {delays.longest + 1:,} are "
                f"possible: at most {MAX_DELAY_MATRICES} are exported"
            )
        if delays.per == "neuron" and not delays.rounded:
            return NO_FRACTIONS
    if any(found) and any(field_of(layer, "residual") for layer in layers):
        return NO_ADDED_DELAYS
    return None


def _numbers(value: Any) -> Iterable[float]:
    """Returns the numbers of a constant, which has one value or one per neuron."""
    return [value] if isinstance(value, (int, float)) else value
