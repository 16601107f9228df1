"""What a spec may ask of Poplar and of Graphcore's TensorFlow, and how a process is told.

Poplar reads its options from the environment, once, when the process begins or first needs them:
they are set for the one process that runs the attempt. Where reports and caches lie is for the
worker to say; an option that names a place is refused.
"""

from __future__ import annotations

import json
import re
from typing import Dict, Iterator, Mapping, Sequence

from ipulse_core.errors import Problem
from ipulse_core.strict_json import escape

RUN_COUNT = "autoReport.executionProfileProgramRunCount"
SWITCHES = frozenset(
    {
        "autoReport.all",
        "autoReport.outputGraphProfile",
        "autoReport.outputExecutionProfile",
        "autoReport.outputLoweredVars",
        "autoReport.outputArchive",
        "autoReport.outputSerializedGraph",
        "autoReport.outputDebugInfo",
        "autoReport.streamAtEachRun",
        "debug.allowOutOfMemory",
        "debug.retainDebugInformation",
    }
)
# Options whose value is where a file or a directory is to be written.
_PLACES = frozenset(
    {
        "autoReport.directory",
        "debug.graphReportDestination",
        "debug.loweredVarDumpFile",
        "target.saveArchive",
    }
)
# Of autoReport every option is known; of the others the SDK's versions have different ones.
FAMILIES = (
    *("debug.", "exchange.", "gcl.", "makeFunctions.", "opt.", "prng.", "profiler.", "report."),
    *("streamCallbacks.", "target."),
)

_NUMBER = r"-?\d{1,9}"
# Flags of TF_POPLAR_FLAGS with the values that they take; None: they take none. One that is not
# known ends the process.
FLAGS: Dict[str, object] = {
    "use_synthetic_data": None,
    "synthetic_data_categories": r"[a-z]+(,[a-z]+)*",
    "synthetic_data_initializer": r"[A-Za-z0-9.-]+",
    "use_ipu_model": None,
    "ipu_model_tiles": _NUMBER,
    "log_cycle_count": _NUMBER,
    "while_loop_brute_force_max_trip_count": _NUMBER,
    "max_compilation_threads": _NUMBER,
    "max_infeed_threads": _NUMBER,
    "dump_schedule_as_dot": None,
    "fallback_scheduler": None,
    "allow_nans": None,
    "null_data_feed": None,
    "show_progress_bar": "true|false|auto",
    "sync_replica_start": None,
    "enable_hlo_verifier": None,
    "disable_poplar_version_check": None,
}
_OURS = {
    "executable_cache_path": "the worker has a cache of its own",
    "tensor_map_file_path": "where files lie is for the worker to say",
    "on_demand_device_poll_time": "use device.acquire_poll_seconds",
    "on_demand_device_timeout": "use device.acquire_timeout_seconds",
    "help": "it would end the process",
}
_FLAG = re.compile(r"--([a-z_]+)(?:=(\S*))?")

REPORTS = "poplar_reports"  # directory within that of the attempt
TRACES = "pvti"  # likewise


def problems_of_engine(options: Mapping[str, str]) -> Iterator[Problem]:
    """Pointers begin at the options."""
    for name, value in options.items():
        at = f"/{escape(name)}"
        if "/" in value or name in _PLACES:
            detail = "where reports and dumps lie is for the worker to say: leave it out"
            yield Problem(at, "not_allowed", detail)
        elif name == RUN_COUNT:
            if not re.fullmatch(r"[1-9]\d?", value):
                yield Problem(
                    at, "wrong_value", f"must be a number of runs from 1 to 99; got {value!r}"
                )
        elif name in SWITCHES:
            if value not in ("true", "false"):
                yield Problem(at, "wrong_value", f'must be "true" or "false"; got {value!r}')
        elif not name.startswith(FAMILIES):
            known = ", ".join(sorted({*SWITCHES, RUN_COUNT}))
            detail = f"no option of the Poplar engine: known are {known} and those that begin with "
            yield Problem(at, "unknown_option", detail + ", ".join(FAMILIES))


def problems_of_flags(flags: Sequence[str]) -> Iterator[Problem]:
    """Pointers begin at the list."""
    for number, flag in enumerate(flags):
        found = _FLAG.fullmatch(flag)
        name, value = found.groups() if found else ("", None)
        if name in _OURS:
            yield Problem(f"/{number}", "not_allowed", f"--{name}: {_OURS[name]}")
        elif name not in FLAGS:
            detail = f"no flag of TF_POPLAR_FLAGS: {flag[:60]!r}; known are --{', --'.join(FLAGS)}"
            yield Problem(f"/{number}", "unknown_option", detail)
        elif not _takes(FLAGS[name], value):
            wanted = "takes no value" if FLAGS[name] is None else f"must match {FLAGS[name]}"
            yield Problem(f"/{number}", "wrong_value", f"--{name} {wanted}; got {value!r}")


def problems_of_pvti(options: Mapping[str, str]) -> Iterator[Problem]:
    """Pointers begin at the options."""
    for name, value in options.items():
        at = f"/{escape(name)}"
        if name == "enable":
            if value not in ("true", "false"):
                yield Problem(at, "wrong_value", f'must be "true" or "false"; got {value!r}')
        elif name == "channels":
            if not re.fullmatch(r"[A-Za-z0-9_]+(,[A-Za-z0-9_]+)*", value):
                yield Problem(at, "wrong_value", f"names with commas between; got {value[:60]!r}")
        else:
            detail = "options of PVTI here are enable and channels; the directory is the worker's"
            yield Problem(at, "unknown_option", detail)


def _takes(pattern: object, value: object) -> bool:
    if pattern is None or value is None:
        return pattern is None and value is None
    return re.fullmatch(str(pattern), str(value)) is not None


def environment(
    engine: Mapping[str, str],
    flags: Sequence[str],
    pvti: Mapping[str, str],
    work_dir: str,
) -> Dict[str, str]:
    """The variables that tell a process; none for what nobody asked for."""
    told: Dict[str, str] = {}
    if engine:
        options = {"autoReport.directory": f"{work_dir}/{REPORTS}", **engine}
        told["POPLAR_ENGINE_OPTIONS"] = json.dumps(options)
    if flags:
        told["TF_POPLAR_FLAGS"] = " ".join(flags)
    if pvti:
        told["PVTI_OPTIONS"] = json.dumps({"directory": f"{work_dir}/{TRACES}", **pvti})
    return told
