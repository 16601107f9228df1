"""A place for a program in a sandbox."""

import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, List

from ipulse_core.events import LogEvent
from ipulse_core.sandbox.device_access import NO_DEVICES, DeviceAccess
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.sandbox.sandbox import Sandbox, SandboxResult

LIMITS: Dict[str, Any] = {
    "seconds": 60,
    "memory_bytes": 2**28,
    "disk_bytes": 2**22,
    "processes": 32,
}


class Place:
    """A sandbox with a package of one file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: List[str] = []
        self.stop = threading.Event()
        self.sandbox = Sandbox(folder / "scratch", {}, self._log, self._check)
        self.package = folder / "package"
        self.package.mkdir()
        (self.package / "given.txt").write_text("as given")
        self.sandbox.add("/package", self.package)

    def _log(self, event: LogEvent) -> None:
        if event.stream in ("stdout", "stderr"):
            self.lines.append(event.message)

    def _check(self) -> None:
        if self.stop.is_set():
            raise InterruptedError("cancelled")

    def run(self, script: str, devices: DeviceAccess = NO_DEVICES, **limits: Any) -> SandboxResult:
        """Run a shell script; its files are in `out`."""
        self.out = Path(tempfile.mkdtemp(dir=str(self.folder)))
        command = ["sh", "-c", script]
        chosen = SandboxLimits(**{**LIMITS, **limits})
        return self.sandbox.run(command, {}, chosen, self.out, "/package", devices)
