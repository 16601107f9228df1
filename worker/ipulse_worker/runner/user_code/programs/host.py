"""Where a program runs: its tools, its devices and its variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Callable, ClassVar, Dict, Iterator, List, Optional, Tuple

from ipulse_core.build_cache.progress import ProgressCallback
from ipulse_core.events import Event, LogEvent
from ipulse_core.sandbox.device_access import NO_DEVICES, DeviceAccess
from ipulse_core.sandbox.sandbox import Sandbox
from ipulse_worker.runner.user_code.compilation import FirstError
from ipulse_worker.runner.user_code.programs.build import PROGRAM, build_program
from ipulse_worker.runner.user_code.programs.ending import UncaughtException
from ipulse_worker.runner.user_code.programs.outputs import exception_of
from ipulse_worker.runner.user_code.tools import ProgramTools

if TYPE_CHECKING:
    from ipulse.spec import PoplarProgramSpec

ReportWait = Callable[[str], None]


class ProgramHost(ABC):
    """The IPUs of one attempt. The methods are called in the order in which they are here."""

    what: ClassVar[str] = "program"  # for messages
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
        self._thrown = UncaughtException()

    @abstractmethod
    def prepare(self, is_sandboxed: bool) -> None:
        """Raise SandboxUnavailable or DeviceUnavailable if this machine can never run it."""

    def named_files(self) -> Iterator[Tuple[str, str]]:
        """Yield the files that the package must have, with their places in the spec."""
        for field in ("sources", "codelets"):
            for index, name in enumerate(getattr(self.spec, field)):
                yield f"/{field}/{index}", name

    def show(self, sandbox: Sandbox, work_dir: Path) -> None:
        """Show the program more than its package and its compilers."""
        del sandbox, work_dir

    @abstractmethod
    def tools(self, progress: ProgressCallback) -> ProgramTools:
        """Return the compilers, which are built if they are not there."""

    def build(self, sandbox: Sandbox, tools: ProgramTools, out: Path, errors: FirstError) -> float:
        """Compile into the folder `out` and return the seconds. Raises ProgramFailure."""
        return build_program(sandbox, self.spec, tools, out, errors)

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

    def command(self, build: str) -> List[str]:
        """Return the command that is run; `build` is the place of its build."""
        return [f"{build}/{PROGRAM}", *self.spec.arguments]

    @abstractmethod
    def variables(self, build: str) -> Dict[str, str]:
        """Return the variables of the program; `build` is the place of its build."""

    def event_of(self, event: LogEvent) -> Iterator[Event]:
        """Yield what becomes of a line that the program has printed."""
        self._thrown.see(event)
        yield event

    def why(self, out: Path) -> Optional[str]:
        """Return the exception that ended the program, where it left one."""
        return exception_of(out) or self._thrown.message

    @property
    def metrics(self) -> Dict[str, float]:
        """The last metrics of the program."""
        return {}

    @abstractmethod
    def release(self) -> None:
        """Give the IPUs back; may be called twice, also without an acquire."""
