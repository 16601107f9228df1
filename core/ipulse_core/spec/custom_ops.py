"""Checks that a custom op fits as a layer of a network."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ipulse_core.errors import Problem
from ipulse_core.op_manifest.attributes import resolve_attributes
from ipulse_core.op_manifest.expressions import WrongSize
from ipulse_core.op_manifest.manifest import NAME, OpManifest, integers, shape_of
from ipulse_core.op_manifest.weights import MAX_ELEMENTS
from ipulse_core.spec.conv_layers import senders_of

REFERENCE = rf"^{NAME}@sha256:[0-9a-f]{{64}}$"
Shape = Tuple[int, ...]
# The names that the shapes of a layer's op may use besides its integer attributes.
MAX_OPS = 8  # different ones in a network: each has a process of its own
SIZES = ("steps", "batch", "senders", "neurons")


class OpReference(NamedTuple):
    """A pushed op as a spec names it."""

    name: str
    digest: str  # SHA-256 of its package

    @classmethod
    def of(cls, text: str) -> OpReference:
        """Returns the parts of `NAME@sha256:DIGEST`."""
        name, _, digest = text.partition("@")
        return cls(name, digest.rpartition(":")[2])

    def __str__(self) -> str:
        return f"{self.name}@sha256:{self.digest}"


class LayerSizes(NamedTuple):
    """The sizes of a layer in a network."""

    steps: int
    batch: int
    senders: int
    neurons: int


def is_op(layer: Any) -> bool:
    """Returns whether a layer of a spec is a custom op."""
    return bool(layer.kind == "op")


def op_layers(network: Any) -> List[Any]:
    """Returns the custom ops among the hidden layers of a spec's network."""
    return [layer for layer in network.layers if is_op(layer)]


def indexed_ops(network: Any) -> List[Tuple[int, Any]]:
    """Returns the custom ops of a network with their indices among the hidden layers, from 0."""
    return [(index, layer) for index, layer in enumerate(network.layers) if is_op(layer)]


def op_names(network: Any) -> List[str]:
    """Returns the different custom ops of a network as its layers name them, in order."""
    return list(dict.fromkeys(layer.op for layer in op_layers(network)))


def network_problems(manifests: Mapping[str, OpManifest], spec: Any) -> List[Problem]:
    """Returns why custom ops do not fit the layers of a spec, which is resolved.

    manifests: of each of `op_names`.
    """
    problems: List[Problem] = []
    for index, layer in indexed_ops(spec.network):
        manifest = manifests[layer.op]
        sizes = _sizes_of(spec, index)
        for problem in _layer_problems(manifest, layer.attributes, sizes, spec.device.kind):
            pointer = f"/network/layers/{index}{problem.pointer}"
            problems.append(Problem(pointer, problem.code, problem.detail))
    if not problems and not _is_trained(manifests, spec.network):
        detail = "no weights are left to train: leave out `trained: false` of one layer"
        problems.append(Problem("/network/layers", "inconsistent", detail))
    return problems


def _is_trained(manifests: Mapping[str, OpManifest], network: Any) -> bool:
    return any(
        layer.trainable
        and (not is_op(layer) or any(each.trainable for each in manifests[layer.op].weights))
        for layer in (*network.layers, network.readout)
    )


def layer_weights(manifest: OpManifest, spec: Any, index: int) -> Dict[str, Shape]:
    """Returns the shapes of the weights of an op that fits a layer, by their names in the op."""
    layer = spec.network.layers[index]
    declared = {} if isinstance(manifest.attributes, str) else manifest.attributes
    values = resolve_attributes(declared, layer.attributes, [])
    return _weight_shapes(manifest, _sizes_of(spec, index), integers(values))


def _weight_shapes(
    manifest: OpManifest, sizes: LayerSizes, attributes: Dict[str, int]
) -> Dict[str, Shape]:
    names = {**attributes, "senders": sizes.senders, "neurons": sizes.neurons}
    return {weight.name: shape_of(weight, names) for weight in manifest.weights}


def _sizes_of(spec: Any, index: int) -> LayerSizes:
    senders = senders_of(spec)[index]
    neurons = spec.network.layers[index].neurons
    return LayerSizes(spec.data.steps, spec.training.batch_size, senders, neurons)


def _layer_problems(
    manifest: OpManifest, given: Mapping[str, Any], sizes: LayerSizes, device: str
) -> List[Problem]:
    """Returns why an op does not fit a layer; pointers begin at the layer.

    Args:
        manifest: of the op.
        given: the attributes in the spec.
        sizes: of the layer.
        device: the kind of device.
    """
    problems: List[Problem] = []
    declared = {} if isinstance(manifest.attributes, str) else manifest.attributes
    wrong: List[Problem] = []
    values = resolve_attributes(declared, given, wrong)
    problems += [Problem(f"/attributes{p.pointer}", p.code, p.detail) for p in wrong]
    unfit = _unfit(manifest, device)
    if unfit is not None:
        problems.append(Problem("/op", "unsupported", unfit))
    if not problems:
        problems += _shape_problems(manifest, sizes, integers(values))
    return problems


def _unfit(manifest: OpManifest, device: str) -> Optional[str]:
    if device != "cpu" and not manifest.sources:
        return f"the op has no Poplar source for the device {device}: list it in op.json"
    if len(manifest.inputs) != 1 or len(manifest.outputs) != 1:
        return (
            "the op of a layer has one input, the spikes of the layer before, and one output; this "
            f"one has {len(manifest.inputs)} and {len(manifest.outputs)}"
        )
    if (manifest.inputs[0].dtype, manifest.outputs[0].dtype) != ("float32", "float32"):
        return "the op of a layer takes and returns float32"
    if 0 not in manifest.gradients:
        name = manifest.inputs[0].name
        return f'the layers before could not learn: list "{name}" in the gradients of the op'
    return None


def _shape_problems(
    manifest: OpManifest, sizes: LayerSizes, attributes: Dict[str, int]
) -> List[Problem]:
    names = {**attributes, **sizes._asdict()}
    try:
        entering = shape_of(manifest.inputs[0], names)
        leaving = shape_of(manifest.outputs[0], names)
        weights = _weight_shapes(manifest, sizes, attributes)
    except WrongSize as error:
        return [Problem("/op", "wrong_shape", f"the shapes of the op do not fit: {error}")]
    wanted = (sizes.steps, sizes.batch, sizes.senders)
    if entering != wanted:
        detail = f"the op takes {_text(entering)}, and the layer before sends {_text(wanted)}"
        return [Problem("/op", "wrong_shape", f"{detail} (steps x batch x neurons)")]
    if leaving[:2] != (sizes.steps, sizes.batch) or len(leaving) != 3:
        detail = f"the op returns {_text(leaving)} and not steps x batch x neurons"
        return [Problem("/op", "wrong_shape", detail)]
    if leaving[2] != sizes.neurons:
        detail = f"the op returns {leaving[2]:,} neurons for {sizes.senders:,} senders"
        return [Problem("/neurons", "wrong_shape", f"{detail}; got {sizes.neurons:,}")]
    for name, shape in weights.items():
        if math.prod(shape) > MAX_ELEMENTS:
            detail = (
                f"the op's {name} is {_text(shape)}; at most {MAX_ELEMENTS:,} values are allowed"
            )
            return [Problem("/op", "wrong_shape", detail)]
    return []


def _text(shape: Shape) -> str:
    return " x ".join(f"{size:,}" for size in shape)
