"""One command in a sandbox: its output line by line, its files at the end, and how it ended."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ipulse_core.events import LogEvent
from ipulse_core.sandbox.bubblewrap import (
    SandboxView,
    is_switched_off,
    sandbox_command,
    wait_for_bubblewrap,
)
from ipulse_core.sandbox.cgroup import ControlGroup
from ipulse_core.sandbox.cgroup_folders import NoControlGroup
from ipulse_core.sandbox.device_access import NO_DEVICES, DeviceAccess
from ipulse_core.sandbox.limits import SandboxLimits, resource_limits
from ipulse_core.sandbox.process import AnsweringProcess, PreparedCommand, SandboxedProcess
from ipulse_core.sandbox.returned_files import ReturnedFiles, read_files
from ipulse_core.sandbox.scripts import JOIN, RUN

WORK, TMP = "/work", "/tmp"  # noqa: S108 (places in the sandbox)
WORK_PLACE = "@WORK@"
TMP_BYTES = 2**28
_STATUS_BYTES = 16


class SandboxResult(NamedTuple):
    """The end of a command."""

    status: int  # exit status; 128 + N after signal N
    exceeded: Optional[str]  # "seconds" or "memory": it was ended because it used too much
    lacked_processes: bool  # it wanted more processes and threads than its limit
    returned: ReturnedFiles
    peak_bytes: int  # of memory
    seconds: float


class Sandbox:
    """Runs commands; where an operator has switched sandboxes off, in a folder of their own.

    Places of folders in the sandbox are named by `place`, because they differ without one.
    """

    def __init__(
        self,
        scratch: Path,
        environment: Mapping[str, str],
        log: Callable[[LogEvent], None],
        check: Callable[[], None],
    ) -> None:
        """Check that there is a sandbox.

        Args:
            scratch: a folder of the attempt, for runs without a sandbox.
            environment: of the runner; only IPULSE_SANDBOX is read.
            log: receives the output.
            check: raises an error if the attempt was cancelled.

        Raises:
            SandboxUnavailable: there is none, and the operator has not switched it off.
            SandboxSilent: it did not answer, however often it was asked.
        """
        self.is_off = is_switched_off(environment)
        if not self.is_off:
            wait_for_bubblewrap(check)
        self._scratch = scratch
        self._log = log
        self._check = check
        self._folders: Dict[str, Path] = {}

    def add(self, place: str, folder: Path) -> None:
        """Show a folder to the commands, read-only."""
        self._folders[place] = folder

    def place(self, place: str) -> str:
        """Return the path of a folder as the commands see it."""
        return str(self._folders[place]) if self.is_off else place

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: SandboxLimits,
        out: Path,
        initial: Optional[str] = None,
        devices: DeviceAccess = NO_DEVICES,
    ) -> SandboxResult:
        """Run a command and return its end, with its files in the folder `out`.

        Args:
            command: program and arguments.
            environment: its only variables; PATH, HOME and TMPDIR are added. WORK_PLACE in them
                becomes the path of its folder.
            limits: of all its processes together.
            out: an existing folder, to which its files are written.
            initial: the place of a folder of which its own is a copy in the beginning.
            devices: what it gets of the devices of this machine.

        Raises the error of `check`, and OSError.
        """
        with ExitStack() as stack:
            work, tmp = WORK, TMP
            if self.is_off:
                self._scratch.mkdir(exist_ok=True)
                work, tmp = (
                    stack.enter_context(tempfile.TemporaryDirectory(dir=str(self._scratch)))
                    for _ in range(2)
                )
            copied = "" if initial is None else self.place(initial)
            script = ["/bin/sh", "-c", RUN, "sh", work, copied, "" if self.is_off else "1"]
            inside = {name: text.replace(WORK_PLACE, work) for name, text in environment.items()}
            prepared = self._prepare([*script, *command], inside, limits, tmp, stack, devices)
            return self._run(prepared, limits, out)

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: SandboxLimits,
        devices: DeviceAccess = NO_DEVICES,
    ) -> AnsweringProcess:
        """Start a command that answers requests, with an empty folder of its own.

        It reads requests from the descriptor that its last argument but one names, and writes
        answers to that of its last. The arguments are those of `run`.

        Raises OSError.
        """
        with ExitStack() as stack:
            directory: Optional[Path] = None
            if self.is_off:
                self._scratch.mkdir(exist_ok=True)
                directory = Path(tempfile.mkdtemp(dir=str(self._scratch)))
            tmp = TMP if directory is None else str(directory)
            prepared = self._prepare(command, environment, limits, tmp, stack, devices)
            return AnsweringProcess(prepared, limits, self._log, directory)

    def _prepare(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: SandboxLimits,
        tmp: str,
        stack: ExitStack,
        devices: DeviceAccess = NO_DEVICES,
    ) -> PreparedCommand:
        """Return what the system starts.

        Args:
            command: program and arguments.
            environment: the variables of the command.
            limits: of all its processes together.
            tmp: the folder of its temporary files.
            stack: closes the descriptors.
            devices: of this machine.
        """
        variables = {"PATH": "/usr/bin:/bin", "HOME": tmp, "TMPDIR": tmp, "LANG": "C.UTF-8"}
        variables.update({**environment, **devices.variables})
        prefix: List[str] = []
        descriptors: List[int] = []
        if not self.is_off:
            sizes = {WORK: limits.disk_bytes, TMP: TMP_BYTES}
            view = SandboxView(self._folders, sizes, variables, WORK, devices)
            prefix, descriptors = sandbox_command(view, stack)
            variables = {"PATH": os.environ.get("PATH", os.defpath)}  # of bubblewrap itself
        group = self._group(limits)
        join = ["/bin/sh", "-c", JOIN, "sh", *(group.entries if group else ()), "--"]
        limited = resource_limits(limits, group is not None, self.is_off)
        whole = [*join, *prefix, *limited, *command]
        return PreparedCommand(whole, variables, descriptors, group)

    def _group(self, limits: SandboxLimits) -> Optional[ControlGroup]:
        try:
            return ControlGroup.make(limits, limits.disk_bytes + TMP_BYTES)
        except NoControlGroup as error:
            self._log(LogEvent(f"memory and processes are watched, not limited: {error}", "debug"))
            return None

    def _run(self, prepared: PreparedCommand, limits: SandboxLimits, out: Path) -> SandboxResult:
        files, write_end = os.pipe()
        start = time.monotonic()
        try:
            process = SandboxedProcess(prepared, limits, self._log, self._check, write_end)
        except BaseException:
            os.close(files)
            raise
        finally:
            os.close(write_end)
        watch = process.watch
        try:
            with os.fdopen(files, "rb") as stream:
                status = _status(stream.readline(_STATUS_BYTES))
                returned = read_files(stream, out, limits.disk_bytes)
            code = process.wait()
        finally:
            process.end()
        if watch.error is not None:
            raise watch.error
        if status is None:  # the shell ended before the command did
            status = 128 - code if code < 0 else code
        return SandboxResult(
            status,
            watch.exceeded,
            watch.lacked_processes,
            returned,
            watch.peak_bytes,
            time.monotonic() - start,
        )


def _status(line: bytes) -> Optional[int]:
    """Return the exit status in the first line of what a sandbox returns, None if it is none."""
    text = line[:-1]
    return int(text) if text.isdigit() and line.endswith(b"\n") else None
