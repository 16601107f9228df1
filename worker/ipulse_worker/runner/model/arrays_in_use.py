"""The weights of a training as its runs read them and as its results list them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

import numpy as np

from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.start_weights import (
    INTEGERS,
    SCALE,
    connection_delays,
    layer_names,
    start_shapes,
)
from ipulse_ops.quantisation import Quantisation, quantise
from ipulse_ops.training.standardised_weights import standardised

DEVIATION = "_weight_std"  # ending of the name of trained standard deviations

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def rule_of(layer: Any) -> Optional[Quantisation]:
    """Return how the weights of a layer of a spec are quantised; None if they are not."""
    described = field_of(layer, "quantisation")
    if described is None:
        return None
    return Quantisation(described.bits, described.scale, described.power_of_two)


def is_standardised(layer: Any) -> bool:
    """Return whether the input weights of a layer of a spec are standardised."""
    return bool(field_of(layer, "standardised"))


def arrays_in_use(spec: ExperimentSpec, arrays: Mapping[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """Return trained arrays by name, with weights as runs read them.

    Standardised weights contain their standard deviations, which are left out.
    """
    rules, found = _rules(spec), {}
    layers = zip(layer_names(spec.network), [*spec.network.layers, spec.network.readout])
    # The names are those of the spec: arrays of users' ops and equations may have any ending.
    deviations = {name: f"{name}{DEVIATION}" for name, layer in layers if is_standardised(layer)}
    delays = connection_delays(spec.network)
    rounded = [name for name, described in delays.items() if described.rounded]
    for name, array in arrays.items():
        if name in deviations.values():
            continue
        if name in rounded:
            array = np.round(array)
        if name in deviations:
            array = standardised(array, arrays[deviations[name]]).numpy()
        found[name] = quantise(array, rules[name]).weights if name in rules else array
    return found


def with_integers(spec: ExperimentSpec, arrays: Mapping[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """Return the arrays of weights.npz: `arrays`, then integers and scales."""
    found = dict(arrays)
    for name, rule in _rules(spec).items():
        quantised = quantise(arrays[name], rule)
        found[f"{name}{INTEGERS}"] = quantised.integers
        found[f"{name}{SCALE}"] = quantised.scale
    return found


def stored_bytes(spec: ExperimentSpec, arrays: Mapping[str, np.ndarray]) -> int:
    """Return the bytes of a network in use: of quantised weights the integers and scales."""
    found = with_integers(spec, arrays)
    return sum(a.nbytes for name, a in found.items() if f"{name}{INTEGERS}" not in found)


def _rules(spec: ExperimentSpec) -> Dict[str, Quantisation]:
    """Return the rule of every matrix that is quantised, by its name."""
    network, found = spec.network, {}
    shapes = start_shapes(spec)
    for name, layer in zip(layer_names(network), [*network.layers, network.readout]):
        rule = rule_of(layer)
        for matrix in (name, f"{name}_recurrent"):
            if rule is not None and matrix in shapes:
                found[matrix] = rule
    return found
