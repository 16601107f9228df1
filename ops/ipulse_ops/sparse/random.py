"""`random_spikes`, the TensorFlow op of ipulse_ops.reference.random_spikes."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf

from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.seed import word64
from ipulse_ops.validation import to_int32, whole


def random_spikes(seed: Any, counts: Any, neurons: int, slots: Optional[int] = None) -> Any:
    """Ids float32 `[time, batch, slots]`, ascending, 0 behind the counts: of each step and sample
    `counts` different neurons, the same to the bit as
    ipulse_ops.reference.random_spikes.random_spikes.

    seed: 0 to 2^64 - 1, or an int64 tensor. counts: `[time, batch]`, whole numbers.
    slots: None takes the largest count, and at least one, which is then unknown while tracing.

    Nothing of it has a gradient.

    Raises tf.errors.InvalidArgumentError if a count is not 0 to `neurons`, or `slots` is smaller
    than a count; ValueError if `neurons` or `slots` is no whole number from 1.
    """
    return library().ipulse_random_spikes(
        seed=word64(seed),
        counts=to_int32("counts", counts),
        neurons=whole("neurons", neurons),
        slots=0 if slots is None else whole("slots", slots),
    )


tf.no_gradient("IpulseRandomSpikes")
