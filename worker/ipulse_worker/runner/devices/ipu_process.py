"""What Poplar and TensorFlow for the IPU are told of an attempt, in its process and no other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, List

from ipulse_core.poplar_environment import REPORTS, TRACES
from ipulse_worker.runner.devices.device import DeviceFile

if TYPE_CHECKING:
    from ipulse.spec import IPUDevice

BINARY = "application/octet-stream"
EXECUTABLE = ".poplar_exec"
COMPILES_ONLY = ("PRE_COMPILE", "NEVER")


def set_environment(settings: IPUDevice, executables: Path) -> None:
    """TF_POPLAR_FLAGS, which are read when Poplar is first used: that must come after this. What
    the spec says of flags and options is in the environment already.

    executables: the directory of TensorFlow's cache.
    """
    flags = {
        "executable_cache_path": str(executables),
        "on_demand_device_poll_time": str(round(1000 * settings.acquire_poll_seconds)),  # ms
        "on_demand_device_timeout": str(round(1000 * settings.acquire_timeout_seconds)),  # ms
    }
    others = os.environ.get("TF_POPLAR_FLAGS", "").split()
    kept = [flag for flag in others if flag.lstrip("-").split("=")[0] not in flags]
    ours = [f"--{name}={value}" for name, value in flags.items()]
    os.environ["TF_POPLAR_FLAGS"] = " ".join([*kept, *ours])


def configuration(ipu: Any, settings: IPUDevice) -> Any:
    """An IPUConfig for these settings. ipu: the module `tensorflow.python.ipu`."""
    config = ipu.config.IPUConfig()
    connection = settings.connection_type
    if settings.device_id is not None and connection not in COMPILES_ONLY:
        config.select_ipus = [settings.device_id]
    else:
        config.auto_select_ipus = settings.ipus
    config.device_connection.type = ipu.config.DeviceConnectionType[connection]
    if connection in COMPILES_ONLY:
        config.device_connection.version = settings.architecture
    return config


def executables_in(directory: Path) -> List[str]:
    """The names that TensorFlow gave the executables in its cache."""
    return sorted(path.stem for path in directory.glob(f"*{EXECUTABLE}"))


def report_files(work_dir: Path) -> List[DeviceFile]:
    """What Poplar left in an attempt's directory: a profile of every program in the order of their
    compilation, their debug contexts, and the System Analyser's traces."""
    reports, traces = work_dir / REPORTS, work_dir / TRACES
    profiles = sorted(reports.glob("tf_report_*/profile.pop"))
    found = [
        DeviceFile(
            _numbered("profile", number, ".pop"), "poplar_profile", BINARY, path.read_bytes()
        )
        for number, path in enumerate(profiles, start=1)
    ]
    debug = reports / "debug.cbor"
    if debug.exists():
        found.append(DeviceFile("debug.cbor", "poplar_profile", BINARY, debug.read_bytes()))
    for number, path in enumerate(sorted(traces.glob("*.pvti")), start=1):
        found.append(
            DeviceFile(_numbered("host", number, ".pvti"), "trace", BINARY, path.read_bytes())
        )
    return found


def _numbered(name: str, number: int, suffix: str) -> str:
    return f"{name}{suffix}" if number == 1 else f"{name}_{number}{suffix}"
