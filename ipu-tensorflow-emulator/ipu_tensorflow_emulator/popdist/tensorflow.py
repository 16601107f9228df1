"""`popdist.tensorflow`: configuration of a process that runs alone."""

from __future__ import annotations

from typing import Any


def set_ipu_config(
    config: Any, ipus_per_replica: int = 1, configure_device: bool = True, **_: Any
) -> Any:
    """Select the IPUs of one replica."""
    if configure_device:
        config.auto_select_ipus = ipus_per_replica
    return config
