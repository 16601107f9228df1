"""The environment of a runner: the agent's other variables are not passed on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ipulse_core.checkout import python_path
from ipulse_core.ipu import EMULATED_IPUS_VARIABLE
from ipulse_core.poplar_environment import poplar_environment
from ipulse_core.spec import neuron_packages
from ipulse_core.spec.job_kinds import CODE_KINDS, CODE_ONLY_VARIABLE
from ipulse_core.spec.resolved_spec import read_spec

FORWARDED_VARIABLES = (
    *("PATH", "HOME", "TMPDIR", "IPULSE_CACHE"),
    *("IPULSE_DEVICES", "IPULSE_SANDBOX", EMULATED_IPUS_VARIABLE),
    *("IPULSE_EXECUTABLE_BYTES", "IPULSE_EXECUTABLE_DAYS", "IPULSE_OP_BUILD_BYTES"),
    # Set by `enable.sh` of a Poplar SDK, and the address of the IPUs of a pod.
    *("POPLAR_SDK_ENABLED", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "IPULSE_POPLAR_OP"),
    *("IPUOF_VIPU_API_HOST", "IPUOF_VIPU_API_PORT", "IPUOF_VIPU_API_PARTITION_ID"),
    *("IPUOF_VIPU_API_GCD_ID", "IPUOF_VIPU_API_TIMEOUT", "IPUOF_CONFIG_PATH"),
    *("IPULSE_IPU_SANDBOX_NETWORK", neuron_packages.VARIABLE),
)


def runner_environment(
    environment: Mapping[str, str], data_dir: Path | None = None
) -> dict[str, str]:
    """Return a runner's variables: they contain no token and no address of the service."""
    variables = {name: environment[name] for name in FORWARDED_VARIABLES if name in environment}
    if data_dir:
        variables["IPULSE_DATA"] = str(data_dir)
    variables["LANG"] = "C.UTF-8"
    variables["PYTHONUNBUFFERED"] = "1"  # output before a crash reaches the log
    variables["PYTHONFAULTHANDLER"] = "1"  # a segmentation fault leaves a traceback there
    if "POPLAR_SDK_ENABLED" in variables and "PYTHONPATH" in environment:
        variables["PYTHONPATH"] = environment["PYTHONPATH"]  # the SDK's own modules, such as pva
    # The runner may use another interpreter, in which the packages are not installed.
    path = python_path(variables.get("PYTHONPATH", ""))
    if path:
        variables["PYTHONPATH"] = path
    return variables


def start_environment(spec: dict[str, Any], work_dir: str) -> dict[str, str]:
    """Return variables that must be set when the runner starts; a warm runner lacks them.

    spec: in its present form, as JSON.
    """
    if spec["kind"] in CODE_KINDS:
        return {CODE_ONLY_VARIABLE: "1"}  # a warm runner may still import TensorFlow
    if spec["kind"] != "training" or spec["device"]["kind"] != "ipu":
        return {}
    return poplar_environment(read_spec(spec).device, work_dir)
