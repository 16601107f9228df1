"""Convolutions with equations: those of LIF neurons equal LIFConv2D's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.keras.equations_layer import EquationsConvolution
from ipulse_ops.sparse import sparse_to_dense
from tests.equations import neuron_document, neuron_of
from tests.ops.conv.cases import GEOMETRIES, Case, case
from tests.ops.equations.conv_layers import lif_equations, run_layer


def _both(of: Case, reset: str, **options: Any) -> List[Any]:
    neurons = replace(of.layer, reset=reset)
    equations = EquationsConvolution(
        neurons.geometry,
        lif_equations(of.layer, reset),
        bias=True,
        input_scale=neurons.input_scale,
        **options,
    )
    return [run_layer(equations, of), run_layer(Convolution(neurons), of)]


@pytest.mark.parametrize("second", [None, 0.5])
@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.sample(3)
def test_where_sums_are_exact_lif_equations_have_the_bits_of_the_lif_kernel(
    name: str, second: Any
) -> None:
    of = case(name, 3, steps=6, dyadic=True, second_threshold=second, bias=True, input_scale=0.25)
    (spikes, gradients), (known, known_gradients) = _both(of, "zero")
    for one, other in zip([*spikes, *gradients], [*known, *known_gradients]):
        assert one.any()
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("reset", ["zero", "subtract", "none"])
@pytest.mark.parametrize("name", ["cropped", "strides", "groups"])
@pytest.mark.sample(1)
def test_lif_equations_are_near_to_the_lif_kernel(name: str, reset: str) -> None:
    """The kernel adds each weight to the membrane, equations add their sum: other last bits."""
    of = case(name, 5, bias=True, second_threshold=0.4)
    (spikes, gradients), (known, known_gradients) = _both(of, reset)
    for one, other in zip(spikes, known):
        assert one.any()
        np.testing.assert_array_equal(one, other)
    for one, other in zip(gradients, known_gradients):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5 * np.abs(other).max())


def test_threads_change_nothing() -> None:
    of = case("cropped", 5, batch=17, bias=True)
    found = [_both(of, "zero", threads=threads)[0] for threads in (1, 2, 5)]
    for spikes, gradients in found[1:]:
        for one, other in zip([*spikes, *gradients], [*found[0][0], *found[0][1]]):
            assert one.tobytes() == other.tobytes()


def test_parameters_are_those_of_filters() -> None:
    """Each filter with a threshold of its own is what filters are with one for all."""
    of = case("pool", 2, dyadic=True, bias=True, steps=5)
    geometry = of.layer.geometry
    document = neuron_document(
        [{"name": "u", "update": "0.5 * u + I", "reset": "where(r, 0, u)"}],
        "u - theta",
        [{"name": "theta", "value": 1.0, "trainable": True}],
    )

    def of_threshold(value: Any) -> Tuple[np.ndarray, np.ndarray]:
        document["parameters"][0]["value"] = value
        equations = LayerEquations(
            neuron_of(document), geometry.neurons, of.layer.surrogate, filters=geometry.filters
        )
        layer = EquationsConvolution(geometry, equations, bias=True)
        layer.set_kernels([of.kernel, of.bias])
        variable = layer.trainable_variables[-1]
        assert tuple(variable.shape) == (geometry.filters,)
        with tf.GradientTape() as tape:
            run = layer.run_pooled(of.ids, of.counts, True)
            dense = sparse_to_dense(*run.spikes, geometry.pooled.sites)
            loss = tf.reduce_sum(dense)
        planes = dense.numpy().reshape(*of.counts.shape, -1, geometry.filters)
        return planes, tape.gradient(loss, variable).numpy()

    thresholds = [0.5 + number / 4 for number in range(geometry.filters)]
    planes, gradient = of_threshold(tuple(thresholds))
    for f, threshold in enumerate(thresholds):
        alone, by_threshold = of_threshold(threshold)
        np.testing.assert_array_equal(planes[..., f], alone[..., f])
        assert gradient[f] == by_threshold[f] != 0


def test_equations_of_another_size_are_refused() -> None:
    of = case("pool", 2).layer
    equations = lif_equations(of)
    with pytest.raises(ValueError, match="neurons"):
        EquationsConvolution(of.geometry, replace(equations, neurons=5))
    with pytest.raises(ValueError, match="own spikes"):
        EquationsConvolution(of.geometry, replace(equations, recurrent=True))
