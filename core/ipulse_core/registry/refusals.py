"""Features that do not run on a back end, alone or with others, as plain data with the reasons.

The rules at submission, the errors of the ops and of the Keras layers, and the capability table
come from this list. A back end is a kind of device; "poplar_op", one program of the Poplar op on
either kind of IPUs; "cell", a layer of `ipulse_ops.keras` that runs one time step; or "step_op",
the Poplar op of one time step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple

from ipulse_core.equations.neuron import MOST_TABLE_VALUES
from ipulse_core.errors import Problem
from ipulse_core.ipu import MOST_SENDERS
from ipulse_core.neurons.constants import TRAINED
from ipulse_core.registry.features import FEATURES, Use, uses_in_network, uses_of
from ipulse_core.registry.kinds import DEVICES, ON_TILES

NOT_WRITTEN = "not written"  # nobody wrote it yet
MATHEMATICS = "mathematics"  # it has no meaning
MEMORY = "memory"  # it does not fit
POPLAR_OP, CELL, STEP_OP = "poplar_op", "cell", "step_op"
EVERY = (*DEVICES, POPLAR_OP)
TILES = (*ON_TILES, POPLAR_OP)
IPU, EMULATOR = ("ipu",), ("emulator",)
_NAMES = {POPLAR_OP: "the Poplar op", STEP_OP: "the Poplar op of one step"}


@dataclass(frozen=True)
class Refusal:
    """A feature that does not run on some back ends, alone or with some others.

    feature: a name of FEATURES, or of what `uses_of` finds besides. The problem is at its place.
    reason, fix: sentences with {device}, {value} of the place, {other}: the place of the last name
        in `combined_with`, and {field} of the feature. Without a value, "; got {value}" is left
        out.
    on: the back ends.
    combined_with: names that must be there, too: in the same layer, if `same_layer`.
    at: JSON pointer of the problem; None: the place that asks for the feature.
    cause: NOT_WRITTEN, MATHEMATICS or MEMORY.
    code: of the problem.
    """

    feature: str
    reason: str
    fix: str = "remove it"
    on: Tuple[str, ...] = EVERY
    combined_with: Tuple[str, ...] = ()
    same_layer: bool = False
    at: Optional[str] = None
    cause: str = NOT_WRITTEN
    code: str = "unsupported"

    def text(self, on: str, value: Any = None, other: str = "a layer") -> str:
        """Returns reason and fix for a back end."""
        field = FEATURES[self.feature].root if self.feature in FEATURES else ""
        device = _NAMES.get(on, on)
        shown = f"{value:,}" if isinstance(value, int) else value
        reason = self.reason.replace(_GOT, "") if value is None else self.reason
        return f"{reason}: {self.fix}".format(device=device, value=shown, other=other, field=field)


_GOT = "; got {value}"
_CPU_OR_EMULATOR = "remove it, or use device kind cpu or emulator"
# Layers that run as parts of their own, and what a network with them has, for messages.
_PARTS = {"op": "custom ops", "package": "packages of neurons", "equations": "equations"}
_NO_SINGLE_PROGRAM = {
    "dropout": "dropout",
    "residual": "residual additions",
    "synapse_delays": "delays of connections",
    "trained_delays": "delays of connections",
    "long_delay": "delays of more than a step",
    "layer_delay": "delays of more than a step",
}
_ON_HOST = "{field} is not part of a training step on the device"
_TO_HOST = "remove it, or set device.training to host"


def _with_parts(
    feature: str, reason: str, fix: str = "remove it", **more: Any
) -> Iterator[Refusal]:
    """Yields a refusal for each layer that runs as a part; {parts} names them."""
    for part, parts in _PARTS.items():
        yield Refusal(feature, reason.replace("{parts}", parts), fix, combined_with=(part,), **more)


def _with_programs(feature: str, reason: str, fix: str, **more: Any) -> Iterator[Refusal]:
    """Yields a refusal for each layer that is a program of its own on tiles."""
    yield from _with_parts(feature, reason, fix, **more)
    reason = reason.replace("{parts}", "convolutions")
    yield Refusal(feature, reason, fix, combined_with=("convolution",), **more)


def _of_constants() -> Iterator[Refusal]:
    for name in TRAINED:
        detail = f"{name} cannot be trained in a network with convolutions on {{device}}"
        yield Refusal(
            f"trained_{name}", detail, _CPU_OR_EMULATOR, on=IPU, combined_with=("convolution",)
        )
    yield Refusal(
        "trained_decay",
        "decays cannot be trained on {device}, which has no float64 to derive scales in",
        "remove decay",
        on=IPU,
        at="/network/trainable",
    )


def _of_layers() -> Iterator[Refusal]:
    yield Refusal(
        "convolution_behind_dense",
        "convolutions come before all dense layers, which have neurons without height and width",
        "move it before them",
    )
    yield Refusal(
        "residual_over_parts",
        "a dense layer behind another one receives spikes of the dense layers before it only",
        "remove it, or list the layer in the first dense layer behind it",
    )
    for name, reason in (
        ("per_neuron", "the filters of a convolution have the same constants on {device}"),
        ("synapse", "the neurons of a convolution have no synapses on {device}"),
        ("adaptation", "thresholds of a convolution do not adapt on {device}"),
        ("recurrent", "the neurons of a convolution do not receive their own spikes on {device}"),
        ("capacity", "a convolution has one slot per neuron on {device}"),
        ("growing_capacity", "a convolution has one slot per neuron on {device}"),
        ("cyclic", "a convolution has one slot per neuron on {device}"),
        ("top", "a convolution has one slot per neuron on {device}"),
    ):
        yield Refusal(
            *(name, reason, _CPU_OR_EMULATOR, IPU),
            combined_with=("convolution",),
            same_layer=True,
        )
    for name in ("capacity", "growing_capacity", "cyclic"):
        yield Refusal(
            *(name, "a custom op has one slot per neuron on {device}", _CPU_OR_EMULATOR, IPU),
            combined_with=("op",),
            same_layer=True,
        )
    for part, has in (("op", "a custom op returns"), ("package", "a package of neurons returns")):
        yield Refusal(
            "top",
            f"{has} spikes, and no membranes of which some are the highest",
            "choose index or cyclic",
            combined_with=(part,),
            same_layer=True,
            cause=MATHEMATICS,
        )
    for name, reason in (
        ("residual", "layers receive one layer on {device}"),
        ("dropout", "spikes are not dropped on {device}"),
        ("standardised", "weights are not standardised on {device}"),
        ("quantisation", "weights are not quantised on {device}"),
    ):
        yield Refusal(name, reason, _CPU_OR_EMULATOR, on=IPU)
    for name in ("capacity", "growing_capacity"):
        yield Refusal(
            name,
            "a recurrent layer with a package sends all its spikes",
            "remove one of the two",
            combined_with=("recurrent", "package"),
            same_layer=True,
        )
        for part, what in (("equations", "equations"), ("convolution", "a convolution")):
            yield Refusal(
                name,
                f"on {{device}} a recurrent layer with {what} sends all its spikes",
                "remove one of the two, or use device kind cpu",
                on=EMULATOR,
                combined_with=("recurrent", part),
                same_layer=True,
            )
    yield Refusal(
        "top",
        "thresholds cannot adapt with top on {device}",
        "choose index or cyclic",
        on=TILES,
        combined_with=("adaptation",),
        same_layer=True,
    )
    yield Refusal(
        "gate",
        "training.second_threshold_ramp changes second thresholds, and no gate",
        "remove the gate or the ramp",
        combined_with=("ramp",),
    )
    yield Refusal(
        "average_before_op",
        "an average divides the input weights of the layer behind it, and a custom op has none",
        "choose sum",
        cause=MATHEMATICS,
    )
    yield Refusal(
        "package",
        "packages of neurons have kernels for the device cpu only, and do not run on {device}",
        "use device kind cpu",
        on=ON_TILES,
    )
    yield Refusal(
        "equations",
        "equations do not run on {device}",
        "use device kind cpu or emulator",
        on=IPU,
    )
    yield Refusal(
        "op",
        "custom ops and convolutions are not in one network on {device}",
        "use device kind cpu or emulator",
        on=IPU,
        combined_with=("convolution",),
    )


def _of_delays() -> Iterator[Refusal]:
    reason = f"spikes take 0 steps or 1{_GOT}"
    one = "choose one of these"
    on_host = "where device.training is device"
    for name in ("synapse_delays", "trained_delays"):
        no_own = "connections have no delays of their own"
        yield Refusal(name, f"on {{device}} {no_own}", on=(*IPU, POPLAR_OP))
        for other, where in (
            ("device_training", on_host),
            ("rounded_weights", "where device.weights_dtype is not float32"),
            ("truncation", "where gradients are truncated"),
        ):
            yield Refusal(name, f"{where} {no_own}", combined_with=(other,))
    yield Refusal("long_delay", f"on {{device}} {reason}", one, on=(*IPU, POPLAR_OP))
    yield Refusal("long_delay", f"{on_host} {reason}", one, combined_with=("device_training",))
    no_own, set_all = "layers have no delay of their own", "remove it, or set network.delay"
    yield Refusal("layer_delay", f"on {{device}} {no_own}", set_all, on=(*IPU, POPLAR_OP))
    for other, where in (
        ("device_training", on_host),
        ("residual", "in a network with residual additions"),
    ):
        yield Refusal("layer_delay", f"{where} {no_own}", set_all, combined_with=(other,))


def _of_network() -> Iterator[Refusal]:
    yield Refusal(
        "reset_gradient_none",
        f"where thresholds adapt, the gradient of the reset is mask or term on {{device}}{_GOT}",
        "choose one of these",
        on=TILES,
        combined_with=("adaptation",),
    )
    yield Refusal(
        "long_table",
        f"neurons with equations have tables of at most {MOST_TABLE_VALUES} values{_GOT}",
        "use fewer values",
        combined_with=("equations",),
    )


def _of_training() -> Iterator[Refusal]:
    for part, has in (("op", "a custom op returns"), ("package", "a package of neurons returns")):
        more: Any = {"combined_with": (part,), "same_layer": True, "cause": MATHEMATICS}
        bound = f"{has} spikes, and no membranes to bound"
        yield Refusal("membrane_bound", bound, "list the other layers in its layers", **more)
        read = f"{has} spikes, and no membranes that equations read"
        yield Refusal("layer_membrane", read, "read its spikes", **more)
    membranes = "membranes cannot be bounded in a network with {parts} on {device}"
    yield from _with_programs("membrane_bound", membranes, _CPU_OR_EMULATOR, on=IPU)
    membranes = "equations cannot read membranes of hidden layers in a network with {parts}"
    membranes += " on {device}"
    yield from _with_programs("layer_membrane", membranes, "read their spikes", on=IPU)
    gradients = "gradients are not truncated"
    yield Refusal(
        "truncation",
        f"{gradients} where device.memory is recompute",
        on=TILES,
        combined_with=("recompute",),
    )
    yield Refusal(
        "truncation",
        f"{gradients} in a network with convolutions on {{device}}",
        _CPU_OR_EMULATOR,
        on=IPU,
        combined_with=("convolution",),
    )
    yield Refusal("truncation", f"{gradients} where spikes are delayed", combined_with=("delayed",))
    yield Refusal(
        "truncation",
        "packages return the gradients of their parameters as sums over all steps of a sample",
        "do not train them, or remove it",
        combined_with=("package_parameters",),
    )
    yield Refusal(
        "first_spikes",
        "times of first spikes are not computed on {device}",
        "use a loss of spike counts",
        on=IPU,
    )


def _of_devices() -> Iterator[Refusal]:
    whole, one_ipu = f"a network with {{parts}} is on one IPU{_GOT}", "set ipus to 1"
    yield from _with_programs("several_ipus", whole, one_ipu, on=ON_TILES)
    for name, what in _NO_SINGLE_PROGRAM.items():
        reason = f"layers with {what} are programs of their own, on one IPU{_GOT}"
        yield Refusal("several_ipus", reason, one_ipu, on=EMULATOR, combined_with=(name,))
    on_host, host = (
        "the loss of a network with {parts} is on the host",
        "set device.training to host",
    )
    yield from _with_programs("device_training", on_host, host, on=EMULATOR)
    states = "the states of a network with {parts} are float32"
    yield from _with_programs("half_states", states, "remove it", on=ON_TILES)
    yield Refusal(
        "recompute",
        "where thresholds adapt, all steps are stored",
        "use slots",
        on=TILES,
        combined_with=("adaptation",),
    )
    yield Refusal(
        "rounded_weights",
        "the weights of {other} are quantised and not rounded again",
        combined_with=("quantisation",),
        code="inconsistent",
        cause=MATHEMATICS,
    )
    yield Refusal(
        "precompile",
        "a training with custom ops has an executable cache of its own, which ends with it",
        "use another connection type, such as NEVER to see whether it compiles",
        on=IPU,
        combined_with=("op",),
    )
    yield from _with_parts("nir", "NIR has no nodes for {parts}", cause=MATHEMATICS)
    yield Refusal(
        "profile_gates",
        "cpu has no profile of tiles to compare with",
        "use device.kind emulator or ipu",
        on=("cpu",),
        cause=MATHEMATICS,
    )
    yield Refusal(
        "profile_gates",
        f"no program runs with this device.connection_type{_GOT}",
        "use ALWAYS or ON_DEMAND",
        on=ON_TILES,
        combined_with=("only_compiles",),
        cause=MATHEMATICS,
    )


def _of_device_training() -> Iterator[Refusal]:
    """Yields what a step that runs on the device as a whole does not have."""
    more: Any = {"on": EMULATOR, "combined_with": ("device_training",)}
    yield Refusal(
        "first_spikes",
        "times of first spikes are not part of a training step on the device",
        "use spike counts, or set device.training to host",
        **more,
    )
    for name in TRAINED:
        yield Refusal(f"trained_{name}", _ON_HOST, _TO_HOST, at="/network/trainable", **more)
    for name in ("dropout", "residual", "standardised", "quantisation"):
        yield Refusal(name, _ON_HOST, _TO_HOST, **more)


def _of_sizes() -> Iterator[Refusal]:
    yield Refusal(
        "many_channels",
        f"ids have 16 bits on {{device}}: at most {MOST_SENDERS:,} of a layer or input{_GOT}",
        "use fewer",
        on=(POPLAR_OP,),
        cause=MEMORY,
    )
    yield Refusal(
        "more_ipus_than_layers",
        f"each layer is on one IPU: no more IPUs than layers are used{_GOT}",
        "use fewer, or split neurons",
        on=TILES,
        cause=MATHEMATICS,
    )
    yield Refusal(
        "top_over_ipus",
        "top compares membranes on {device}, and only ids are sent between IPUs",
        "keep layers whole, on at most as many IPUs as layers",
        on=TILES,
    )


def _of_cells() -> Iterator[Refusal]:
    """Yields what a Keras layer of one time step does not have."""
    many = "use MultiLIF"
    for name, reason, fix in (
        ("dropout", "cells have no dropout", "use MultiLIF, LIFLayer or LIFReadout"),
        ("residual", "cells have no residual additions", many),
        ("long_delay", "the delay of cells must be 0 or 1" + _GOT, many),
        ("layer_delay", "cells have one delay for all layers", many),
        ("synapse_delays", "cells have no delays of connections", many),
        ("trained_delays", "cells have no delays of connections", many),
        ("truncation", "cells do not truncate gradients", many),
        ("adaptation", "cells have no adaptive thresholds", "use MultiLIF or LIFLayer"),
    ):
        yield Refusal(name, reason, fix, on=(CELL,))
    yield Refusal("cyclic", "{device} does not support the policy cyclic", many, on=(STEP_OP,))


REFUSALS: Tuple[Refusal, ...] = (
    *(*_of_layers(), *_of_constants(), *_of_delays(), *_of_network(), *_of_training()),
    *(*_of_devices(), *_of_device_training(), *_of_sizes(), *_of_cells()),
)


def problems(spec: Any) -> List[Problem]:
    """Returns the features of a spec that its device does not run, without `network_problems`."""
    return list(dict.fromkeys(_problems(uses_of(spec), _OF_SPEC, spec.device.kind)))


def network_problems(network: Any) -> List[Problem]:
    """Returns the features of a network that no device runs; pointers begin at the network."""
    return list(_problems(uses_in_network(network), _OF_NETWORK, "cpu"))


def refusals(names: Sequence[str], on: str) -> List[Refusal]:
    """Returns what a back end refuses of features and facts that are used together."""
    return [
        each
        for each in REFUSALS
        if on in each.on and {each.feature, *each.combined_with} <= {*names}
    ]


def refusal_of(feature: str, on: str, combined_with: Sequence[str] = ()) -> Refusal:
    """Returns why a back end does not have a feature, alone or with others."""
    found = refusals([feature, *combined_with], on)
    return next(each for each in found if each.feature == feature)


def _problems(
    uses: Mapping[str, List[Use]], listed: Sequence[Refusal], on: str
) -> Iterator[Problem]:
    """Yields the first problem of each place that uses a feature."""
    done = set()
    for refusal in listed:
        if on not in refusal.on or not all(name in uses for name in refusal.combined_with):
            continue
        for use in uses.get(refusal.feature, ()):
            combined_with = [uses[name] for name in refusal.combined_with]
            if refusal.same_layer:
                combined_with = [
                    [each for each in of if each.layer == use.layer] for of in combined_with
                ]
            if not all(combined_with) or (refusal.feature, use.pointer) in done:
                continue
            done.add((refusal.feature, use.pointer))
            last = combined_with[-1][0].pointer.rpartition("/")[0] if combined_with else ""
            pointer = use.pointer if refusal.at is None else refusal.at
            yield Problem(pointer, refusal.code, refusal.text(on, use.value, last))


_FACTS_OF_NETWORK = {
    "convolution",
    "equations",
    "package",
    "op",
    "convolution_behind_dense",
    "residual_over_parts",
    "long_table",
    "delayed",
}


def _is_of_network(refusal: Refusal) -> bool:
    """Returns whether a refusal depends on the network alone."""
    return refusal.on == EVERY and all(
        name in _FACTS_OF_NETWORK
        or (name in FEATURES and FEATURES[name].place in ("layer", "network"))
        for name in (refusal.feature, *refusal.combined_with)
    )


_OF_NETWORK = tuple(filter(_is_of_network, REFUSALS))
_OF_SPEC = tuple(refusal for refusal in REFUSALS if refusal not in _OF_NETWORK)
