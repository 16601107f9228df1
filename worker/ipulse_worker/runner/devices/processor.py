"""The processor of this machine, and TensorFlow on it."""

from __future__ import annotations

import os
from typing import Any, Dict

import tensorflow as tf

from ipulse_worker.runner import provenance


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def cpu_target(threads: int) -> Dict[str, Any]:
    """Return the machine as the target of a profile."""
    host = provenance.host()
    return {
        "type": "Cpu",
        "model": host["cpu"],
        "cores": host["cores"],
        "threads": threads,
        "totalMemory": host["memory_bytes"],
    }


def configure_tensorflow(threads: int, seed: int) -> None:
    """Configure TensorFlow; its first op fixes the threads for the life of the process."""
    # The kernels run on CPUs; TensorFlow would allocate a GPU's memory without using it.
    tf.config.set_visible_devices([], "GPU")
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.random.set_seed(seed)
    # TensorFlow 2.6 lacks this switch; the ops used here are deterministic there.
    enable = getattr(tf.config.experimental, "enable_op_determinism", None)
    if enable is not None:
        enable()
    # Keras 3 would replace the class and message of an error that passes through a layer.
    keras: Any = getattr(tf.keras, "config", None)
    if hasattr(keras, "disable_traceback_filtering"):
        keras.disable_traceback_filtering()
