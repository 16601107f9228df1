"""Environment variables that pass a job's options to Poplar and to Graphcore's TensorFlow.

Both read them once, when the process starts or first needs them. An agent sets them for the one
process that runs the attempt.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping

RUN_COUNT = "autoReport.executionProfileProgramRunCount"  # an option of the Poplar engine
REPORTS = "poplar_reports"  # directory in that of the attempt
TRACES = "pvti"  # likewise


def poplar_environment(device: Any, work_dir: str) -> Dict[str, str]:
    """Returns the variables for an IPU device; none for options that are not set."""
    variables = engine_environment(device.engine_options, work_dir)
    if device.poplar_flags:
        variables["TF_POPLAR_FLAGS"] = " ".join(device.poplar_flags)
    if device.pvti_options:
        options = {"directory": f"{work_dir}/{TRACES}", **device.pvti_options}
        variables["PVTI_OPTIONS"] = json.dumps(options)
    return variables


def engine_environment(options: Mapping[str, str], work_dir: str) -> Dict[str, str]:
    """Returns the variable with options of the Poplar engine; none without options."""
    if not options:
        return {}
    options = {"autoReport.directory": f"{work_dir}/{REPORTS}", **options}
    return {"POPLAR_ENGINE_OPTIONS": json.dumps(options)}
