"""What a runner imports and loads before a training is assigned to it."""

from __future__ import annotations

from contextlib import suppress

import tensorflow as tf

import ipulse_worker.runner.attempts.training  # noqa: F401 - a training needs it at once
from ipulse_ops.lif.cpu import native, op_library
from ipulse_ops.lif.cpu.native import NativeError
from ipulse_worker.runner.data import DataUnavailable, digits


def warm_up() -> None:
    """Import, read and load what a training is likely to need.

    Nothing is built here, because a job reports the progress of builds. Missing parts are ignored
    here: the phase that needs them reports the problem and a hint.
    """
    with suppress(ImportError):
        __import__("nir")
    with suppress(DataUnavailable):
        digits.scans()
    with suppress(NativeError, OSError, tf.errors.OpError):
        if native.is_tensorflow_op_built():
            native.library()
            op_library.library()
