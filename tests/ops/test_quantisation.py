"""Weights as integers times a scale: the definition, TensorFlow's ops, and their gradient."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, Dict, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import LIF, LeakyReadout, LIFConv2D, LIFLayer, MultiLIF, Quantisation
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.quantisation import LARGEST, quantise
from ipulse_ops.sparse import dense_to_sparse
from ipulse_ops.training.quantised_weights import quantised

RULES = [
    Quantisation(bits, scale, power_of_two)
    for bits, scale, power_of_two in product((4, 8), ("neuron", "layer"), (False, True))
]


def matrices() -> List[np.ndarray]:
    """Return matrices of many magnitudes, with halves, zeros and tiny numbers."""
    rng = np.random.RandomState(5)
    found = [rng.normal(0, 10.0 ** rng.randint(-20, 20), shape) for shape in [(7, 5), (1, 1)] * 20]
    found += [rng.normal(size=(3, 2, 4, 6)), rng.randint(-14, 15, (50, 3)) / 2, np.zeros((3, 2))]
    found += [np.array([[1e-38, 1.0], [-1e-44, 0.5]]), np.full((2, 2), 2.0**-100)]
    return [matrix.astype(np.float32) for matrix in found]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_integers_are_the_nearest_and_fit_their_bits(rule: Quantisation) -> None:
    for weights in matrices():
        found = quantise(weights, rule)
        most = LARGEST[rule.bits]
        assert np.abs(found.integers.astype(int)).max() <= most
        assert found.scale.shape == ((1,) if rule.scale == "layer" else weights.shape[-1:])
        exact = found.integers.astype(np.float64) * found.scale
        np.testing.assert_array_equal(found.weights, exact)  # the product is not rounded
        half = np.broadcast_to(found.scale.astype(np.float64) / 2, weights.shape)
        tiny = np.abs(weights) < 2.0**-100
        assert (np.abs(weights - exact)[~tiny] <= half[~tiny] * (1 + 1e-6)).all()
        axes = rule.axes(weights.ndim)
        largest = np.abs(weights).max(axis=axes).reshape(-1)
        for scale, value in zip(found.scale, largest):
            if value < 2.0**-100:
                assert scale == 1
                continue
            excess = Fraction(float(scale)) * most / Fraction(float(value))
            assert 1 - Fraction(1, 2**22) < excess < (2 if rule.power_of_two else 1 + 2.0**-14)
        if rule.power_of_two:
            assert (np.frexp(found.scale)[0] == 0.5).all()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_quantising_twice_is_quantising_once(rule: Quantisation) -> None:
    for weights in matrices():
        once = quantise(weights, rule)
        again = quantise(once.weights, rule)
        np.testing.assert_array_equal(again.weights, once.weights)
        np.testing.assert_array_equal(again.integers, once.integers)


@pytest.mark.old_python
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_tensorflow_has_the_same_bits_in_graphs_and_outside(rule: Quantisation) -> None:
    traced = tf.function(lambda weights: quantised(weights, rule))
    for weights in matrices():
        expected = quantise(weights, rule).weights
        np.testing.assert_array_equal(quantised(weights, rule).numpy(), expected)
        np.testing.assert_array_equal(traced(tf.constant(weights)).numpy(), expected)


def test_halves_are_rounded_to_the_even_integer() -> None:
    weights = np.array([[3.5], [2.5], [0.5], [-1.5], [7.0]], np.float32)
    found = quantise(weights, Quantisation(4))
    assert found.scale == [1]
    assert found.integers.tolist() == [[4], [2], [0], [-2], [7]]


LAYERS = (
    LIF(12, decay=0.9, recurrent=True, bias=True, second_threshold=-0.5),
    LIF(8, decay=0.8, synapse_decay=0.5, capacity=5),
)


def network(**options: Any) -> MultiLIF:
    made = MultiLIF(6, LAYERS, LeakyReadout(3, bias=True), **options)
    rng = np.random.RandomState(2)
    made.set_kernels([rng.normal(0.1, 0.3, k.shape).astype(np.float32) for k in made.kernels])
    return made


def input_spikes() -> Any:
    dense = np.random.RandomState(3).random_sample((15, 4, 6)) < 0.3
    return dense_to_sparse(tf.constant(dense, tf.float32), capacity=6)


def run(net: MultiLIF) -> Any:
    """Return the outputs and the gradients of a loss."""
    weight = np.random.RandomState(4).normal(size=(15, 4, 3)).astype(np.float32)
    with tf.GradientTape() as tape:
        out = net(*input_spikes())
        loss = tf.reduce_sum(weight * out.membrane)
    return out, [gradient.numpy() for gradient in tape.gradient(loss, net.kernels)], weight


def in_use(net: MultiLIF, rules: List[Any]) -> List[np.ndarray]:
    """Return the kernels as a network with a rule per layer reads them; biases stay."""
    owners = [0, 0, 0, 1, 2, 2]
    return [
        kernel.numpy()
        if len(kernel.shape) == 1 or rules[owner] is None
        else quantise(kernel.numpy(), rules[owner]).weights
        for kernel, owner in zip(net.kernels, owners)
    ]


RULE_LISTS: Dict[str, List[Any]] = {
    "all int8": [Quantisation()] * 3,
    "mixed": [None, Quantisation(4, "layer"), Quantisation(8, power_of_two=True)],
}


@pytest.mark.parametrize("rules", RULE_LISTS.values(), ids=RULE_LISTS)
@pytest.mark.parametrize("backend", ["cpu", "numpy"])
def test_a_network_runs_and_learns_at_its_quantised_weights(rules: List[Any], backend: str) -> None:
    net = network(quantisation=rules, backend=backend)
    plain = network(backend=backend)
    plain.set_kernels(in_use(net, rules))
    (out, gradients, weight), (expected, straight, _) = run(net), run(plain)
    np.testing.assert_array_equal(out.membrane, expected.membrane)
    for one, other in zip(gradients, straight):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(run(network(backend=backend))[0].membrane, expected.membrane)
    ids, counts = (tensor.numpy().astype(np.int32) for tensor in input_spikes())
    arguments = (net.network, in_use(net, rules), ids, counts)
    exact = reference.backward(*arguments, reference.forward(*arguments), weight)
    for one, other in zip(gradients, exact.weights):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * np.abs(other).max())


def test_powers_of_two_make_a_run_exact() -> None:
    """float32 sums of integers times one power of two are those of integers."""
    rule = Quantisation(8, "layer", power_of_two=True)
    net = MultiLIF(
        64,
        [],
        LIF(9, decay=0.5, gain=2.0, threshold=3e38, second_threshold=3e38),
        reset="none",
        quantisation=rule,
    )
    kernel = np.random.RandomState(1).normal(size=(64, 9)).astype(np.float32)
    net.set_kernels([kernel])
    dense = np.random.RandomState(3).random_sample((4, 3, 64)) < 0.5
    found = net(*dense_to_sparse(tf.constant(dense, tf.float32), capacity=64)).membrane.numpy()
    integers = quantise(kernel, rule)
    sums = dense.astype(int) @ integers.integers.astype(int)
    membrane = [Fraction(0)] * sums[0].size
    for step, currents in enumerate(sums):
        membrane = [u / 2 + int(n) for u, n in zip(membrane, currents.reshape(-1))]
        exact = [float(u * Fraction(float(integers.scale[0]))) for u in membrane]
        np.testing.assert_array_equal(found[step].reshape(-1), np.array(exact, np.float32))


@pytest.mark.parametrize("rule", [Quantisation(), Quantisation(4, "layer")], ids=str)
def test_a_convolution_has_a_scale_per_filter(rule: Quantisation) -> None:
    rng = np.random.RandomState(1)
    dense = tf.constant(rng.random_sample((8, 3, 6 * 6 * 2)) < 0.2, tf.float32)
    spikes = dense_to_sparse(dense, capacity=72)
    options: Dict[str, Any] = {"pool_size": 2, "second_threshold": 0.0, "input_scale": 1 / 9}
    layer = LIFConv2D((6, 6, 2), 4, 3, quantisation=rule, **options)
    kernel = rng.normal(1, 3, layer.geometry.weights).astype(np.float32)
    layer.set_kernels([kernel])
    plain = LIFConv2D((6, 6, 2), 4, 3, **options)
    plain.set_kernels([quantise(kernel, rule).weights])
    weights = rng.normal(size=4096).astype(np.float32)
    results = []
    for made in (layer, plain):
        with tf.GradientTape() as tape:
            ids = made(spikes).ids
            loss = tf.reduce_sum(ids * weights[: ids.shape[-1]])
        results.append((ids.numpy(), tape.gradient(loss, made.kernels)[0].numpy()))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
    assert results[0][1].any()
    again = LIFConv2D.from_config(layer.get_config())
    assert again.quantisation == rule


def test_the_configuration_keeps_the_rules() -> None:
    rules = RULE_LISTS["mixed"]
    net = network(quantisation=rules)
    again = MultiLIF.from_config(net.get_config())
    again.set_kernels([kernel.numpy() for kernel in net.kernels])
    np.testing.assert_array_equal(run(again)[0].membrane, run(net)[0].membrane)
    single = LIFLayer(6, LAYERS[0], quantisation=Quantisation(4))
    assert LIFLayer.from_config(single.get_config()).get_config() == single.get_config()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantisation": {"bits": 3}}, "bits must be 4 or 8; got 3"),
        ({"quantisation": {"bits": True}}, "bits must be 4 or 8; got True"),
        ({"quantisation": {"scale": "row"}}, "scale must be neuron or layer"),
        ({"quantisation": [None, None]}, "for each of 3 layers"),
        ({"quantisation": [8, None, None]}, r"quantisation\[0\] must be Quantisation"),
        ({"quantisation": Quantisation(), "weights_dtype": "bfloat16"}, "not rounded again"),
    ],
)
def test_wrong_arguments_are_refused(options: Dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        network(**options)
