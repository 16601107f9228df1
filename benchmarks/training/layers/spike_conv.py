"""Time a convolution that reads ids of spikes beside TensorFlow's `tf.nn.conv2d`.

    python -m benchmarks.training spike-conv
    python -m benchmarks.training spike-conv --activity 0.01 0.1 --rounds 15

Both have the same kernel and the same spikes, as ids and counts for `ipulse_ops.conv.spike_conv`
and as images of 0 and 1 for `tf.nn.conv2d`, and one thread. A step is the currents and
their gradient by the kernel, in one TensorFlow function. The figure is the processor time of the
process, in interleaved rounds of which the fastest call counts; `ratio` is dense over sparse.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.training.layers.equations import Measured, least
from benchmarks.training.network import limit_tensorflow_threads
from ipulse_core.spec.conv_geometry import Planes, conv_geometry

PLANES, FILTERS, KERNEL = Planes(34, 34, 2), 12, (5, 5)  # the first layer of configuration A
TOLERANCE = 1e-4  # between the two currents, relative to the largest


def passes(steps: int, batch: int, activity: float) -> dict[str, dict[str, Measured]]:
    """Return the passes of both convolutions, by pass and convolution.

    Raises ValueError if they compute different currents.
    """
    import tensorflow as tf

    from ipulse_ops.conv.spike_conv import spike_conv
    from ipulse_ops.direct_call import DirectCall
    from ipulse_ops.reference.spikes import dense_to_sparse

    geometry = conv_geometry(PLANES, filters=FILTERS, kernel=KERNEL)
    rng = np.random.default_rng(1)
    shape = (steps, batch, PLANES.height, PLANES.width, PLANES.channels)
    dense = (rng.random(shape, np.float32) < activity).astype(np.float32)
    ids, counts = (tf.constant(x) for x in dense_to_sparse(dense.reshape(steps, batch, -1)))
    images = tf.constant(dense.reshape(-1, *shape[2:]))
    kernel = tf.Variable(rng.standard_normal(geometry.weights, np.float32))
    by_current = tf.constant(rng.standard_normal((steps, batch, geometry.neurons), np.float32))

    def sparse_currents() -> Any:
        return spike_conv(geometry, kernel, ids, counts, threads=1)

    def dense_currents() -> Any:
        return tf.reshape(tf.nn.conv2d(images, kernel, 1, "VALID"), by_current.shape)

    found: dict[str, dict[str, Measured]] = {"forward": {}, "step": {}}
    for name, currents in {"sparse": sparse_currents, "dense": dense_currents}.items():

        def step(currents: Measured = currents) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(by_current * currents())
            return tape.gradient(loss, kernel)

        found["forward"][name] = DirectCall(tf.function(currents))
        found["step"][name] = DirectCall(tf.function(step))
    for calls in found.values():
        sparse, other = (np.asarray(calls[name]()) for name in ("sparse", "dense"))
        if np.abs(sparse - other).max() > TOLERANCE * np.abs(other).max():
            raise ValueError("the convolutions compute different numbers")
    return found


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("training spike-conv", __doc__)
    parser.add_argument("--activity", type=float, nargs="+", default=[0.01, 0.02, 0.05, 0.1])
    parser.add_argument("--steps", type=int, default=25, help="of a sample (%(default)s)")
    parser.add_argument("--batch", type=int, default=16, help="samples (%(default)s)")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(arguments)
    limit_tensorflow_threads()
    rows: list[Row] = []
    for activity in options.activity:
        for name, calls in passes(options.steps, options.batch, activity).items():
            rounds = [
                {which: least(call) for which, call in calls.items()} for _ in range(options.rounds)
            ]
            ms = {which: statistics.median(each[which] for each in rounds) for which in calls}
            row: Row = {"activity": activity, "pass": name}
            row.update({f"{which}_ms": value for which, value in ms.items()})
            ratios = [each["dense"] / each["sparse"] for each in rounds]
            rows.append({**row, "ratio": statistics.median(ratios)})
    finish(rows, options.output)
