"""The metrics of `model.fit` as a file of IPUlse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras.callbacks import IPUlseLogger

pytestmark = pytest.mark.old_python


def test_every_epoch_and_every_second_batch_is_a_line(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    values, labels = np.random.default_rng(0).random((16, 3)), np.arange(16) % 2
    path = tmp_path / "metrics.jsonl"
    path.write_text("of a former training")
    logger = IPUlseLogger(path, every=2)
    fitted = model.fit(
        values,
        labels,
        batch_size=4,
        epochs=2,
        validation_data=(values, labels),
        verbose=0,
        callbacks=[logger],
    )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    epochs = [line for line in lines if line["scope"] == "epoch"]
    steps = [line for line in lines if line["scope"] == "step"]
    assert [(line["epoch"], line["step"]) for line in epochs] == [(1, 4), (2, 8)]
    assert [(line["epoch"], line["step"]) for line in steps] == [(1, 2), (1, 4), (2, 6), (2, 8)]
    assert [line["loss"] for line in epochs] == fitted.history["loss"]
    assert [line["test_accuracy"] for line in epochs] == fitted.history["val_accuracy"]
    assert all("loss" in line for line in steps)


def test_a_loss_that_is_no_number_is_null(tmp_path: Path) -> None:
    logger = IPUlseLogger(tmp_path / "metrics.jsonl")
    logger.on_train_begin()
    logger.on_epoch_begin(0)
    logger.on_epoch_end(0, {"loss": float("nan"), "val_loss": 1.5})
    [line] = (tmp_path / "metrics.jsonl").read_text().splitlines()
    expected = {"scope": "epoch", "epoch": 1, "step": 0, "loss": None, "test_loss": 1.5}
    assert json.loads(line) == expected
