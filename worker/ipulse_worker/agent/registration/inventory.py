"""The resources of this machine: IPUs, and data sets in the data directory."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ipulse_core import data_sets
from ipulse_core.capabilities import SANDBOX
from ipulse_core.ipu import EMULATED_IPUS, EMULATED_IPUS_VARIABLE
from ipulse_core.limits import CONTROL_CHARACTERS
from ipulse_core.messages import MAX_DATA_SETS
from ipulse_core.worker_faults import MAX_MESSAGE
from ipulse_worker.agent.datasets.dataset_cache import DatasetCache
from ipulse_worker.agent.registration.machine_commands import MachineCommands
from ipulse_worker.agent.registration.repeated import RepeatedQuestion
from ipulse_worker.agent.registration.software_probe import Software, SoftwareProbe
from ipulse_worker.agent.service_types import Inventory
from ipulse_worker.agent.settings import AgentSettings

COUNT_COMMAND = ("gc-info", "--ipu-count")  # uses no device, so that it may run at any time
COUNT_SECONDS = 20.0
PROBE = "ipulse_worker.runner.user_code.sandbox_probe"
PACKAGES_PROBE = "ipulse_worker.runner.user_code.packages_probe"
PACKAGES_SECONDS = 60.0
PROBE_SECONDS = 40.0  # twice as long as the probe waits for bubblewrap
UNKNOWN = "unknown"  # the state of a sandbox that did not answer the probe

MAX_NAMED = 20  # links in a log line
MAX_CACHED = 1000  # digests that are reported

_log = logging.getLogger(__name__)


class InventoryReader:
    """Reads the inventory: the data sets each time, the rest until the machine has answered."""

    def __init__(
        self, settings: AgentSettings, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._is_unreadable = False
        self._outside: list[str] = []  # links of the data directory that were logged
        self._commands = MachineCommands()
        self._not_counted = ""  # why the IPUs were not counted
        self._real_ipus = RepeatedQuestion(self._count_real, lambda count: count > 0)
        self._sandbox = RepeatedQuestion(
            self._probe_sandbox, lambda sandbox: sandbox["state"] != "missing"
        )
        self._has_said_packages = False
        self._packages = RepeatedQuestion(
            self._probe_packages, lambda packages: self._has_said_packages
        )
        self._probe = SoftwareProbe(settings, self._commands)
        self._software = RepeatedQuestion(self._probe.ask, lambda software: not software.missing)
        self._questions: tuple[RepeatedQuestion[Any], ...] = (
            self._real_ipus,
            self._sandbox,
            self._packages,
            self._software,
        )
        self._has_asked = False

    def close(self, seconds: float) -> None:
        """End what `read` runs in another thread, and wait for its end at most `seconds`."""
        self._commands.close(seconds)

    def read(self) -> Inventory:
        """Returns the present inventory, without the room on the disk."""
        self._ask()
        cache = DatasetCache(self._settings.dataset_cache, self._settings.dataset_cache_bytes)
        cached = tuple(cache.digests()[:MAX_CACHED])
        found = self._find_data_sets()
        software = self._software.answer or Software()
        sandbox = _sandbox_capability(self._sandbox.answer)
        return Inventory(
            host=socket.gethostname(),
            ipus=self._ipus(),
            data_sets=found,
            cached=cached,
            neuron_packages=self._packages.answer or (),
            capabilities={**software.capabilities, **sandbox.capabilities},
            remarks={**software.missing, **sandbox.missing},
        )

    def check_again(self) -> None:
        """Check more thoroughly with the next `read`: a job lacked what should be there."""
        self._probe.must_import = True
        for question in (self._software, self._sandbox, self._packages):
            question.ask_again()
        self._has_asked = False

    def _ask(self) -> None:
        """Ask the machine: everything at first, later one question at a time.

        Each may take as long as its limit, and an agent that does not register is called offline.
        """
        due = [question for question in self._questions if question.is_due()]
        for question in due if not self._has_asked else due[:1]:
            question.ask()
        self._has_asked = True

    def state_of_data(self) -> int:
        """Returns a number that changes when an entry of a directory with data comes or goes."""
        directories = (self._settings.data_dir, self._settings.dataset_cache)
        return hash(tuple(map(_changed_at, directories)))

    def _ipus(self) -> dict[str, int]:
        counts = {
            "emulator": _number(self._environment.get(EMULATED_IPUS_VARIABLE) or EMULATED_IPUS),
            "ipu": self._real_ipus.answer,
        }
        return {
            kind: count
            for kind, count in counts.items()
            if kind in self._settings.device_kinds and count is not None and count >= 0
        }

    def _count_real(self) -> int | None:
        """Returns the number of IPUs of this machine; -1 if the SDK does not know it.

        None if the SDK did not answer in time.
        """
        if "ipu" not in self._settings.device_kinds:
            return 0
        try:
            count = _number(self._commands.output(COUNT_COMMAND, COUNT_SECONDS).strip())
        except subprocess.TimeoutExpired as error:
            count, why = None, str(error)
        except (OSError, subprocess.SubprocessError) as error:
            count, why = -1, str(error)
        else:
            return -1 if count is None else count
        if why != self._not_counted and not self._commands.is_closed:  # logged once
            _log.warning("ipus_not_counted", extra={"why": why})
        self._not_counted = why
        return count

    def _probe_sandbox(self) -> Mapping[str, str] | None:
        """Returns what the runner's Python says of the sandbox; one that cannot ask has none.

        None if it did not answer in time.
        """
        command = [self._settings.runner_python, "-m", PROBE, *self._settings.device_kinds]
        try:
            found = json.loads(self._commands.output(command, PROBE_SECONDS))
            state, message = str(found["state"]), str(found["message"])
        except subprocess.TimeoutExpired as error:
            state, message = UNKNOWN, str(error)
        except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
            if not self._commands.is_closed:
                _log.warning("sandbox_not_known", extra={"why": str(error)[:300]})
            state, message = "missing", f"the runner does not say whether there is one: {error}"
        if state == UNKNOWN:
            if not self._commands.is_closed:
                _log.warning("sandbox_not_known", extra={"why": message[:300]})
            return None
        message = CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", message)
        return {"state": state, "message": message[:MAX_MESSAGE]}

    def _probe_packages(self) -> tuple[Mapping[str, Any], ...] | None:
        """Returns the packages of neurons that are signed off and installed for the runner.

        None if a busy machine did not say in time: then it is asked again.
        """
        self._has_said_packages = True
        if not self._settings.neuron_packages:
            return ()
        command = [self._settings.runner_python, "-m", PACKAGES_PROBE]
        try:
            found = json.loads(self._commands.output(command, PACKAGES_SECONDS))
            packages, problems = tuple(found["packages"]), list(found["problems"])
        except subprocess.TimeoutExpired as error:
            packages, problems = None, [str(error)]
        except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
            packages, problems, self._has_said_packages = (), [str(error)], False
        for problem in problems if not self._commands.is_closed else ():
            _log.warning("neuron_package_unavailable", extra={"why": str(problem)[:MAX_MESSAGE]})
        return packages

    def _find_data_sets(self) -> tuple[str, ...] | None:
        directory = self._settings.data_dir
        if directory is None:
            return ()
        try:
            found = data_sets.keys_in(directory)
            outside = data_sets.links_outside(directory)
        except OSError as error:
            if not self._is_unreadable:  # logged once
                _log.warning("data_unreadable", extra={"path": str(directory), "why": str(error)})
            self._is_unreadable = True
            return None
        self._is_unreadable = False
        if outside and outside != self._outside:
            why = "links that leave the data directory are not followed: put the data into it"
            named = {"path": str(directory), "links": outside[:MAX_NAMED], "why": why}
            _log.warning("data_left_out", extra=named)
        self._outside = outside
        return tuple(found) if len(found) <= MAX_DATA_SETS else None


def _sandbox_capability(answer: Mapping[str, str] | None) -> Software:
    """Returns what the probe of the sandbox said as a capability with a remark."""
    if answer is None:
        return Software()
    state, message = answer["state"], answer["message"]
    return Software(
        {SANDBOX: False if state == "missing" else state}, {SANDBOX: message} if message else {}
    )


def _number(text: str | int) -> int | None:
    try:
        return max(0, int(text))
    except ValueError:
        return None


def _changed_at(directory: Path | None) -> int:
    """Returns when an entry of a directory came or went, 0 without a directory."""
    try:
        return 0 if directory is None else directory.stat().st_mtime_ns
    except OSError:
        return -1
