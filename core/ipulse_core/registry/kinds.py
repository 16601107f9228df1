"""The kinds of layers, neurons and devices as plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Mapping, Tuple

import ipulse_core.spec

_PARTS = Path(ipulse_core.spec.__file__).with_name("parts.json")


@dataclass(frozen=True)
class LayerKind:
    """A kind of layer: its connections, its neurons, and how a spec names it.

    name: key in the capability table.
    kind: value of `kind` in a spec.
    part: name of its fields in parts.json.
    connections: "dense", "conv1d", "conv2d" or "op".
    neurons: "lif", "leaky", "equations", "package" or "op".
    facts: the words by which refusals refer to networks with such a layer.
    implies: what the capability table assumes of specs with such a layer: features and facts.
    nir: nodes of a NIR file that the layer is written as; none if it is not exported.
    sentence: what it is.
    """

    name: str
    kind: str
    part: str
    connections: str
    neurons: str
    facts: Tuple[str, ...]
    nir: Tuple[str, ...]
    sentence: str
    implies: Tuple[str, ...] = ()

    @property
    def is_readout(self) -> bool:
        """True if the layer is the last one of a network."""
        return self.kind in ("leaky", "spiking")

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the layer by name, as in parts.json."""
        return parts()[self.part]


@dataclass(frozen=True)
class DeviceKind:
    """A kind of device.

    name: value of `device.kind` in a spec.
    part: name of its fields in parts.json.
    has_tiles: whether networks run as Poplar programs on the tiles of IPUs.
    is_everywhere: whether every machine has it, because it needs no special hardware.
    is_seen: whether the tests run on the device itself; else they run on a stand-in.
    sentence: what it is.
    """

    name: str
    part: str
    has_tiles: bool
    is_everywhere: bool
    is_seen: bool
    sentence: str

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the device by name, as in parts.json."""
        return parts()[self.part]


def _by_name(*kinds: Any) -> Dict[str, Any]:
    return {kind.name: kind for kind in kinds}


_DENSE_NIR = ("Affine", "Linear", "LIF", "CubaLIF", "IF")
_CONV_NIR = ("LIF", "IF", "SumPool2d", "AvgPool2d")
_CONV, _EQUATIONS = "convolution", "equations"

LAYER_KINDS: Mapping[str, LayerKind] = _by_name(
    LayerKind(
        name="dense",
        kind="dense",
        part="LayerSpec",
        connections="dense",
        neurons="lif",
        facts=(),
        nir=_DENSE_NIR,
        sentence="Fully connected LIF neurons",
    ),
    LayerKind(
        name="conv1d",
        kind="conv1d",
        part="Conv1DSpec",
        connections="conv1d",
        neurons="lif",
        facts=(_CONV,),
        nir=("Conv1d", *_CONV_NIR),
        sentence="A one-dimensional convolution with LIF neurons",
    ),
    LayerKind(
        name="conv2d",
        kind="conv2d",
        part="Conv2DSpec",
        connections="conv2d",
        neurons="lif",
        facts=(_CONV,),
        nir=("Conv2d", *_CONV_NIR),
        sentence="A two-dimensional convolution with LIF neurons",
    ),
    LayerKind(
        name="equations",
        kind="equations",
        part="EquationsLayerSpec",
        connections="dense",
        neurons="equations",
        facts=(_EQUATIONS,),
        nir=(),
        sentence="Fully connected neurons of your own equations",
    ),
    LayerKind(
        name="conv1d_equations",
        kind="conv1d",
        part="Conv1DSpec",
        connections="conv1d",
        neurons="equations",
        facts=(_CONV, _EQUATIONS),
        nir=(),
        sentence="A one-dimensional convolution with neurons of equations",
    ),
    LayerKind(
        name="conv2d_equations",
        kind="conv2d",
        part="Conv2DSpec",
        connections="conv2d",
        neurons="equations",
        facts=(_CONV, _EQUATIONS),
        nir=(),
        sentence="A two-dimensional convolution with neurons of equations",
    ),
    LayerKind(
        name="package",
        kind="package",
        part="PackageLayerSpec",
        connections="dense",
        neurons="package",
        facts=("package",),
        nir=(),
        sentence="Fully connected neurons of an installed package",
    ),
    LayerKind(
        name="op",
        kind="op",
        part="OpLayerSpec",
        connections="op",
        neurons="op",
        facts=("op",),
        nir=(),
        sentence="A custom op, which is connections and neurons at once",
    ),
    LayerKind(
        name="leaky",
        kind="leaky",
        part="LeakyReadoutSpec",
        connections="dense",
        neurons="leaky",
        facts=(),
        nir=("Affine", "Linear", "LI", "CubaLI"),
        sentence="A readout of leaky integrators",
    ),
    LayerKind(
        name="spiking",
        kind="spiking",
        part="SpikingReadoutSpec",
        connections="dense",
        neurons="lif",
        facts=(),
        nir=_DENSE_NIR,
        sentence="A readout of LIF neurons",
        implies=("spike_count",),
    ),
)

DEVICES: Mapping[str, DeviceKind] = _by_name(
    DeviceKind(
        name="cpu",
        part="CPUDevice",
        has_tiles=False,
        is_everywhere=True,
        is_seen=True,
        sentence="The C++ kernels in TensorFlow, on the processor of a worker.",
    ),
    DeviceKind(
        name="emulator",
        part="EmulatorDevice",
        has_tiles=True,
        is_everywhere=True,
        is_seen=True,
        sentence="The Poplar op on emulated IPUs, on the processor of a worker.",
    ),
    DeviceKind(
        name="ipu",
        part="IPUDevice",
        has_tiles=True,
        is_everywhere=False,
        is_seen=False,
        sentence="The Poplar op on IPUs, through Graphcore's TensorFlow.",
    ),
)
ON_TILES = tuple(name for name, device in DEVICES.items() if device.has_tiles)


def kind_of(layer: Any) -> LayerKind:
    """Returns the kind of a layer or readout of a spec."""
    has_equations = layer.kind in ("conv1d", "conv2d") and layer.neuron is not None
    return LAYER_KINDS[f"{layer.kind}_equations" if has_equations else layer.kind]


@lru_cache(maxsize=None)
def parts() -> Mapping[str, Mapping[str, Any]]:
    """Returns the fields of every part of a spec, by the part's name and the field's."""
    found: Mapping[str, Mapping[str, Any]] = json.loads(_PARTS.read_text("utf-8"))["parts"]
    return found
