"""Recurrent convolutions: TensorFlow's automatic differentiation in float64 gives the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List, Optional, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.spec.conv_geometry import ConvGeometry, Planes, conv_geometry
from ipulse_ops.equations.kernel import EquationsKernel, stacked
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.poplar_kernel import EquationsOnTiles
from ipulse_ops.equations.reference import equations_adjoint, run_equations
from ipulse_ops.keras.equations_layer import EquationsConvolution
from ipulse_ops.sparse import sparse_to_dense
from tests.equations import lif, neuron_of
from tests.ops.equations.autodiff import spikes_of

STEPS, BATCH = 9, 4
# Height and width of the image, and the kernel: one axis, an even number of taps, and more taps
# than neurons.
SHAPES = {
    "square": ((4, 5), (3, 3)),
    "line": ((1, 7), (1, 3)),
    "even": ((5, 4), (2, 4)),
    "wide": ((4, 4), (3, 4)),
}


def geometry_of(name: str) -> ConvGeometry:
    image, kernel = SHAPES[name]
    return conv_geometry(Planes(*image, 2), 3, kernel)


def equations_of(geometry: ConvGeometry, **options: Any) -> LayerEquations:
    return LayerEquations(
        neuron_of(lif("zero", gain=1.0, decay=True)),
        geometry.neurons,
        recurrent=True,
        filters=geometry.filters,
        own=geometry.recurrent,
        **options,
    )


def arrays_of(geometry: ConvGeometry) -> List[np.ndarray]:
    """Kernel, recurrent kernel and bias, multiples of 2^-5."""
    rng = np.random.default_rng(3)
    shapes = (geometry.weights, geometry.recurrent.weights, (geometry.filters,))
    drawn = [rng.normal(0.1, 0.6, shape) for shape in shapes]
    return [(np.round(each * 32) / 32).astype(np.float32) for each in drawn]


def input_of(geometry: ConvGeometry) -> Tuple[np.ndarray, np.ndarray]:
    """Ids and counts of spikes, no id twice."""
    rng = np.random.default_rng(5)
    slots = geometry.entering.sites // 2
    ids = np.argsort(rng.random((STEPS, BATCH, geometry.entering.sites)), axis=-1)[..., :slots]
    return ids.astype(np.float32), rng.integers(0, slots + 1, (STEPS, BATCH)).astype(np.int32)


def by_spikes_of(geometry: ConvGeometry) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(STEPS, BATCH, geometry.neurons))


def matrix_of(geometry: ConvGeometry, recurrent: Any) -> Any:
    """The weights from each neuron to each, by TensorFlow's convolution with padding SAME."""
    one_each = np.eye(geometry.neurons).reshape(-1, *geometry.size, geometry.filters)
    found = tf.nn.conv2d(one_each, recurrent, 1, "SAME")
    return tf.reshape(found, [geometry.neurons, geometry.neurons])


def reference(geometry: ConvGeometry, gate: Optional[float]) -> Tuple[np.ndarray, List[np.ndarray]]:
    """Spikes, and gradients of the weights, the input spikes and the trained decay."""
    layer = equations_of(geometry)
    variables = [tf.Variable(array, dtype=tf.float64) for array in arrays_of(geometry)]
    planes = geometry.entering
    ids, counts = input_of(geometry)
    sent = tf.cast(sparse_to_dense(ids, counts, planes.sites), tf.float64)
    values = {name: tf.Variable(value) for name, value in layer.values().items()}
    with tf.GradientTape() as tape:
        tape.watch(sent)
        kernel, recurrent, bias = variables
        images = tf.reshape(sent, [-1, planes.height, planes.width, planes.channels])
        current = tf.nn.conv2d(images, kernel, 1, "VALID") + bias
        current = tf.reshape(current, [STEPS, BATCH, geometry.neurons])
        sites = geometry.neurons // geometry.filters
        parameters = {name: tf.tile(value, [sites]) for name, value in values.items()}
        matrix = matrix_of(geometry, recurrent)
        below = float("-inf") if gate is None else gate
        spikes = spikes_of(
            *(layer.neuron, parameters, current, layer.surrogate.slope, matrix), gate=below
        )
        loss = tf.reduce_sum(spikes * by_spikes_of(geometry))
    trained = [values[each.name] for each in layer.neuron.trained]
    found = tape.gradient(loss, [*variables, sent, *trained])
    return spikes.numpy(), [each.numpy() for each in found]


def results(
    layer: EquationsConvolution, geometry: ConvGeometry
) -> Tuple[np.ndarray, List[np.ndarray]]:
    layer.set_kernels(arrays_of(geometry))
    ids, counts = input_of(geometry)
    with tf.GradientTape() as tape:
        slots = tf.constant(ids)
        tape.watch(slots)
        run = layer.run_pooled(slots, counts, True)
        spikes = sparse_to_dense(run.neuron_ids, run.activity, geometry.neurons)
        loss = tf.reduce_sum(spikes * by_spikes_of(geometry).astype(np.float32))
    *found, by_slots = tape.gradient(loss, [*layer.kernels, *layer._trained, slots])
    by_sites = np.zeros((*counts.shape, geometry.entering.sites))
    for place in np.ndindex(*counts.shape):
        here = slice(0, counts[place])
        by_sites[place][ids[place][here].astype(int)] = by_slots.numpy()[place][here]
    found.insert(len(layer.kernels), tf.constant(by_sites))
    return spikes.numpy(), [each.numpy() for each in found]


@pytest.mark.parametrize("gate", [None, -0.5])
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.sample(3)
def test_spikes_and_gradients_are_those_of_the_reference(name: str, gate: Optional[float]) -> None:
    geometry = geometry_of(name)
    known, exact = reference(geometry, gate)
    layer = EquationsConvolution(geometry, equations_of(geometry, gate=gate), bias=True)
    spikes, gradients = results(layer, geometry)
    assert 0.05 < known.mean() < 0.9
    np.testing.assert_array_equal(spikes, known)
    ids, counts = input_of(geometry)
    slots = sparse_to_dense(ids, counts, geometry.entering.sites).numpy()
    exact[3] = exact[3] * slots  # others have no slot
    for one, other in zip(gradients, exact):
        assert np.any(other)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.sample(1)
def test_truncated_gradients_are_those_of_the_reference(name: str) -> None:
    geometry = geometry_of(name)
    layer = equations_of(geometry, truncate=4)
    _, recurrent, _ = arrays_of(geometry)
    rng = np.random.default_rng(2)
    current = rng.normal(0.4, 1.0, (STEPS, BATCH, geometry.neurons)).astype(np.float32)
    by_spikes = by_spikes_of(geometry)
    values = layer.values()
    wanted = run_equations(layer, values, current.astype(np.float64), True, recurrent)
    exact = equations_adjoint(layer, values, wanted, by_spikes, recurrent.astype(np.float64))
    whole = replace(layer, truncate=None)
    other = equations_adjoint(whole, values, wanted, by_spikes, recurrent.astype(np.float64))
    assert not np.allclose(exact.current, other.current)
    parameters = stacked(layer, values)
    for threads in (1, 3):
        kernel = EquationsKernel(layer, threads)
        found = kernel.forward(parameters, current, True, recurrent)
        np.testing.assert_array_equal(found.x > 0, wanted.x > 0)
        by_current, _, _ = kernel.backward(
            *(parameters, found.current, found.states, by_spikes.astype(np.float32), recurrent)
        )
        np.testing.assert_allclose(by_current, exact.current, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.sample(1)
def test_tiles_have_the_spikes_and_gradients_of_the_cpu(name: str) -> None:
    geometry = geometry_of(name)
    layer = equations_of(geometry, truncate=4)
    _, recurrent, _ = arrays_of(geometry)
    rng = np.random.default_rng(2)
    current = rng.normal(0.4, 1.0, (STEPS, BATCH, geometry.neurons)).astype(np.float32)
    by_spikes, parameters = (
        by_spikes_of(geometry).astype(np.float32),
        stacked(layer, layer.values()),
    )
    both = []
    for kernel in (EquationsKernel(layer), EquationsOnTiles(layer, 8)):
        found = kernel.forward(parameters, current, True, recurrent)
        by_current, *_ = kernel.backward(
            *(parameters, found.current, found.states, by_spikes, recurrent)
        )
        both.append((found.x, found.current, by_current))
    for one, other in zip(*both):
        assert np.any(one)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(both[0][0], both[1][0])


def test_another_convolution_of_the_own_spikes_is_refused() -> None:
    geometry = geometry_of("square")
    other = replace(equations_of(geometry), own=geometry_of("even").recurrent)
    with pytest.raises(ValueError, match="own spikes"):
        EquationsConvolution(geometry, other)
