"""Which trainings run in a sandbox, with which limits, and what it means that one has ended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, List, Mapping, Tuple

from ipulse_core.events import Assignment
from ipulse_core.sandbox.bubblewrap import is_switched_off
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.sandbox.process import ProcessEnded
from ipulse_core.states import Reason
from ipulse_worker.runner.data.uploaded import file_name, is_uploaded

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

_SECONDS = 366 * 86_400  # a training has no time limit of its own
_SUFFIXES = (".npz", ".csv", ".h5")  # of data sets that are one file
_PROCESSES = 4096


def must_be_confined(assignment: Assignment, environment: Mapping[str, str]) -> bool:
    """Return whether the training must run in a sandbox: it loads custom ops on IPUs."""
    is_on_ipus = assignment.spec.get("device", {}).get("kind") == "ipu"
    return bool(is_on_ipus and assignment.ops and not is_switched_off(environment))


def limits() -> SandboxLimits:
    """Return the limits of a training: those of the machine, except for files in memory."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return SandboxLimits(_SECONDS, memory_bytes=total, disk_bytes=total // 4, processes=_PROCESSES)


def named_files(spec: ExperimentSpec, environment: Mapping[str, str]) -> List[Path]:
    """Return the files and folders in the data directory that a spec names; not those of others."""
    directory = environment.get("IPULSE_DATA")
    if not directory:
        return []
    names = {getattr(spec.network.initial, "file", None)}
    if not is_uploaded(spec.data):
        name = file_name(spec.data)
        names |= {f"{name}{suffix}" for suffix in ("", *_SUFFIXES)} if name else set()
    root = Path(directory).resolve()
    paths = [Path(directory) / name for name in sorted(name for name in names if name)]
    # A runner does not follow links to other places.
    return [path for path in paths if path.exists() and root in path.resolve().parents]


def reason_of(ended: ProcessEnded) -> Tuple[Reason, str]:
    """Return reason and message of an attempt with a process that ended without an outcome."""
    if ended.exceeded == "memory":
        return Reason.OUT_OF_MEMORY, "The training with custom ops needs more memory than there is."
    message = "The training with custom ops ended its process; the log has its last output."
    if ended.lacked_processes:
        message += f" It reached its limit of {_PROCESSES:,} processes and threads."
    return Reason.PROGRAM_FAILED, message
