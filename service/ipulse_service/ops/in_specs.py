"""The custom ops of a spec: whether they were pushed, and fit their layers."""

from __future__ import annotations

from collections.abc import Iterator

from ipulse.spec import AnySpec, ExperimentSpec, OpLayerSpec
from ipulse.spec.sizes import layer_sizes
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.op_manifest.layer import LayerSizes, OpReference, layer_problems, op_layers
from ipulse_service.db.engine import Transaction
from ipulse_service.ops import registry
from ipulse_service.ops.registry import OpRow


def names_op(spec: AnySpec) -> bool:
    """Returns whether a network of a spec has custom ops."""
    return isinstance(spec, ExperimentSpec) and bool(op_layers(spec.network))


def check(transaction: Transaction, spec: AnySpec) -> OpRow | None:
    """Returns the op that a resolved spec names, None if it names none.

    Raises InvalidSpec if it was not pushed, or does not fit a layer.
    """
    if not isinstance(spec, ExperimentSpec) or not op_layers(spec.network):
        return None
    found: OpRow | None = None
    problems: list[Problem] = []
    sizes = layer_sizes(spec)
    for index, layer in enumerate(spec.network.layers):
        if not isinstance(layer, OpLayerSpec):
            continue
        pointer = f"/network/layers/{index}"
        found = registry.find(transaction, OpReference.of(layer.op))
        if found is None:
            problems.append(Problem(f"{pointer}/op", "op_unknown", _UNKNOWN))
            continue
        of_layer = LayerSizes(
            spec.data.steps, spec.training.batch_size, sizes[index], layer.neurons
        )
        problems += _placed(found, layer, of_layer, spec.device.kind, pointer)
    if problems:
        raise InvalidSpec(problems)
    return found


def _placed(
    op: OpRow, layer: OpLayerSpec, sizes: LayerSizes, device: str, pointer: str
) -> Iterator[Problem]:
    for problem in layer_problems(op.parsed, layer.attributes, sizes, device):
        yield Problem(f"{pointer}{problem.pointer}", problem.code, problem.detail)


_UNKNOWN = "no such op was pushed: `ipulse op push FOLDER` sends it, `ipulse op list` shows all"
