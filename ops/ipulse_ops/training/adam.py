"""Adam and AdamW over all weights of a model in one multi-threaded pass, as a TensorFlow op.

The equations are in lif/cpu/kernels/adam_step.h.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

import tensorflow as tf

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
    """Apply one update to weights and moments, which are float32 `tf.Variable`s.

    means, squares: running means of the gradients and of their squares, with the shapes of the
        weights; zeros before the first update.
    update: number of the update, from 1, an integer scalar.
    rate: learning rate, a scalar.
    weight_decay: coefficient of decoupled weight decay (AdamW); 0 is Adam.
    threads: 0 for all processors that the process may use; results do not depend on it.
    arch: mask of CPU features to use, None for all of this machine's; results do not depend on it.

    Inside a tf.function it runs in program order, like a variable's `assign`.

    Raises tf.errors.InvalidArgumentError if shapes or numbers do not fit; MissingCompiler,
    BuildFailed on the first call.
    """
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
