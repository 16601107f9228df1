"""`ipu.distributed`: several processes, of which one is emulated."""

from __future__ import annotations

from typing import Any

from ipu_tensorflow_emulator.ipu.distributed import ipu_horovod_strategy as ipu_horovod_strategy
from ipu_tensorflow_emulator.ipu.distributed import (
    ipu_multi_replica_strategy as ipu_multi_replica_strategy,
)
from ipu_tensorflow_emulator.ipu.distributed import popdist_strategy as popdist_strategy
from ipu_tensorflow_emulator.ipu.distributed.popdist_strategy import (
    PopDistStrategy as PopDistStrategy,
)

IPUMultiReplicaStrategy = IPUHorovodStrategy = IPUHorovodStrategyV1 = PopDistStrategy


def allreduce(tensor: Any, op: Any = None, **_: Any) -> Any:
    """Return the tensor: there is one process."""
    return tensor


def broadcast(tensor: Any, root_rank: int = 0, **_: Any) -> Any:
    """Return the tensor: there is one process."""
    return tensor


def allgather(tensor: Any, **_: Any) -> Any:
    """Return the tensor: there is one process."""
    return tensor


def init(*_: Any, **__: Any) -> None:
    """Do nothing: there is one process."""


def size() -> int:
    """Return the number of processes."""
    return 1


def rank() -> int:
    """Return the number of this process."""
    return 0


local_size = size
local_rank = rank
