"""The code that a spec names: whether ops were pushed, and fit their layers, as packages do."""

from __future__ import annotations

from ipulse.spec import AnySpec, ExperimentSpec
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.op_manifest.expressions import WrongSize
from ipulse_core.spec.custom_ops import (
    OpReference,
    indexed_ops,
    layer_weights,
    network_problems,
    op_layers,
    op_names,
)
from ipulse_core.spec.start_weights import Shape, start_shapes
from ipulse_service.agents import neuron_packages
from ipulse_service.db.engine import Transaction
from ipulse_service.ops import registry
from ipulse_service.ops.registry import OpRow


def names_op(spec: AnySpec) -> bool:
    """Returns whether a network of a spec has custom ops."""
    return isinstance(spec, ExperimentSpec) and bool(op_layers(spec.network))


def references(spec: AnySpec) -> list[OpReference]:
    """Returns the different custom ops that a spec names."""
    names = op_names(spec.network) if isinstance(spec, ExperimentSpec) else []
    return [OpReference.of(name) for name in names]


def check(transaction: Transaction, spec: AnySpec) -> list[OpRow]:
    """Returns the different ops that a resolved spec names.

    Raises InvalidSpec if one was not pushed, or does not fit a layer; and for a package of neurons
    that is not available.
    """
    if not isinstance(spec, ExperimentSpec):
        return []
    neuron_packages.check(transaction, spec)
    found = _pushed(transaction, spec)
    problems = [
        Problem(f"/network/layers/{index}/op", "op_unknown", _UNKNOWN)
        for index, layer in indexed_ops(spec.network)
        if layer.op not in found
    ]
    if not problems and found:
        problems = network_problems({name: op.parsed for name, op in found.items()}, spec)
    if problems:
        raise InvalidSpec(problems)
    return list(found.values())


def start_shapes_of(transaction: Transaction, spec: ExperimentSpec) -> dict[str, Shape] | None:
    """Returns the shapes of the arrays that a training changes.

    None if an op was deleted, or does not fit its layer, which `check` refuses.
    """
    found = _pushed(transaction, spec)
    layers = indexed_ops(spec.network)
    if any(layer.op not in found for _, layer in layers):
        return None
    try:
        own = {index: layer_weights(found[layer.op].parsed, spec, index) for index, layer in layers}
    except WrongSize:
        return None
    return start_shapes(spec, own)


def _pushed(transaction: Transaction, spec: ExperimentSpec) -> dict[str, OpRow]:
    rows = {
        name: registry.find(transaction, OpReference.of(name)) for name in op_names(spec.network)
    }
    return {name: row for name, row in rows.items() if row is not None}


_UNKNOWN = "no such op was pushed: `ipulse op push FOLDER` sends it, `ipulse op list` shows all"
