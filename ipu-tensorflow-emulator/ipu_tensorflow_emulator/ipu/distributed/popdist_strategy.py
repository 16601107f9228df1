"""`ipu.distributed.popdist_strategy`: a strategy of several processes, of which one is emulated."""

from __future__ import annotations

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
