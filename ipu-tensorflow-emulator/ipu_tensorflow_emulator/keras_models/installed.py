"""The versions of Keras that a process has."""

from __future__ import annotations

import sys
from typing import Any, Dict

import tensorflow as tf


def keras_modules() -> Dict[str, Any]:
    """Return every Keras of this process: that of TensorFlow, and what `keras` is."""
    found = {"tf.keras": tf.keras}
    for name in ("keras", "tf_keras", "tensorflow.keras"):
        if name in sys.modules:
            found[name] = sys.modules[name]
    # In TensorFlow 2.6 an attribute of the lazy `tf.keras` is lost.
    module = getattr(tf.keras, "__name__", "")
    if module in sys.modules:
        found[module] = sys.modules[module]
    return found


def keras_of(model: Any) -> Any:
    """Return the Keras of a model."""
    return next(keras for keras in keras_modules().values() if isinstance(model, keras.Model))
