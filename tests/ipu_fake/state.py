"""The state of the process's IPUs, which determines the calls that are allowed next."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

KNOWN_FLAGS = (
    *("help", "use_synthetic_data", "synthetic_data_categories", "synthetic_data_initializer"),
    *("use_ipu_model", "log_cycle_count", "while_loop_brute_force_max_trip_count"),
    *("max_compilation_threads", "max_infeed_threads", "executable_cache_path"),
    *("dump_schedule_as_dot", "tensor_map_file_path", "fallback_scheduler", "allow_nans"),
    *("null_data_feed", "show_progress_bar", "on_demand_device_poll_time"),
    *("on_demand_device_timeout", "ipu_model_tiles", "sync_replica_start"),
    *("enable_hlo_verifier", "disable_poplar_version_check"),
)


@dataclass
class Trace:
    """A program while it is traced."""

    checks: bool  # with XLA, without custom ops and queues
    attributes: List[str] = field(default_factory=list)  # of its custom ops
    unhashable: List[str] = field(default_factory=list)  # custom ops that no cache may keep
    outfeeds: List[Any] = field(default_factory=list)


@dataclass
class State:
    devices: int = 1  # IPUs that are free
    error: str = ""  # words of what executing raises
    checks_with_xla: bool = True  # off saves a second for each program
    configured: Optional[Any] = None  # the IPUConfig in use
    generation: int = 0  # of configurations
    trace: Optional[Trace] = None
    is_running: bool = False
    is_attached: bool = False
    log: List[str] = field(default_factory=list)  # lines of TensorFlow's log
    read_flags: Optional[Dict[str, str]] = None

    def flags(self) -> Dict[str, str]:
        """TF_POPLAR_FLAGS, read once."""
        if self.read_flags is None:
            words = os.environ.get("TF_POPLAR_FLAGS", "").split()
            pairs = [word.lstrip("-").partition("=") for word in words]
            self.read_flags = {name: value for name, _, value in pairs}
            for name in self.read_flags:
                if name not in KNOWN_FLAGS:
                    raise SystemExit(f"Unknown flag passed in TF_POPLAR_FLAGS: {name}")
            poll = self.read_flags.get("on_demand_device_poll_time", "1000")
            if int(poll) < 100:
                raise SystemExit(f"on_demand_device_poll_time must be at least 100; got {poll}")
        return self.read_flags

    def attach(self, ipus: int, error: Exception) -> None:
        """Raises the error where too few devices are free."""
        if ipus > self.devices:
            raise error
        self.is_attached = True
        self.log.append(
            f"TensorFlow device /device:IPU:0 attached to {ipus} IPU with Poplar device ID: 0"
        )


STATE = State()


def reset() -> None:
    """Reset the state to that of a new process."""
    STATE.__init__()  # type: ignore[misc] # everything at its default
