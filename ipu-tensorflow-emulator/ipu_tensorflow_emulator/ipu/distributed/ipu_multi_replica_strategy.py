"""`ipu_multi_replica_strategy`: an older name of the strategy of several processes."""

from __future__ import annotations

from ipu_tensorflow_emulator.ipu.distributed.popdist_strategy import PopDistStrategy

IPUMultiReplicaStrategy = IPUMultiReplicaStrategyV1 = PopDistStrategy
