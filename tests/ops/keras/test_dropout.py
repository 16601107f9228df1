"""Dropout in Keras: in training only, other masks at every step, and saved with the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import LIF, LeakyReadout, LIFLayer, LIFReadout, MultiLIF, SparseLIFCell
from ipulse_ops.lif.unsupported import UnsupportedNetwork
from ipulse_ops.reference.spikes import dense_to_sparse

LAYERS = (LIF(neurons=12, decay=0.75), LIF(neurons=8, decay=0.75, dropout=0.5))
READOUT = LeakyReadout(neurons=3, decay=0.75, dropout=0.25)


def net(**options: Any) -> MultiLIF:
    made = MultiLIF(inputs=10, layers=LAYERS, readout=READOUT, **options)
    rng = np.random.Generator(np.random.PCG64(2))
    made.set_kernels([rng.normal(0.1, 0.3, kernel.shape) for kernel in made.kernels])
    return made


def spikes() -> Any:
    rng = np.random.Generator(np.random.PCG64(0))
    return dense_to_sparse(rng.random((15, 4, 10)) < 0.4)


def steps(made: Any, count: int) -> List[bytes]:
    return [made(*spikes(), training=True).membrane.numpy().tobytes() for _ in range(count)]


def test_only_training_drops_spikes() -> None:
    made = net()
    evaluated = [made(*spikes(), training=mode).membrane.numpy() for mode in (False, None)]
    np.testing.assert_array_equal(*evaluated)
    trained = steps(made, 4)
    assert len({evaluated[0].tobytes(), *trained}) == 5


def test_masks_follow_from_seed_and_step() -> None:
    assert steps(net(seed=3), 2) == steps(net(seed=3), 2)
    assert steps(net(seed=3), 1) != steps(net(seed=4), 1)
    made = net()
    given = [made(*spikes(), training=True, seed=7).membrane.numpy() for _ in range(2)]
    np.testing.assert_array_equal(*given)


@pytest.mark.old_python
def test_a_saved_model_continues_with_the_next_masks(tmp_path: Path) -> None:
    made, other = net(), net()
    steps(made, 2)
    tf.train.Checkpoint(net=made).save(str(tmp_path / "c"))
    tf.train.Checkpoint(net=other).restore(tf.train.latest_checkpoint(str(tmp_path)))
    assert steps(other, 2) == steps(made, 2)


def test_a_copy_from_its_configuration_drops_as_much() -> None:
    made = net()
    copy = MultiLIF.from_config(made.get_config())
    copy.set_kernels([np.asarray(kernel) for kernel in made.kernels])
    assert steps(copy, 2) == steps(made, 2)


def test_a_stack_of_layers_drops_its_input() -> None:
    layer = LIFLayer(10, LIF(neurons=12, decay=0.75, dropout=0.5))
    readout = LIFReadout(12, READOUT, seed=1)
    evaluated = readout(layer(*spikes(), training=False), training=False).numpy()
    membranes = {evaluated.tobytes()}
    for _ in range(3):
        sent = layer(*spikes(), training=True)
        membranes.add(readout(sent, training=True).numpy().tobytes())
    assert len(membranes) == 4


@pytest.mark.verify
def test_fit_draws_masks_and_predict_does_not() -> None:
    inputs = tf.keras.Input((12, 10))
    layer = LIFLayer(10, LIF(neurons=12, decay=0.75, dropout=0.5), time_major=False)
    spikes = layer(inputs)
    readout = LIFReadout(12, LeakyReadout(neurons=3, decay=0.75), time_major=False)
    model = tf.keras.Model(inputs, readout(spikes.ids, spikes.counts))
    rng = np.random.Generator(np.random.PCG64(1))
    dense = (rng.random((32, 12, 10)) < 0.4).astype(np.float32)
    model.compile(optimizer="sgd", loss="mse")
    model.fit(dense, np.ones((32, 12, 3), np.float32), epochs=2, batch_size=8, verbose=0)
    counters = [w for w in layer.non_trainable_weights if "dropout_step" in w.name]
    assert [int(counter.numpy()) for counter in counters] == [8]
    predicted = model.predict(dense, batch_size=8, verbose=0)
    np.testing.assert_array_equal(predicted, model.predict(dense, batch_size=8, verbose=0))
    assert int(counters[0].numpy()) == 8


def test_cells_refuse_it() -> None:
    with pytest.raises(UnsupportedNetwork, match="dropout"):
        SparseLIFCell(inputs=10, layers=LAYERS, readout=READOUT)
