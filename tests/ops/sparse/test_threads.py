"""The ops on other numbers of threads: the same bits. TensorFlow sets it once per process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import hashlib
import numpy as np, tensorflow as tf
from ipulse_ops.sparse import select_spikes, sparse_to_dense, spike_matmul
rng = np.random.Generator(np.random.PCG64(8))
u = tf.constant(rng.normal(size=(40, 30, 150)).astype(np.float32))
weights = tf.constant(rng.normal(size=(150, 700)).astype(np.float32))
grad = rng.normal(size=(40, 30, 700)).astype(np.float32)
with tf.GradientTape() as tape:
    tape.watch([u, weights])
    found = select_spikes(u, 0.5, 0.1, 60, "top")
    product = spike_matmul(weights, found.ids, found.counts)
    loss = tf.reduce_sum(product * grad) + tf.reduce_sum(sparse_to_dense(*found[:2], 150) ** 2)
made = [*found, product, *tape.gradient(loss, [u, weights])]
print(hashlib.sha256(b"".join(tensor.numpy().tobytes() for tensor in made)).hexdigest())
"""


@pytest.mark.verify
@pytest.mark.slow
def test_bits_do_not_depend_on_threads(capsys: pytest.CaptureFixture[str]) -> None:
    """This process has one TensorFlow thread per processor; another process has fewer."""
    other = 5 if os.cpu_count() == 1 else 1
    set_threads = f"tf.config.threading.set_intra_op_parallelism_threads({other})"
    started = subprocess.Popen(
        [sys.executable, "-c", f"import tensorflow as tf\n{set_threads}\n{CODE}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    exec(CODE, {})  # noqa: S102 (ours; TensorFlow takes seconds to import)
    assert started.communicate()[0] == capsys.readouterr().out
    assert started.returncode == 0
