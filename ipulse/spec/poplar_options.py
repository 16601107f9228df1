"""Options of Poplar and of Graphcore's TensorFlow that a spec may set.

The worker decides where reports and caches are stored; an option that names a path is refused.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from ipulse_core.errors import Problem
from ipulse_core.poplar_environment import RUN_COUNT as RUN_COUNT
from ipulse_core.strict_json import escape

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
# Options that set the path of a file or a directory.
_PLACES = frozenset(
    {
        "autoReport.directory",
        "debug.graphReportDestination",
        "debug.loweredVarDumpFile",
        "target.saveArchive",
    }
)
# Every option of autoReport is known; those of other families differ between SDK versions.
FAMILIES = (
    *("debug.", "exchange.", "gcl.", "makeFunctions.", "opt.", "prng.", "profiler.", "report."),
    *("streamCallbacks.", "target."),
)

_NUMBER = r"-?\d{1,9}"
# Flags of TF_POPLAR_FLAGS and the form of their values; None: no value. An unknown flag would end
# the process.
FLAGS: dict[str, object] = {
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
_RESERVED = {
    "executable_cache_path": "the worker has a cache of its own",
    "tensor_map_file_path": "the worker decides where files are stored",
    "on_demand_device_poll_time": "use device.acquire_poll_seconds",
    "on_demand_device_timeout": "use device.acquire_timeout_seconds",
    "help": "it would end the process",
}
_FLAG = re.compile(r"--([a-z_]+)(?:=(\S*))?")


def problems_of_engine(options: Mapping[str, str]) -> Iterator[Problem]:
    """Yields the options that are not allowed; pointers begin at the options."""
    for name, value in options.items():
        at = f"/{escape(name)}"
        if "/" in value or name in _PLACES:
            detail = "the worker decides where reports and dumps are stored: remove it"
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
            detail = (
                f"unknown option of the Poplar engine: known are {known} and those that begin with "
            )
            yield Problem(at, "unknown_option", detail + ", ".join(FAMILIES))


def problems_of_flags(flags: Sequence[str]) -> Iterator[Problem]:
    """Yields the flags that are not allowed; pointers begin at the list."""
    for number, flag in enumerate(flags):
        match = _FLAG.fullmatch(flag)
        name, value = match.groups() if match else ("", None)
        if name in _RESERVED:
            yield Problem(f"/{number}", "not_allowed", f"--{name}: {_RESERVED[name]}")
        elif name not in FLAGS:
            detail = (
                f"unknown flag of TF_POPLAR_FLAGS: {flag[:60]!r}; known are --{', --'.join(FLAGS)}"
            )
            yield Problem(f"/{number}", "unknown_option", detail)
        elif not _takes(FLAGS[name], value):
            wanted = "takes no value" if FLAGS[name] is None else f"must match {FLAGS[name]}"
            yield Problem(f"/{number}", "wrong_value", f"--{name} {wanted}; got {value!r}")


def problems_of_pvti(options: Mapping[str, str]) -> Iterator[Problem]:
    """Yields the options that are not allowed; pointers begin at the options."""
    for name, value in options.items():
        at = f"/{escape(name)}"
        if name == "enable":
            if value not in ("true", "false"):
                yield Problem(at, "wrong_value", f'must be "true" or "false"; got {value!r}')
        elif name == "channels":
            if not re.fullmatch(r"[A-Za-z0-9_]+(,[A-Za-z0-9_]+)*", value):
                yield Problem(
                    at, "wrong_value", f"must be names separated by commas; got {value[:60]!r}"
                )
        else:
            detail = "must be enable or channels; the worker decides the directory"
            yield Problem(at, "unknown_option", detail)


def _takes(pattern: object, value: object) -> bool:
    if pattern is None or value is None:
        return pattern is None and value is None
    return re.fullmatch(str(pattern), str(value)) is not None
