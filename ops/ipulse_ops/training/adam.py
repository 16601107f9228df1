"""Adam and AdamW over all weights of a model in one multi-threaded pass, as a TensorFlow op.

The equations are in lif/cpu/adam.h.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.cpu.op_library import library


def apply_adam(
    weights: Sequence[Any],
    means: Sequence[Any],
    squares: Sequence[Any],
    gradients: Sequence[Any],
    update: Any,
    rate: Any,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
    weight_decay: float = 0.0,
    threads: int = 0,
    arch: Optional[int] = None,
) -> None:
    """Change weights and moments, all of them `tf.Variable`s of float32, by one update.

    means, squares: running means of the gradients and of their squares, zeros before the first
        update; of the weights' shapes.
    update: its number, from 1, a scalar integer. rate: a scalar.
    weight_decay: times the rate, the share of each weight that is taken away (AdamW); 0 is Adam.
    threads: 0 for as many as the process may run on; results do not depend on it.
    arch: CPU features that may be used, None for all of this machine's; nor on these.

    Inside a tf.function it runs in the order of the program, as a variable's `assign` does.

    Raises tf.errors.InvalidArgumentError if shapes or numbers do not fit; MissingCompiler,
    BuildFailed on the first call.
    """
    import tensorflow as tf

    library().ipulse_adam(
        weights=[weight.handle for weight in weights],
        means=[mean.handle for mean in means],
        squares=[square.handle for square in squares],
        gradients=list(gradients),
        update=tf.cast(update, tf.int64),
        rate=tf.cast(rate, tf.float32),
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        weight_decay=weight_decay,
        threads=threads,
        arch=native.supported_arch() if arch is None else arch,
    )
