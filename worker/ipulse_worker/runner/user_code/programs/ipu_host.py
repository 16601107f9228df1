"""Programs on the IPUs of a host, which attach them themselves."""

from __future__ import annotations

import time
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Callable, Dict

from ipulse_core.build_cache.progress import ProgressCallback
from ipulse_core.poplar_environment import engine_environment
from ipulse_core.sandbox.sandbox import WORK_PLACE
from ipulse_worker.runner.devices.card_reservation import CardReservation
from ipulse_worker.runner.user_code.programs.host import ProgramHost, ReportWait
from ipulse_worker.runner.user_code.tools import ProgramTools, sdk_tools

if TYPE_CHECKING:
    from ipulse.spec import PoplarProgramSpec


class IPUHost(ProgramHost):
    """IPUs that the worker's Poplar SDK finds; the time limit begins with the wait for them."""

    _tools: ProgramTools
    _deadline = 0.0

    def __init__(self, spec: PoplarProgramSpec, job_id: str, check: Callable[[], None]) -> None:
        """Take the spec, as every host."""
        super().__init__(spec, job_id, check)
        self._cards = CardReservation(job_id, spec.device.ipus, check)

    def prepare(self, is_sandboxed: bool) -> None:
        """Look for IPUs and for an SDK, before anything is compiled."""
        self._cards.find(is_sandboxed)
        self._tools = sdk_tools()

    def tools(self, progress: ProgressCallback) -> ProgramTools:
        """Return the tools of the SDK."""
        return self._tools

    def initial_files(self, build: Path) -> Dict[str, Path]:
        """Return the codelets: Poplar looks for them in the program's folder alone."""
        found: Dict[str, Path] = {}
        for name in self.spec.codelets:
            path = PurePosixPath(name).with_suffix(".gp")
            built = build / path.name
            found.update({path.name: built, str(path): built})
        return found

    def acquire(self, report_wait: ReportWait) -> None:
        """Reserve cards."""
        limit = float(self.spec.limits.seconds)
        self._deadline = time.monotonic() + limit
        self._cards.reserve(limit, "limits.seconds", report_wait)
        self.devices = self._cards.devices

    @property
    def seconds(self) -> float:
        """Return the rest of the time limit in seconds."""
        return max(1.0, self._deadline - time.monotonic())

    def variables(self, build: str) -> Dict[str, str]:
        """Return the SDK's variables, and the options of the engine as jobs on IPUs have them."""
        options = engine_environment(self.spec.device.engine_options, WORK_PLACE)
        return {**self._tools.environment, **options}

    def release(self) -> None:
        """Give the cards back."""
        self._cards.release()
