"""`ipu.distributed`: several processes, of which one is emulated."""

from __future__ import annotations

import sys
from typing import Any

from ipu_tensorflow_emulator.ipu.ipu_strategy import IPUStrategyV1


class PopDistStrategy(IPUStrategyV1):
    """A strategy of several processes, of which there is one."""

    def __init__(
        self,
        ipu_device: str = "/device:IPU:0",
        add_ipu_cross_replica_reductions: bool = True,
        enable_dataset_iterators: bool = True,
        enable_keras_extensions: bool = True,
        **more: Any,
    ) -> None:
        """Use the configured IPUs."""
        super().__init__(
            ipu_device,
            enable_dataset_iterators=enable_dataset_iterators,
            enable_keras_extensions=enable_keras_extensions,
        )


IPUMultiReplicaStrategy = PopDistStrategy
IPUHorovodStrategy = IPUHorovodStrategyV1 = PopDistStrategy
ipu_horovod_strategy = sys.modules[__name__]  # a module of its own in older SDKs


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
