"""The custom ops of a spec: whether they were pushed, and fit their layers."""

from __future__ import annotations

from ipulse.spec import AnySpec, ExperimentSpec
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.op_manifest.layer import OpReference, indexed_ops, network_problems, op_layers
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
    if not isinstance(spec, ExperimentSpec):
        return None
    layers = indexed_ops(spec.network)
    if not layers:
        return None
    found = registry.find(transaction, OpReference.of(layers[0][1].op))  # the others name it, too
    if found is None:
        places = [f"/network/layers/{index}/op" for index, _ in layers]
        raise InvalidSpec([Problem(place, "op_unknown", _UNKNOWN) for place in places])
    problems = network_problems(found.parsed, spec)
    if problems:
        raise InvalidSpec(problems)
    return found


_UNKNOWN = "no such op was pushed: `ipulse op push FOLDER` sends it, `ipulse op list` shows all"
