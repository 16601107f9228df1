"""Asks the runner's Python what software this machine has for jobs."""

from __future__ import annotations

import json
import logging
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ipulse_core.capabilities import FIXES, SANDBOX, Capability
from ipulse_core.limits import CONTROL_CHARACTERS
from ipulse_core.worker_faults import MAX_MESSAGE
from ipulse_worker.agent.registration.machine_commands import MachineCommands
from ipulse_worker.agent.settings import AgentSettings

PROBE = "ipulse_worker.runner.capabilities"
PROBE_SECONDS = 60.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Software:
    """The software of a machine: what it has, and why it lacks the rest."""

    capabilities: Mapping[str, Capability] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


class SoftwareProbe:
    """Asks for everything but the sandbox, which has a probe of its own."""

    def __init__(self, settings: AgentSettings, commands: MachineCommands) -> None:
        self._settings = settings
        self._commands = commands
        self.must_import = False  # whether the next question imports packages, for seconds

    def ask(self) -> Software | None:
        """Return the software, None if a busy machine did not say in time."""
        command = [self._settings.runner_python, "-m", PROBE]
        if self.must_import:
            command.append("--import")
        try:
            found = _software(json.loads(self._commands.output(command, PROBE_SECONDS)))
        except subprocess.TimeoutExpired as error:
            self._warn(error)
            return None
        except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
            self._warn(error)
            why = _printable(f"the runner's Python does not say whether it is there: {error}")
            names = [name for name in FIXES if name != SANDBOX]
            found = Software(dict.fromkeys(names, False), dict.fromkeys(names, why))
        self.must_import = False
        return found

    def _warn(self, error: Exception) -> None:
        if not self._commands.is_closed:
            _log.warning("software_not_known", extra={"why": str(error)[:300]})


def _software(found: Any) -> Software:
    capabilities = {
        str(name): value
        for name, value in found["capabilities"].items()
        if isinstance(value, (bool, int, str))
    }
    missing = {str(name): _printable(str(why)) for name, why in found["missing"].items()}
    return Software(capabilities, missing)


def _printable(message: str) -> str:
    return CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", message)[:MAX_MESSAGE]
