"""Our network of the benchmark: a Keras layer, Adam, and two TensorFlow functions."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from benchmarks.training.program import Program
from benchmarks.training.workload import (
    CLASSES,
    DECAY,
    INPUTS,
    LEARNING_RATE,
    SLOPE,
    Config,
    Workload,
)
from ipulse_ops.lif.network import LIF, LeakyReadout, Network, SuperSpike

# Second threshold of the hidden layers: neurons below it receive no gradient.
SECOND_THRESHOLD: dict[str, float | None] = {"exact": None, "gated 0.5": 0.5, "gated 0.9": 0.9}


def network_of(config: Config, variant: str) -> Network:
    """Return the network of a variant, for the reference and for the kernels on arrays."""
    hidden = LIF(config.neurons, DECAY, second_threshold=SECOND_THRESHOLD[variant], gain=1.0)
    return Network(
        inputs=INPUTS,
        layers=tuple(hidden for _ in config.gains),
        readout=LeakyReadout(CLASSES, DECAY, gain=1.0),
        surrogate=SuperSpike(SLOPE),
    )


def build(
    work: Workload,
    variant: str,
    threads: int,
    weights_dtype: str = "float32",
    **options: Any,
) -> Program:
    """Build the workload's network with its optimizer; `options` are further ones of MultiLIF.

    A training step is forward, loss, backward and Adam in one tf.function, called through
    ipulse_ops.direct_call. Input spikes are ids that exist before the clock starts.
    """
    import tensorflow as tf

    from ipulse_ops.direct_call import DirectCall
    from ipulse_ops.keras import MultiLIF
    from ipulse_ops.reference.spikes import dense_to_sparse
    from ipulse_ops.training.adam import apply_adam
    from ipulse_ops.training.losses import mean_membrane_cross_entropy

    network = network_of(work.config, variant)
    layer = MultiLIF(
        inputs=INPUTS,
        layers=list(network.layers),
        readout=network.readout,
        surrogate=network.surrogate,
        threads=threads,
        weights_dtype=weights_dtype,
        **options,
    )
    for kernel, matrix in zip(layer.kernels, work.weights, strict=True):
        kernel.assign(matrix)
    means, squares = (
        [tf.Variable(tf.zeros_like(kernel)) for kernel in layer.kernels] for _ in range(2)
    )
    update = tf.Variable(0, dtype=tf.int64)
    ids, counts = (tf.constant(array) for array in dense_to_sparse(work.spikes))
    labels = tf.constant(work.labels)

    def loss_of(output: Any) -> Any:
        return tf.reduce_mean(mean_membrane_cross_entropy(output.membrane, labels))

    @tf.function
    def forward() -> Any:
        return loss_of(layer(ids, counts, training=False))

    @tf.function
    def gradients() -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(layer(ids, counts, training=True))
        return loss, tape.gradient(loss, layer.trainable_weights)

    @tf.function
    def train() -> Any:
        loss, grads = gradients()
        number = update.assign_add(1)
        apply_adam(layer.kernels, means, squares, grads, number, LEARNING_RATE, threads=threads)
        return loss

    def rates() -> list[float]:
        output = layer(ids, counts, training=False)
        spikes = [counts[..., 0] for counts in output.spike_counts]
        return [float(tf.reduce_mean(count)) / work.config.neurons for count in spikes]

    call_forward, call_train = DirectCall(forward), DirectCall(train)
    return Program(
        forward=lambda: float(call_forward()),
        train=lambda: float(call_train()),
        gradients=lambda: [grad.numpy() for grad in gradients()[1]],
        rates=rates,
    )


def limit_tensorflow_threads() -> None:
    """Give TensorFlow one thread: the kernels have their own, and others would compete."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def versions() -> dict[str, str]:
    """Return the versions of the libraries that our network runs in."""
    return {package: version(package) for package in ("tensorflow-cpu", "keras")}
