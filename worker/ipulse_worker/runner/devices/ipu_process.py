"""Settings of Poplar and of TensorFlow for the IPU in the process of an attempt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, List

from ipulse_core.poplar_environment import REPORTS, TRACES
from ipulse_worker.runner.devices.description import DeviceFile

if TYPE_CHECKING:
    from ipulse.spec import IPUDevice

BINARY = "application/octet-stream"
EXECUTABLE = ".poplar_exec"
COMPILES_ONLY = ("PRE_COMPILE", "NEVER")


def set_environment(settings: IPUDevice, executables: Path) -> None:
    """Set TF_POPLAR_FLAGS; call this before Poplar is first used, which reads them.

    The flags and options of the spec are in the environment already.

    Args:
        settings: the device of the spec.
        executables: directory of TensorFlow's executable cache.
    """
    flags = {
        "executable_cache_path": str(executables),
        "on_demand_device_poll_time": str(round(1000 * settings.acquire_poll_seconds)),  # ms
        "on_demand_device_timeout": str(round(1000 * settings.acquire_timeout_seconds)),  # ms
    }
    present = os.environ.get("TF_POPLAR_FLAGS", "").split()
    kept = [flag for flag in present if flag.lstrip("-").split("=")[0] not in flags]
    added = [f"--{name}={value}" for name, value in flags.items()]
    os.environ["TF_POPLAR_FLAGS"] = " ".join([*kept, *added])


def configuration(ipu: Any, settings: IPUDevice) -> Any:
    """Return an IPUConfig for the settings; `ipu` is the module `tensorflow.python.ipu`."""
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
    """Return the names of the executables in TensorFlow's cache."""
    return sorted(path.stem for path in directory.glob(f"*{EXECUTABLE}"))


def report_files(work_dir: Path) -> List[DeviceFile]:
    """Return the files that Poplar wrote to an attempt's directory.

    They are a profile of every program in the order of compilation, the debug contexts, and the
    traces of the System Analyser.
    """
    reports, traces = work_dir / REPORTS, work_dir / TRACES
    profiles = sorted(reports.glob("tf_report_*/profile.pop"))
    files = [
        DeviceFile(
            _numbered("profile", number, ".pop"), "poplar_profile", BINARY, path.read_bytes()
        )
        for number, path in enumerate(profiles, start=1)
    ]
    debug = reports / "debug.cbor"
    if debug.exists():
        files.append(DeviceFile("debug.cbor", "poplar_profile", BINARY, debug.read_bytes()))
    for number, path in enumerate(sorted(traces.glob("*.pvti")), start=1):
        files.append(
            DeviceFile(_numbered("host", number, ".pvti"), "trace", BINARY, path.read_bytes())
        )
    return files


def _numbered(name: str, number: int, suffix: str) -> str:
    return f"{name}{suffix}" if number == 1 else f"{name}_{number}{suffix}"
