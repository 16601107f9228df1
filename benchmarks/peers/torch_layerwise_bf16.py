"""torch_layerwise with products in bfloat16, which matrix units make cheap. Not float32."""

from __future__ import annotations

import torch

from benchmarks.peers import torch_layerwise
from benchmarks.program import Program
from benchmarks.workload import Workload


def build(work: Workload, threads: int, fused_adam: bool) -> Program:
    """The peer's passes."""
    plain = torch_layerwise.build(work, threads, fused_adam)
    narrow = torch.autocast("cpu", dtype=torch.bfloat16)
    return Program(
        narrow(plain.forward), narrow(plain.train), narrow(plain.gradients), narrow(plain.rates)
    )
