"""The layers in plain Keras models: stacked, saved, loaded, without a compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import LIF, LeakyReadout, LIFLayer, LIFReadout, MultiLIF

KERAS_3 = int(tf.__version__.split(".")[1]) >= 16


def stacked() -> Any:
    """Dense spikes [batch, time, 20] to the readout's membranes [batch, time, 4].

    Functional: Keras 2's Sequential takes no layer that returns two tensors.
    """
    tf.keras.utils.set_random_seed(4) if KERAS_3 else tf.random.set_seed(4)
    options = {"time_major": False}
    inputs = tf.keras.Input((12, 20))
    spikes = LIFLayer(20, LIF(neurons=30, decay=0.75, second_threshold=0.25), **options)(inputs)
    spikes = LIFLayer(30, LIF(neurons=16, decay=0.75), **options)(spikes.ids, spikes.counts)
    readout = LIFReadout(16, LeakyReadout(neurons=4, decay=0.75), **options)
    return tf.keras.Model(inputs, readout(spikes.ids, spikes.counts))


def dense(samples: int = 6) -> np.ndarray:
    rng = np.random.Generator(np.random.PCG64(1))
    return (rng.random((samples, 12, 20)) < 0.4).astype(np.float32)


def test_stacked_layers_are_one_network() -> None:
    model = stacked()
    layers = model.layers[-3:]
    net = MultiLIF(
        inputs=20,
        layers=[layer.network.readout for layer in layers[:2]],
        readout=LeakyReadout(neurons=4, decay=0.75),
        time_major=False,
    )
    net.set_kernels([layer.kernels[0].numpy() for layer in layers])
    np.testing.assert_array_equal(model(dense()), net(dense()).membrane)


@pytest.mark.old_python
@pytest.mark.sample(1)
def test_fit_reaches_every_layer() -> None:
    model, spikes = stacked(), dense(32)
    before = [kernel.copy() for kernel in model.get_weights()]
    model.compile(optimizer="adam", loss="mse")
    model.fit(spikes, np.ones((32, 12, 4), np.float32), epochs=1, batch_size=8, verbose=0)
    changed = [not np.array_equal(a, b) for a, b in zip(before, model.get_weights())]
    assert sum(changed) >= 3


# Keras 3 reads its own variables in a way that NumPy 2 has deprecated.
@pytest.mark.old_python
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_functional_model_saves_and_loads(tmp_path: Path) -> None:
    inputs = tf.keras.Input((12, 20))
    net = MultiLIF(
        inputs=20,
        layers=[LIF(neurons=30, second_threshold=0.5)],
        readout=LeakyReadout(neurons=4),
        trainable=["decay"],
        time_major=False,
    )
    model = tf.keras.Model(inputs, net(inputs).membrane)
    net.second_thresholds[0].assign(np.full(30, 0.75))
    path = tmp_path / ("model.keras" if KERAS_3 else "model.h5")
    model.save(str(path))
    again = tf.keras.models.load_model(str(path))
    np.testing.assert_array_equal(model(dense()), again(dense()))
    for one, other in zip(model.get_weights(), again.get_weights()):
        np.testing.assert_array_equal(one, other)


# Keras 3 reads its own variables in a way that NumPy 2 has deprecated.
@pytest.mark.old_python
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_layers_in_a_row_save_with_their_optimizer_and_train_on(tmp_path: Path) -> None:
    inputs = tf.keras.Input((12, 20))
    hidden = LIFLayer(20, LIF(neurons=9), time_major=False)(inputs)
    outputs = LIFReadout(9, LeakyReadout(neurons=4), time_major=False)(hidden)
    model = tf.keras.Model(inputs, outputs)
    model.compile(optimizer="adam", loss="mse")
    targets = np.ones(outputs.shape[1:], np.float32)[None].repeat(len(dense()), axis=0)
    model.train_on_batch(dense(), targets)
    path = tmp_path / ("model.keras" if KERAS_3 else "model.h5")
    model.save(str(path))
    again = tf.keras.models.load_model(str(path))
    losses = [one.train_on_batch(dense(), targets) for one in (model, again)]
    assert losses[0] == losses[1]
    for one, other in zip(model.get_weights(), again.get_weights()):
        np.testing.assert_array_equal(one, other)


@pytest.mark.old_python
@pytest.mark.parametrize("trainable", [(), ("decay", "threshold")])
def test_a_checkpoint_of_a_layer_alone(tmp_path: Path, trainable: Any) -> None:
    layer = LIF(neurons=np.int64(9), decay=np.float32(0.5), second_threshold=0.5, recurrent=True)
    nets = [
        MultiLIF(inputs=20, layers=[layer], readout=LeakyReadout(4), trainable=trainable)
        for _ in range(2)
    ]
    for number, variable in enumerate(nets[0].variables):
        variable.assign(np.full(variable.shape, 0.5 + number / 64))
    path = tf.train.Checkpoint(net=nets[0]).save(str(tmp_path / "checkpoint"))
    tf.train.Checkpoint(net=nets[1]).restore(path).assert_existing_objects_matched()
    for one, other in zip(nets[0].get_weights(), nets[1].get_weights()):
        np.testing.assert_array_equal(one, other)
    assert MultiLIF.from_config(json.loads(json.dumps(nets[0].get_config()))).network.layers == (
        LIF(neurons=9, decay=0.5, second_threshold=0.5, recurrent=True),
    )


@pytest.mark.old_python
def test_saved_model_runs(tmp_path: Path) -> None:
    net = MultiLIF(
        inputs=20,
        layers=[LIF(neurons=9)],
        readout=LeakyReadout(neurons=4),
        trainable="decay",
        time_major=False,
    )
    module = tf.Module()
    module.net = net
    signature = [tf.TensorSpec([None, 12, 20], tf.float32)]
    module.run = tf.function(lambda x: net(x, training=False).membrane, input_signature=signature)
    tf.saved_model.save(module, str(tmp_path))
    again = tf.saved_model.load(str(tmp_path))
    np.testing.assert_array_equal(again.run(dense()), net(dense()).membrane)


@pytest.mark.verify
def test_no_compiler_is_named_numpy_needs_none_and_a_build_is_reported(tmp_path: Path) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ]\n')
    compiler.chmod(0o755)
    code = """
import os, sys
import numpy as np
from ipulse_core.build_cache.toolchain import BuildFailed, MissingCompiler
from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF
fields = dict(inputs=20, layers=[LIF(neurons=9)], readout=LeakyReadout(neurons=4))
ids, counts = np.ones((5, 2, 3), np.int32), np.full((5, 2), 3, np.int32)
try:
    MultiLIF(**fields)(ids, counts)
except MissingCompiler as error:
    print(error)
print(MultiLIF(backend="numpy", **fields)(ids, counts).membrane.shape)
print(MultiLIF(backend="numpy", **fields)(np.ones((6, 2, 20), np.float32)).membrane.shape)
os.environ["CXX"] = sys.argv[1]
try:
    MultiLIF(**fields)(ids, counts)
except BuildFailed:
    print("refused")
"""
    environment = {**os.environ, "IPULSE_CACHE": str(tmp_path), "PATH": ""}
    environment.pop("CXX", None)
    done = subprocess.run(
        [sys.executable, "-c", code, str(compiler)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert "Debian: apt-get install g++" in done.stdout
    assert "(5, 2, 4)" in done.stdout
    assert "(6, 2, 4)" in done.stdout
    assert "refused" in done.stdout, done.stderr
    assert "IPUlse: building liblif.so: step 0 of" in done.stderr
