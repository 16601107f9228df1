"""`ipu.gradient_accumulation`: how gradients of micro-batches are combined."""

from __future__ import annotations

from ipu_tensorflow_emulator.gradient_accumulation import (
    GradientAccumulationReductionMethod as GradientAccumulationReductionMethod,
)
