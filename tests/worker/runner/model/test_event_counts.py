"""Numbers of events as input: each event of a channel in a step counts, in every kind of layer."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.data_files.directory import DataDirectory
from ipulse_ops.lif.reference.tensorflow_op import run_reference
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.model.network import network_of
from tests.worker.runner.model.test_spikes_of_parts import (
    CHANNELS,
    DATA,
    KINDS,
    STEPS,
    Batch,
    document_of,
    model_of,
    run,
)
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")
SAMPLES = 8


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """The samples of a file with up to five events in a cell."""
    folder = tmp_path_factory.mktemp("counted")
    rng = np.random.default_rng(6)
    spikes = rng.poisson(0.6, (SAMPLES, STEPS, CHANNELS)).astype(np.uint8)
    labels = np.arange(SAMPLES) % 4
    np.savez(str(folder / "small.npz"), spikes=spikes, labels=labels)
    spec = spec_from({**document_of([{"neurons": 6}]), "data": {**DATA, "input": "counts"}})
    dataset = load(spec.data, DataDirectory(folder), lambda done, samples: None)
    ids, counts = dataset.trains.batch(np.arange(SAMPLES))
    assert counts.sum() == spikes.sum() > (spikes > 0).sum() + 20
    return ids.astype(np.int32), counts


@pytest.mark.parametrize("kind", list(KINDS))
def test_gradients_are_those_of_the_reference(kind: str, counted: Batch) -> None:
    model = model_of(document_of([KINDS[kind], {"neurons": 6}]))
    found, gradients = run(model, counted)
    dense = document_of([KINDS["dense"], {"neurons": 6}])
    arrays = [tf.Variable(kernel) for kernel in model_of(dense).net.kernels]
    with tf.GradientTape() as tape:
        out = run_reference(network_of(spec_from(dense)), arrays, *counted)
        steps = np.linspace(-1, 1, STEPS, dtype=np.float32)[:, None, None]
        loss = tf.reduce_sum(out.membrane * steps)
    known = [*(each.numpy()[..., 0] for each in out.spike_counts), out.membrane.numpy()]
    for one, other in zip(found, known):
        assert np.any(other)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
    for one, by_reference in zip(gradients, tape.gradient(loss, arrays)):
        other = by_reference.numpy().ravel()
        assert np.any(other)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", list(KINDS))
def test_on_tiles_they_are_those_of_the_cpu(kind: str, counted: Batch) -> None:
    layers = [KINDS[kind], {"neurons": 6}]
    found, gradients = run(
        model_of(document_of(layers, device={"kind": "emulator", "tiles": 8})), counted
    )
    known, known_gradients = run(model_of(document_of(layers)), counted)
    for one, other in zip([*found, *gradients], [*known, *known_gradients]):
        assert np.any(other)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())
