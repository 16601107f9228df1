"""`random_spikes` as a TensorFlow op."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf

from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.seed import word64
from ipulse_ops.validation import to_int32, whole


def random_spikes(seed: Any, counts: Any, neurons: int, slots: Optional[int] = None) -> Any:
    """Draw `counts` different neurons per step and sample: ids float32 `[time, batch, slots]`.

    The ids ascend and are followed by zeros. They equal those of
    ipulse_ops.reference.random_spikes.random_spikes to the bit, and carry no gradient.

    seed: 0 to 2^64 - 1, or an int64 tensor.
    counts: `[time, batch]`, integers of any numeric type.
    slots: number of slots; None uses the largest count, at least 1, which is then unknown while
        tracing.

    Raises tf.errors.InvalidArgumentError if a count is not 0 to `neurons`, or `slots` is smaller
    than a count; ValueError if `neurons` or `slots` is not an integer of at least 1.
    """
    return library().ipulse_random_spikes(
        seed=word64(seed),
        counts=to_int32("counts", counts),
        neurons=whole("neurons", neurons),
        slots=0 if slots is None else whole("slots", slots),
    )


tf.no_gradient("IpulseRandomSpikes")
