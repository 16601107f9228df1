"""Which trainings run in a sandbox, which files they see, and what it means that one ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, List, Mapping, Optional, Set

from ipulse_core.events import Assignment
from ipulse_core.sandbox.bubblewrap import is_switched_off
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.sandbox.process import ProcessEnded
from ipulse_core.states import Reason
from ipulse_worker.runner.data.uploaded import file_name, is_uploaded
from ipulse_worker.runner.user_code import budget
from ipulse_worker.runner.user_code.failure import ProgramFailure, excess, lack_of_processes

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

_TRAINING = "The training with custom ops"
_SUFFIXES = (".npz", ".csv", ".h5")  # of data sets that are one file


def must_be_confined(assignment: Assignment, environment: Mapping[str, str]) -> bool:
    """Return whether the training must run in a sandbox: it loads custom ops on IPUs."""
    is_on_ipus = assignment.spec["device"]["kind"] == "ipu"
    return bool(is_on_ipus and assignment.ops and not is_switched_off(environment))


def named_files(spec: ExperimentSpec, environment: Mapping[str, str]) -> List[Path]:
    """Return the files and folders in the data directory that a spec names; not those of others."""
    directory = environment.get("IPULSE_DATA")
    if not directory:
        return []
    initial = spec.network.initial
    names: Set[Optional[str]] = set() if initial is None else {initial.file}
    if not is_uploaded(spec.data):
        name = file_name(spec.data)
        names |= {f"{name}{suffix}" for suffix in ("", *_SUFFIXES)} if name else set()
    root = Path(directory).resolve()
    paths = [Path(directory) / name for name in sorted(name for name in names if name)]
    # A runner does not follow links to other places.
    return [path for path in paths if path.exists() and root in path.resolve().parents]


def failure_of(ended: ProcessEnded, limits: SandboxLimits) -> ProgramFailure:
    """Return the failure of an attempt with a process that ended without an outcome."""
    late = f"did not take a message within {budget.ANSWER_SECONDS:g} s"
    failure = excess(_TRAINING, ended.exceeded, limits, late)
    if failure is not None:
        return failure
    message = f"{_TRAINING} ended its process; the log has its last output."
    more = f" {lack_of_processes(limits)}" if ended.lacked_processes else ""
    return ProgramFailure(Reason.PROGRAM_FAILED, f"{message}{more}")
