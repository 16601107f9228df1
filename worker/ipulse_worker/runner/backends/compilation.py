"""How a device got its programs: for the log, the job and its files."""

from __future__ import annotations

from typing import Any, Dict

from ipulse_core.registry.kinds import DEVICES
from ipulse_worker.runner.backends.device import Device


def log_message(device: Device, seconds: float) -> str:
    """Return whether programs were compiled, stored or loaded, and how long it took."""
    duration = f"in {seconds:.2f} s"
    if not device.is_compiled:
        return f"prepared {duration}; programs are compiled by the call that first runs them"
    executables = device.executables()
    keys = _keys(device)
    if device.connection == "PRE_COMPILE":
        return f"pre-compiled {duration} into the executable cache: {keys}"
    if DEVICES[device.kind].has_tiles and executables and all(e.is_from_cache for e in executables):
        return f"loaded from the executable cache {duration}, nothing compiled: {keys}"
    return f"compiled {duration}"


def outcome_message(device: Device) -> str:
    """Return the outcome of an attempt that only compiled."""
    what = "Compiled; it fits into the device"
    if device.connection == "PRE_COMPILE":
        what = f"Pre-compiled into the executable cache as {_keys(device)}"
    return f"{what}. Nothing was executed: device.connection_type is {device.connection}."


def executables_document(device: Device, execution: Dict[str, Any]) -> Dict[str, Any]:
    """Return the content of executable.json; `execution` is that of `execution_outcome`."""
    return {
        "schema": "ipulse.executable/1",
        "connection_type": device.connection,
        "executables": [executable._asdict() for executable in device.executables()],
        "execution": execution,
    }


def _keys(device: Device) -> str:
    return ", ".join(executable.key for executable in device.executables())
