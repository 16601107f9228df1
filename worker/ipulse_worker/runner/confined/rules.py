"""Which trainings run in a sandbox, with which limits, and what it means that one has ended."""

from __future__ import annotations

import os
from typing import Mapping, Tuple

from ipulse_core.events import Assignment
from ipulse_core.states import Reason
from ipulse_worker.runner.sandbox.bubblewrap import is_switched_off
from ipulse_worker.runner.sandbox.limits import SandboxLimits
from ipulse_worker.runner.sandbox.process import ProcessEnded

_SECONDS = 366 * 86_400  # a training has no time limit of its own
_PROCESSES = 4096


def must_be_confined(assignment: Assignment, environment: Mapping[str, str]) -> bool:
    """Return whether the training must run in a sandbox: it loads custom ops on IPUs."""
    is_on_ipus = assignment.spec.get("device", {}).get("kind") == "ipu"
    return bool(is_on_ipus and assignment.ops and not is_switched_off(environment))


def limits() -> SandboxLimits:
    """Return the limits of a training: those of the machine, except for files in memory."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return SandboxLimits(_SECONDS, memory_bytes=total, disk_bytes=total // 4, processes=_PROCESSES)


def reason_of(ended: ProcessEnded) -> Tuple[Reason, str]:
    """Return the reason and the message of an attempt whose process ended without an outcome."""
    if ended.exceeded == "memory":
        return Reason.OUT_OF_MEMORY, "The training with custom ops needs more memory than there is."
    message = "The training with custom ops ended its process; the log has its last output."
    return Reason.PROGRAM_FAILED, message
