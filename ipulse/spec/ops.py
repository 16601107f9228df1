"""The rules between custom ops in a network, the training and the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse_core.errors import Problem
from ipulse_core.op_manifest.layer import is_op, op_layers

if TYPE_CHECKING:
    from .experiment import ExperimentSpec


def op_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields what cannot be combined with custom ops."""
    if not op_layers(spec.network):
        return
    for index, layer in enumerate(spec.network.layers):
        if is_op(layer) and spec.device.kind != "cpu":
            detail = f"custom ops run on the device cpu only; got {spec.device.kind}"
            yield Problem(f"/network/layers/{index}/op", "unsupported", detail)
    for number, bound in enumerate(spec.training.regularisers):
        if bound.kind == "membrane":
            detail = "membranes cannot be bounded in a network with custom ops: remove it"
            yield Problem(f"/training/regularisers/{number}/kind", "unsupported", detail)
