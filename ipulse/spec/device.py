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
