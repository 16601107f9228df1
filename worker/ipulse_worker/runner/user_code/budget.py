"""The budgets of code of users: what its processes may use, and what it may send to the runner.

A compiler and the converter of profiles end by themselves. An op and a training live as long as
their job, which has no limit of time, so that each answer of theirs has one. A program has the
limits of its spec, and a training those of its machine, because it has the machine for itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ipulse_core.sandbox.limits import SandboxLimits

if TYPE_CHECKING:
    from ipulse.spec import ProgramLimits

_LIFE_SECONDS = 366 * 86_400
COMPILER = SandboxLimits(seconds=600, memory_bytes=2**32, disk_bytes=2**29, processes=64)
CONVERTER = SandboxLimits(seconds=600, memory_bytes=2**32, disk_bytes=2**28, processes=64)
OP = SandboxLimits(_LIFE_SECONDS, memory_bytes=2**32, disk_bytes=2**28, processes=64)
_TRAINING_PROCESSES = 4096

ANSWER_SECONDS = 600.0  # until a request is taken, and until its answer is there
MAX_LINE_BYTES = 2**20  # of a message, without the bytes that follow it
MAX_TEXT = 4000  # characters of an error or an outcome
MAX_PROGRESS = 1000  # characters
MAX_PROFILE_BYTES = 2**26
MAX_FILES, MAX_FILES_BYTES = 300, 2**32  # of one training; the bytes of all together
EVENTS_PER_SECOND, EVENTS_AT_ONCE = 100.0, 10_000


def of_training() -> SandboxLimits:
    """Return the limits of a training: those of the machine, except for files in memory."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return SandboxLimits(_LIFE_SECONDS, total, total // 4, _TRAINING_PROCESSES)


def of_program(limits: ProgramLimits, seconds: float) -> SandboxLimits:
    """Return the limits that a spec gives a program, of which `seconds` are left."""
    return SandboxLimits(
        seconds, limits.memory_mib * 2**20, limits.disk_mib * 2**20, limits.processes
    )
