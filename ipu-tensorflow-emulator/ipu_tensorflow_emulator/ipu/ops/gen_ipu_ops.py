"""`tensorflow.compiler.plugin.poplar.ops.gen_ipu_ops`: the events of compilations and runs."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.process import has_no_effect


def ipu_event_trace(name: Optional[str] = None) -> Any:
    """Return a vector of events, of which there are none."""
    has_no_effect("ipu_event_trace (nothing is compiled for IPUs, so there are no events)")
    return tf.zeros([0], tf.string, name=name)
