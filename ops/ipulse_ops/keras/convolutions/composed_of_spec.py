"""Convolutions of a spec that run as two ops: connections and neurons.

The spec is `ipulse.spec.ExperimentSpec` or the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, Dict

import numpy as np

from ipulse_core.neurons.constants import ROWS
from ipulse_core.spec.conv_layers import conv_geometries, scale_before
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_values import reads_membrane
from ipulse_core.spec.part_layers import is_recurrent
from ipulse_core.spec.start_weights import constant_of, trained_constants
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.lif_neurons import lif_equations
from ipulse_ops.keras.convolutions.composed import ComposedConvolution
from ipulse_ops.lif.network import LIF
from ipulse_ops.surrogate import Surrogate


def filter_neurons(layer: Any) -> LIF:
    """Return the neurons of one pixel of a convolution, one for each filter."""
    adaptation = field_of(layer, "adaptation")
    constants: Dict[str, Any] = {row.name: constant_of(layer, row.name) for row in ROWS}
    for name, value in constants.items():
        constants[name] = np.array(value) if isinstance(value, tuple) else value
    return LIF(
        neurons=layer.filters,
        bias=layer.bias,
        detach_adaptation=adaptation is not None and adaptation.detach,
        **constants,
    )


def neurons_of_spec(spec: Any, index: int, surrogate: Surrogate) -> LayerEquations:
    """Return the neurons of hidden layer `index`, from 0, as equations."""
    layer, geometry = spec.network.layers[index], conv_geometries(spec)[index]
    return lif_equations(
        filter_neurons(layer),
        geometry.neurons,
        own=geometry.recurrent if is_recurrent(layer) else None,
        **_options(spec, index, surrogate),
    )


def composed_of_spec(
    spec: Any, index: int, surrogate: Surrogate, **options: Any
) -> ComposedConvolution:
    """Return hidden layer `index`, from 0; `options` are those of EquationsConvolution."""
    layer = spec.network.layers[index]
    given = _options(spec, index, surrogate)
    return ComposedConvolution(
        conv_geometries(spec)[index],
        filter_neurons(layer),
        trainable=given.pop("trained"),
        recurrent=is_recurrent(layer),
        input_scale=scale_before(spec, index),
        name=f"layer_{index + 1}",
        **given,
        **options,
    )


def _options(spec: Any, index: int, surrogate: Surrogate) -> Dict[str, Any]:
    return {
        "reset": spec.network.reset,
        "reset_gradient": spec.network.reset_gradient,
        "surrogate": surrogate,
        "truncate": spec.training.truncate_steps,
        "trained": trained_constants(spec.network, spec.network.layers[index]),
        "shows_membranes": reads_membrane(spec, index),
    }
