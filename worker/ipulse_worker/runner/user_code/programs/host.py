"""Where a program runs: its tools, its devices and its variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Dict

from ipulse_core.build_cache.progress import ProgressCallback
from ipulse_core.sandbox.device_access import NO_DEVICES, DeviceAccess
from ipulse_worker.runner.user_code.tools import ProgramTools

if TYPE_CHECKING:
    from ipulse.spec import PoplarProgramSpec

ReportWait = Callable[[str], None]


class ProgramHost(ABC):
    """The IPUs of one attempt. The methods are called in the order in which they are here."""

    devices: DeviceAccess = NO_DEVICES  # for the sandbox; after `acquire`

    def __init__(self, spec: PoplarProgramSpec, job_id: str, check: Callable[[], None]) -> None:
        """Take the spec.

        Args:
            spec: of the program.
            job_id: of the job, for others that wait.
            check: raises an error if the attempt was cancelled.
        """
        self.spec = spec
        self.job_id = job_id
        self.check = check

    @abstractmethod
    def prepare(self, is_sandboxed: bool) -> None:
        """Raise SandboxUnavailable or DeviceUnavailable if this machine can never run it."""

    @abstractmethod
    def tools(self, progress: ProgressCallback) -> ProgramTools:
        """Return the compilers, which are built if they are not there."""

    def initial_files(self, build: Path) -> Dict[str, Path]:
        """Return files that the program finds in its folder besides its package, by name."""
        return {}

    @abstractmethod
    def acquire(self, report_wait: ReportWait) -> None:
        """Wait until the program may use its IPUs. Raises DeviceUnavailable."""

    @property
    def seconds(self) -> float:
        """The time limit of the run, from now on."""
        return float(self.spec.limits.seconds)

    @abstractmethod
    def variables(self, build: str) -> Dict[str, str]:
        """Return the variables of the program; `build` is the place of its build."""

    @abstractmethod
    def release(self) -> None:
        """Give the IPUs back; may be called twice, also without an acquire."""
