"""Programs on the emulated IPUs of a host."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath
from typing import Dict, Optional

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.progress import ProgressCallback
from ipulse_core.sandbox.sandbox import WORK_PLACE
from ipulse_worker.runner.devices.pool import Pool, Reservation, WaitPolicy
from ipulse_worker.runner.user_code.programs.host import ProgramHost, ReportWait
from ipulse_worker.runner.user_code.programs.outputs import REPORTS
from ipulse_worker.runner.user_code.tools import ProgramTools, emulator_tools
from poplar_emulator import build as emulator
from poplar_emulator.emulate import SANITIZE

POLL_SECONDS = 1.0  # while all emulated IPUs are busy
ACQUIRE_SECONDS = 3600.0


class EmulatedHost(ProgramHost):
    """Emulated IPUs, which this machine's processes share."""

    _tools: ProgramTools
    _prefix: Path  # of the emulator
    _reservation: Optional[Reservation] = None

    @property
    def is_sanitized(self) -> bool:
        """Whether accesses of codelets to memory are checked."""
        return bool(self.spec.sanitize)

    def prepare(self, is_sandboxed: bool) -> None:
        """Do nothing: every machine has emulated IPUs, and `acquire` says if they are too few."""

    def tools(self, progress: ProgressCallback) -> ProgramTools:
        """Build the emulator if it is not there, and return its tools."""
        self._prefix = emulator.build(progress=progress)
        tools = emulator_tools(self._prefix)
        if self.is_sanitized:  # popc compiles other codelets, before the run and in it
            checked = {**tools.environment, emulator.SANITIZE_VARIABLE: "1"}
            tools = tools._replace(environment=checked)
        self._tools = tools
        return tools

    def acquire(self, report_wait: ReportWait) -> None:
        """Reserve emulated IPUs."""
        ipus = self.spec.device.ipus
        policy = WaitPolicy(
            POLL_SECONDS,
            ACQUIRE_SECONDS,
            self.check,
            lambda wait: report_wait(f"waiting for {ipus} emulated IPU(s): {wait}"),
            "the limit for programs",
        )
        pool = Pool.of_environment(os.environ, cache_directory())
        self._reservation = pool.acquire(ipus, self.job_id, policy)

    def variables(self, build: str) -> Dict[str, str]:
        """Return the emulator's settings."""
        spec = self.spec
        folders = [str(PurePosixPath(WORK_PLACE, path).parent) for path in spec.sources]
        variables = {
            **self._tools.environment,
            "IPULSE_EMULATOR_CODELETS": ":".join([build, *dict.fromkeys(folders)]),
            "IPULSE_EMULATOR_IPUS": str(spec.device.ipus),
            "IPULSE_EMULATOR_ARCH": spec.device.architecture,
            "IPULSE_EMULATOR_REPORTS": f"{WORK_PLACE}/{REPORTS}",
            "IPULSE_EMULATOR_SUMMARY": "{}",
        }
        if self.is_sanitized:
            variables["POPLAR_ENGINE_OPTIONS"] = json.dumps(SANITIZE)
        return variables

    def release(self) -> None:
        """Give the emulated IPUs back."""
        if self._reservation is not None:
            self._reservation.release()
