"""What an experiment runs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ipulse.schema import described


@dataclass(frozen=True)
class CPUDevice:
    """The C++ LIF kernels inside stock TensorFlow."""

    kind: Literal["cpu"] = described("Which kind of device.", default="cpu")
    threads: int = described(
        "Threads the kernels use; 0 uses every core the worker may use.", default=0, ge=0, le=1024
    )
    weights_dtype: Literal["float32", "bfloat16"] = described(
        "bfloat16: each run rounds the weight matrices to it first, to see what that precision "
        "costs; they are kept, summed and trained in float32.",
        default="float32",
    )
    memory: Literal["slots", "recompute"] = described(
        "What waits for the backward pass. slots: the membranes that carry gradient; recompute: "
        "the spikes alone, from which the layers are run again.",
        default="slots",
    )
