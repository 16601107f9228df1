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
from ipulse_core.sandbox.unavailable import SandboxSilent, SandboxUnavailable

# unknown: it was not tried yet, or did not answer in time.
SandboxState = Literal["bubblewrap", "off", "missing", "unknown"]
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
        # Replaced as a whole, so that reading it needs no lock.
        self._known: tuple[SandboxState, str] = ("unknown", "it was not tried yet")
        if is_switched_off(environment):
            self._known = ("off", "IPULSE_SANDBOX=none")
        self._probing = threading.Lock()
        self._probes = 0  # that have ended
        self._probe_at = 0.0

    def state(self) -> tuple[SandboxState, str]:
        """Returns what is known of the sandbox, and why there is none. It is not tried."""
        return self._known

    def refreshed(self) -> tuple[SandboxState, str]:
        """Tries the sandbox if that is due, and returns the state.

        One thread tries it at a time; those that wait for it take its result.
        """
        seen = self._probes
        if self._is_due():
            with self._probing:
                if self._probes == seen:
                    known = _try_sandbox()
                    if known != self._known and known[1]:
                        facts = {"state": known[0], "error": known[1]}
                        _log.warning("no_sandbox_for_documents", extra=facts)
                    self._probe_at = time.monotonic() + PROBE_SECONDS
                    self._known = known
                    self._probes += 1
        return self._known

    def check(self) -> bool:
        """Returns whether to use a sandbox, which is tried if that is due.

        Raises:
            NoSandbox: A sandbox is required and missing.
            Unavailable: It did not answer, so that nobody knows whether there is one.
        """
        state, message = self.refreshed()
        if state == "unknown":
            raise Unavailable(
                "documents of users cannot be read now, because the sandbox of the service does "
                f"not answer ({message}); try again later"
            )
        if state != "bubblewrap" and self.is_required:
            raise NoSandbox(
                "this service reads documents of users in a sandbox only "
                f"(IPULSE_REQUIRE_SANDBOX=1), and has none: {message}"
            )
        return state == "bubblewrap"

    def _is_due(self) -> bool:
        state, _ = self._known
        return state == "unknown" or (state == "missing" and time.monotonic() >= self._probe_at)

    def command(
        self,
        module: str,
        arguments: Sequence[str | Path],
        folder: Path,
        environment: dict[str, str],
        stack: ExitStack,
    ) -> Command:
        """Returns the command that runs a module. Raises what `check` does.

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


def _try_sandbox() -> tuple[SandboxState, str]:
    """Returns whether there is a sandbox, and why not."""
    try:
        require_bubblewrap()
        python_folders(*PACKAGES)
    except SandboxSilent as error:  # of a machine with much to do: no fact
        return "unknown", error.message
    except (SandboxUnavailable, OSError) as error:
        return "missing", str(error)
    return "bubblewrap", ""
