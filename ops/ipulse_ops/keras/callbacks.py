"""Callbacks of `model.fit`."""

from __future__ import annotations

import math
import os
from typing import Any, Dict, Optional, Union

import tensorflow as tf

from ipulse_core import strict_json


class IPUlseLogger(tf.keras.callbacks.Callback):  # type: ignore[misc] # TensorFlow has no types
    """Writes metrics of `model.fit` as a job of IPUlse does, to a metrics.jsonl.

    One JSON object per line: `scope` (epoch, or step for a batch), `epoch` and `step`, from 1, and
    the metrics, null where they are not finite. Those of the validation data begin with `test_`
    in place of Keras's `val_`.

    path: the file; a former one is replaced when training begins.
    every: the number of batches between two lines of the scope step; 0 for none.
    """

    def __init__(self, path: Union[str, os.PathLike[str]], every: int = 0) -> None:
        super().__init__()
        self.path = os.fspath(path)
        self.every = every
        self._epoch = 0
        self._step = 0

    def on_train_begin(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Begin a new file."""
        self._epoch = self._step = 0
        with open(self.path, "w", encoding="utf-8"):
            pass

    def on_epoch_begin(self, epoch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Count the epoch."""
        self._epoch = epoch + 1

    def on_train_batch_end(self, batch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Write the metrics of a batch, where they are asked for."""
        self._step += 1
        if self.every and self._step % self.every == 0:
            self._write("step", logs or {})

    def on_epoch_end(self, epoch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Write the metrics of an epoch."""
        self._write("epoch", logs or {})

    def _write(self, scope: str, logs: Dict[str, Any]) -> None:
        values: Dict[str, Optional[float]] = {}
        for name, value in logs.items():
            key = f"test_{name[4:]}" if name.startswith("val_") else name
            values[key] = float(value) if math.isfinite(value) else None  # JSON has no NaN
        record = {"scope": scope, "epoch": self._epoch, "step": self._step, **values}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(strict_json.dumps(record) + "\n")
