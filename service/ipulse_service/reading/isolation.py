"""The sandbox in which documents are read, where this machine has one."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Literal, NamedTuple

import ipulse
import ipulse_service
from ipulse_core.errors import Unavailable
from ipulse_core.sandbox.bubblewrap import (
    SandboxView,
    is_switched_off,
    require_bubblewrap,
    sandbox_command,
)
from ipulse_core.sandbox.python_path import python_folders
from ipulse_core.sandbox.unavailable import SandboxUnavailable

SandboxState = Literal["bubblewrap", "off", "missing"]
PROBE_SECONDS = 60.0  # between two probes while there is no sandbox
_TMP_BYTES = 2**24
_WORK = "/scratch"  # the folder of a document, on the disk
_INPUT = "/input"
_PYTHON = [sys.executable, "-I", "-m"]
PACKAGES: tuple[ModuleType, ...] = (ipulse, ipulse_service)  # that readers import

_log = logging.getLogger(__name__)


class NoSandbox(Unavailable):
    """Documents are read in a sandbox only, and there is none."""

    code = "no_sandbox"


class Command(NamedTuple):
    """A command as the system starts it."""

    words: list[str]
    environment: dict[str, str]
    descriptors: list[int]


class Isolation:
    """Starts processes that read documents, in a sandbox unless there is none."""

    def __init__(self, is_required: bool, environment: Mapping[str, str] = os.environ) -> None:
        """With `is_required`, no document is read without a sandbox."""
        self.is_required = is_required
        self._is_off = is_switched_off(environment)
        self._lock = threading.Lock()
        self._works = False
        self._message = "it was not tried yet"
        self._probe_at = 0.0

    def state(self) -> tuple[SandboxState, str]:
        """Returns whether there is a sandbox, and why not. A probe that failed is repeated."""
        if self._is_off:
            return "off", "IPULSE_SANDBOX=none"
        with self._lock:
            if not self._works and time.monotonic() >= self._probe_at:
                try:
                    require_bubblewrap()
                    python_folders(*PACKAGES)
                    self._works, self._message = True, ""
                except (SandboxUnavailable, OSError) as error:
                    self._message = str(error)
                    _log.warning("no_sandbox_for_documents", extra={"error": self._message})
                self._probe_at = time.monotonic() + PROBE_SECONDS
            return ("bubblewrap" if self._works else "missing"), self._message

    def check(self) -> bool:
        """Returns whether to use a sandbox. Raises NoSandbox if one is required and missing."""
        state, message = self.state()
        if state != "bubblewrap" and self.is_required:
            raise NoSandbox(
                "this service reads documents of users in a sandbox only "
                f"(IPULSE_REQUIRE_SANDBOX=1), and has none: {message}"
            )
        return state == "bubblewrap"

    def command(
        self,
        module: str,
        arguments: Sequence[str | Path],
        folder: Path,
        environment: dict[str, str],
        stack: ExitStack,
    ) -> Command:
        """Returns the command that runs a module. Raises NoSandbox.

        Args:
            module: That reads a document.
            arguments: Of the module; a path is a document.
            folder: Its working directory, the only one on the disk to which it may write.
            environment: The variables of the process.
            stack: Closes descriptors.
        """
        python = [*_PYTHON, module]
        if not self.check():
            return Command([*python, *map(str, arguments)], environment, [])
        places: dict[str, Path] = {}
        words: list[str] = []
        for number, argument in enumerate(arguments):
            if isinstance(argument, Path):
                places[f"{_INPUT}/{number}"] = argument
                words.append(f"{_INPUT}/{number}")
            else:
                words.append(argument)
        if os.geteuid() == 0:
            # The process has a user id that owns nothing. Nobody else reaches these places: the
            # folders that contain them have mode 700.
            for path in places.values():
                path.chmod(0o444)
            folder.chmod(0o777)
        variables = {**environment, "PATH": "/usr/bin:/bin", "HOME": _WORK, "TMPDIR": _WORK}
        view = SandboxView(
            {**python_folders(*PACKAGES), **places},
            {"/tmp": _TMP_BYTES},  # noqa: S108 - a place in the sandbox
            variables,
            _WORK,
            disks={_WORK: folder},
        )
        prefix, descriptors = sandbox_command(view, stack)
        own = {"PATH": os.environ.get("PATH", os.defpath)}
        return Command([*prefix, *python, *words], own, descriptors)
