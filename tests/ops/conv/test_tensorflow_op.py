"""The convolution op against the float64 reference."""

from typing import Any, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.conv import reference
from ipulse_ops.conv.tensorflow_op import run_conv
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.cpu import native
from tests.ops.conv.cases import GEOMETRIES, Case, by_neuron, case, variants


class Run:
    """The outputs of the op, and its gradients for random dyadic gradients of the slots."""

    def __init__(self, of: Case, **options: Any) -> None:
        kernel = tf.constant(of.kernel)
        bias = None if of.bias is None else tf.constant(of.bias)
        ids = tf.constant(of.ids, tf.float32)
        watched = [kernel, ids] if bias is None else [kernel, ids, bias]
        with tf.GradientTape() as tape:
            for tensor in watched:
                tape.watch(tensor)
            out = run_conv(of.layer, kernel, bias, ids, of.counts, **options)
            self.ids = out.spike_ids.numpy()
            rng = np.random.RandomState(7)
            self.slots = (rng.randint(-32, 33, self.ids.shape) / 16).astype(np.float32)
            loss = tf.reduce_sum(out.spike_ids * self.slots)
        self.counts = out.spike_counts.numpy()
        self.activity = out.activity.numpy()
        self.gradients = [gradient.numpy() for gradient in tape.gradient(loss, watched)]

    def arrays(self) -> List[np.ndarray]:
        return [self.ids, self.counts, self.activity, *self.gradients]


def _expected(of: Case, run: Run) -> Tuple[reference.ConvRun, List[np.ndarray]]:
    entering = reference.planes_of(of.layer.geometry.entering, of.ids, of.counts)
    kernel = of.kernel.astype(np.float64)
    forward = reference.forward(of.layer, kernel, of.bias, entering)
    grad_spikes = by_neuron(of.layer, forward, run.ids, run.counts, run.slots)
    gradients = reference.backward(of.layer, kernel, entering, forward, grad_spikes)
    planes = gradients.entering
    if of.layer.geometry.entering.channels_first:
        planes = np.moveaxis(planes, -1, 2)
    flat = planes.reshape(*of.counts.shape, -1)
    in_use = np.arange(of.ids.shape[2]) < of.counts[..., None]
    by_slot = np.where(in_use, np.take_along_axis(flat, of.ids.astype(np.int64), axis=2), 0)
    found = [gradients.kernel, by_slot]
    return forward, found if of.bias is None else [*found, gradients.bias]


def _check_spikes(layer: ConvLIF, forward: reference.ConvRun, run: Run) -> None:
    pooled = np.zeros((*run.counts.shape[:2], layer.geometry.pooled.sites))
    for t, b in np.ndindex(*run.counts.shape[:2]):
        sites = run.ids[t, b, : int(run.counts[t, b, 0])].astype(np.int64)
        np.add.at(pooled[t, b], sites, 1)
    np.testing.assert_array_equal(pooled, forward.pooled.reshape(pooled.shape))
    axes = (2, 3, 4)
    np.testing.assert_array_equal(run.activity[..., 0], forward.spikes.sum(axes))
    np.testing.assert_array_equal(
        run.activity[..., 1], (forward.spikes | forward.carries).sum(axes)
    )


@pytest.mark.old_python
@pytest.mark.parametrize("fields", list(variants()), ids=str)
@pytest.mark.sample(9)
def test_every_variant_equals_the_reference(fields: Any) -> None:
    for seed, name in enumerate(("cropped", "strides")):
        of = case(name, seed, **fields)
        run = Run(of)
        forward, gradients = _expected(of, run)
        assert 0.01 < forward.spikes.mean() < 0.9
        _check_spikes(of.layer, forward, run)
        for found, expected in zip(run.gradients, gradients):
            np.testing.assert_allclose(
                found, expected, rtol=1e-3, atol=2e-5 * np.abs(expected).max()
            )


@pytest.mark.parametrize("delay", [11, 12, 65_535])
def test_spikes_that_arrive_in_the_last_step_or_after_it(delay: int) -> None:
    of = case("pool", 2, steps=12, delay=delay, bias=True)
    run = Run(of)
    forward, gradients = _expected(of, run)
    _check_spikes(of.layer, forward, run)
    assert np.any(run.gradients[0]) == (delay == 11)
    for found, expected in zip(run.gradients, gradients):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("second", [None, 0.5])
def test_every_geometry_is_exact_where_sums_are(name: str, second: Any) -> None:
    of = case(name, 3, steps=6, dyadic=True, second_threshold=second, bias=True)
    run = Run(of)
    forward, gradients = _expected(of, run)
    assert forward.spikes.any()
    _check_spikes(of.layer, forward, run)
    for found, expected in zip(run.gradients, gradients):
        assert np.any(expected)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_all_instruction_sets_and_threads_give_the_same_bits(name: str) -> None:
    for second, crowded in ((None, False), (0.6, False), (None, True), (0.6, True)):
        of = case(name, 5, batch=19, crowded=crowded, second_threshold=second, bias=True)
        expected = Run(of, threads=1, arch=0).arrays()
        for kernel, mask in native.kernels().items():
            for threads in (1, 3):
                found = Run(of, threads=threads, arch=mask & native.supported_arch()).arrays()
                for one, other in zip(found, expected):
                    assert one.tobytes() == other.tobytes(), (kernel, threads)


@pytest.mark.parametrize("second", [None, 0.5])
def test_without_keep_only_spikes_are_listed(second: Any) -> None:
    of = case("pool", 1, second_threshold=second)
    run = run_conv(of.layer, of.kernel, None, of.ids, of.counts, keep=False)
    kept = run_conv(of.layer, of.kernel, None, of.ids, of.counts)
    spikes = kept.spike_counts.numpy()[..., 0]
    np.testing.assert_array_equal(run.spike_counts.numpy(), np.stack([spikes, spikes], -1))
    most = int(spikes.max())
    assert run.spike_ids.shape[2] == most
    np.testing.assert_array_equal(run.activity, kept.activity)
    in_use = np.arange(most) < spikes[..., None]
    np.testing.assert_array_equal(
        np.where(in_use, run.spike_ids, 0), np.where(in_use, kept.spike_ids[..., :most], 0)
    )


@pytest.mark.parametrize(
    ("ids", "counts"),
    [([[[99999]]], [[1]]), ([[[0]]], [[2]]), ([[[0]]], [[-1]]), ([[[-1]]], [[1]])],
)
def test_wrong_spikes_are_refused(ids: Any, counts: Any) -> None:
    of = case("plain", 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="time 0, sample 0"):
        run_conv(of.layer, of.kernel, None, np.array(ids, np.int32), np.array(counts, np.int32))
