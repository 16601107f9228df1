"""The variables that a runner sees: no others of the agent's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ipulse_core.checkout import import_paths

FORWARDED_VARIABLES = (
    *("PATH", "HOME", "TMPDIR", "IPULSE_CACHE"),
    *(
        "IPULSE_DEVICES",
        "IPULSE_EMULATED_IPUS",
        "IPULSE_EXECUTABLE_BYTES",
        "IPULSE_EXECUTABLE_DAYS",
    ),
    # What `source .../enable.sh` of a Poplar SDK sets, and where the IPUs of a pod are.
    *("POPLAR_SDK_ENABLED", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "IPULSE_POPLAR_OP"),
    *("IPUOF_VIPU_API_HOST", "IPUOF_VIPU_API_PORT", "IPUOF_VIPU_API_PARTITION_ID"),
    *("IPUOF_VIPU_API_GCD_ID", "IPUOF_VIPU_API_TIMEOUT", "IPUOF_CONFIG_PATH"),
)


def runner_environment(
    environment: Mapping[str, str], data_dir: Path | None = None
) -> dict[str, str]:
    """All that a runner is told through its environment: no token, no address."""
    told = {name: environment[name] for name in FORWARDED_VARIABLES if name in environment}
    if data_dir:
        told["IPULSE_DATA"] = str(data_dir)
    told["LANG"] = "C.UTF-8"
    told["PYTHONUNBUFFERED"] = "1"  # what was printed before a crash reaches the log
    told["PYTHONFAULTHANDLER"] = "1"  # a segmentation fault leaves a traceback there
    if "POPLAR_SDK_ENABLED" in told and "PYTHONPATH" in environment:
        told["PYTHONPATH"] = environment["PYTHONPATH"]  # the SDK's own modules, such as pva
    # The runner's interpreter may be another than ours, with no link to a checkout.
    paths = [str(path) for path in import_paths()]
    if paths:
        told["PYTHONPATH"] = os.pathsep.join(filter(None, [*paths, told.get("PYTHONPATH")]))
    return told
