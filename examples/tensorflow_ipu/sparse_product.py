"""Compares a sparse product on the IPU, and its gradient, with the dense product of TensorFlow.

sparse_product.py LIBRARY, the path of the compiled sparse_product_op.cpp
(docs/tutorial/9-ipu-script.md).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.python import ipu

BATCH, SLOTS, COLUMNS, ROWS = 4, 8, 64, 48
WITH_GRADIENTS = [2]  # the ids and their numbers are integers


def sparse_product(library, ids, counts, weights):
    """Return the sums of the columns that the ids select, [batch, rows]."""
    (sums,) = ipu.custom_ops.precompiled_user_op(
        [ids, counts, weights],
        library,
        str(Path(__file__).with_name("sparse_product_codelets.cpp")),
        outs={
            "output_types": [tf.float32],
            "output_shapes": [tf.TensorShape([ids.shape[0], weights.shape[0]])],
        },
        inputs_with_gradients=WITH_GRADIENTS,
    )
    return sums


def spikes():
    """Return random ids, their numbers, and the same as dense vectors."""
    random = np.random.RandomState(0)
    counts = random.randint(0, SLOTS + 1, (BATCH, 1)).astype(np.int32)
    ids = np.zeros((BATCH, SLOTS), np.int32)
    dense = np.zeros((BATCH, COLUMNS), np.float32)
    for sample, count in enumerate(counts[:, 0]):
        ids[sample, :count] = random.choice(COLUMNS, count, replace=False)
        dense[sample, ids[sample, :count]] = 1.0
    return ids, counts, dense


def main() -> int:
    """Return 0 if both products and both gradients agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    options = parser.parse_args()
    ids, counts, dense = spikes()

    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    strategy = ipu.ipu_strategy.IPUStrategy()
    with strategy.scope():
        initial = np.random.RandomState(1).randn(ROWS, COLUMNS).astype(np.float32)
        weights = tf.Variable(initial)

        @tf.function(experimental_compile=True)
        def value_and_gradient(is_sparse):
            with tf.GradientTape() as tape:
                if is_sparse:
                    sums = sparse_product(
                        options.library, tf.constant(ids), tf.constant(counts), weights
                    )
                else:
                    sums = tf.matmul(tf.constant(dense), weights, transpose_b=True)
                loss = tf.reduce_sum(tf.square(sums))
            return sums, tape.gradient(loss, weights)

        found = strategy.run(value_and_gradient, args=[True])
        expected = strategy.run(value_and_gradient, args=[False])
    errors = [float(np.abs(a.numpy() - b.numpy()).max()) for a, b in zip(found, expected)]
    sys.stdout.write(f"largest difference: {errors[0]:.1e}, of the gradient {errors[1]:.1e}\n")
    return 0 if max(errors) < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
