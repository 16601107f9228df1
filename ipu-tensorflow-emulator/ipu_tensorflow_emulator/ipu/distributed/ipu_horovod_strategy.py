"""`ipu_horovod_strategy`: an older name of the strategy of several processes."""

from __future__ import annotations

from ipu_tensorflow_emulator.ipu.distributed.popdist_strategy import PopDistStrategy

IPUHorovodStrategy = IPUHorovodStrategyV1 = PopDistStrategy
