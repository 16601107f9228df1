"""The ops on other numbers of threads: the same bits. TensorFlow sets it once per process."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import hashlib, sys
import numpy as np, tensorflow as tf
tf.config.threading.set_intra_op_parallelism_threads(int(sys.argv[1]))
from ops.sparse import select_spikes, sparse_to_dense, spike_matmul
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


@pytest.mark.slow
def test_bits_do_not_depend_on_threads() -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, str(threads)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for threads in (1, 5)
    ]
    printed = {process.communicate()[0] for process in started}
    assert [process.returncode for process in started] == [0, 0]
    assert len(printed) == 1
