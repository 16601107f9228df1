from __future__ import annotations

import sys

import numpy as np
import pytest

from ipulse_ops.lif.reference import network_pass as reference
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.training.metric_accumulator import MetricAccumulator
from tests.worker.runner.trainings import spec_of, training_of

pytestmark = pytest.mark.old_python


class TestModel:
    def test_agrees_with_the_reference(self) -> None:
        """Loss, predictions and every counted spike of a batch, by the float64 equations."""
        spec = spec_of()
        training = training_of(spec)
        model, dataset = training.model, training.dataset
        samples = dataset.training[:40]
        ids, counts = dataset.trains.batch(samples)
        labels = dataset.labels[samples]

        evaluation = model.evaluate(ids, counts, labels)
        sums = model.compute_gradients(ids, counts, labels, step=1).sums
        np.testing.assert_array_equal(evaluation.sums, sums)

        trace = reference.forward(network_of(spec), model.weights, ids, counts)
        logits = trace.membrane.mean(axis=0)
        shifted = logits - logits.max(axis=1, keepdims=True)
        losses = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(40), labels]
        spikes = [layer.spike_counts[..., 0].sum() for layer in trace.layers]
        slots = [layer.spike_counts[..., 1].sum() for layer in trace.layers]
        dropped = [layer.dropped.sum() for layer in trace.layers]
        assert dropped[1] > 0, "the sample should overfill the second layer's four slots"

        metrics = MetricAccumulator(["1", "2"], [20, 16], spec.data.steps)
        metrics.add(sums)
        np.testing.assert_allclose(metrics.loss, losses.mean(), rtol=1e-5)
        np.testing.assert_array_equal(evaluation.predicted, logits.argmax(axis=1))
        np.testing.assert_array_equal(sums[4:], [*spikes, *slots, *dropped])
        by_step = [layer.spike_counts[..., 0].sum(axis=1) for layer in trace.layers]
        np.testing.assert_array_equal(evaluation.spikes_by_step, by_step)

    def test_gradients_are_the_references(self) -> None:
        spec = spec_of()
        training = training_of(spec)
        model, dataset = training.model, training.dataset
        samples = dataset.training[:25]
        ids, counts = dataset.trains.batch(samples)
        labels = dataset.labels[samples]
        gradients = model.compute_gradients(ids, counts, labels, step=1).gradients

        network = network_of(spec)
        trace = reference.forward(network, model.weights, ids, counts)
        logits = trace.membrane.mean(axis=0)
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        share[np.arange(25), labels] -= 1
        steps = spec.data.steps
        grad_membrane = np.broadcast_to(share / 25 / steps, (steps, *share.shape))
        expected = reference.backward(network, model.weights, ids, counts, trace, grad_membrane)
        for ours, theirs in zip(gradients, expected.weights):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-6)
            assert np.abs(theirs).max() > 1e-3  # there is something to compare

    def test_no_number_of_a_step_stays_in_memory(self) -> None:
        """A training has millions of steps."""
        model = training_of(spec_of()).model
        step, rate = 10**9, 0.0123
        before = sys.getrefcount(step), sys.getrefcount(rate)
        model.apply([np.zeros_like(array) for array in model.trained], step, rate)
        assert (sys.getrefcount(step), sys.getrefcount(rate)) == before
