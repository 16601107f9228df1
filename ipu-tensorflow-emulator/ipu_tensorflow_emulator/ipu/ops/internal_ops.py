"""`ipu.internal_ops`: operations for tests."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.process import has_no_effect


def print_tensor(input: Any, name: str = "") -> Any:
    """Return an operation that prints a tensor."""
    return tf.print(name, input)


def remap(x: Any, name: Optional[str] = None) -> Any:
    """Return a copy; layouts are not emulated for TensorFlow's ops."""
    has_no_effect("internal_ops.remap")
    return tf.identity(x, name=name)
