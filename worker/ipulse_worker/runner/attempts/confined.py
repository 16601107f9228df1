"""One attempt with its training in a sandbox, because TensorFlow loads code of users into it."""

from __future__ import annotations

import os
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Dict, List, Optional, cast

import ipulse_ops
import ipulse_worker
import poplar_emulator
from ipulse_core import strict_json
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.toolchain import compiler
from ipulse_core.data_sets import UPLOADED_FOLDER
from ipulse_core.events import Assignment, DoneEvent, PhaseEvent
from ipulse_core.poplar_environment import poplar_environment
from ipulse_core.sandbox.bubblewrap import CONFINED, compiler_folders
from ipulse_core.sandbox.process import ProcessEnded, SandboxedProcess
from ipulse_core.sandbox.python_path import python_folders, python_path
from ipulse_core.sandbox.sandbox import WORK, Sandbox
from ipulse_core.states import Phase, Reason
from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.poplar import sdk
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.clock import Timeline
from ipulse_worker.runner.devices.card_reservation import CardReservation
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.phase_progress import PhaseProgress
from ipulse_worker.runner.resolved_spec import read_spec
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.ops.ops import CustomOps
from ipulse_worker.runner.user_code.tools import sdk_tools
from ipulse_worker.runner.user_code.trainings.messages import BadMessage, MessageReader
from ipulse_worker.runner.user_code.trainings.relay import EventFilter, Pace
from ipulse_worker.runner.user_code.trainings.rules import limits, named_files, reason_of

if TYPE_CHECKING:
    from ipulse.spec import IPUDevice

_MODULE = "ipulse_worker.runner.confined_process"
_PACKAGES = (ipulse_ops, ipulse_worker, poplar_emulator)  # that the process imports
_POLL_SECONDS = 0.2  # until an order of the agent is passed on
_START_SECONDS = 600.0
_GIVEN, _BUILDS, _UPLOADED = "/given", "/builds", "/uploaded"  # places in the sandbox
MAX_FILES_BYTES = 2**32  # of one attempt


class ConfinedAttempt:
    """Prepares a sandbox and passes on what the training in it reports."""

    command = ("-s", "-u", "-m", _MODULE)  # of Python
    reason = Reason.COMPLETED
    message = ""

    def __init__(
        self,
        assignment: Assignment,
        events: EventWriter,
        cancellation: Cancellation,
        timeline: Timeline,
    ) -> None:
        """Take the assignment."""
        self._assignment = assignment
        self._spec = read_spec(assignment.spec)
        self._settings = cast("IPUDevice", self._spec.device)
        self._directory = Path(assignment.work_dir)
        self._events = events
        self._cancellation = cancellation
        self._progress = PhaseProgress(events)
        timeline.begin_earlier(assignment.start_seconds)
        self._clock = timeline.clock
        self._cards = CardReservation(assignment.job_id, self._settings.ipus, cancellation.check)
        self._ops: Optional[CustomOps] = None
        self._process: Optional[SandboxedProcess] = None
        self._places: Dict[str, str] = {}  # of files, by their paths

    def run(self) -> Dict[str, float]:
        """Run the training in the sandbox and return its final metrics.

        Raises ProgramFailure, SandboxUnavailable, DeviceUnavailable and what builds raise.
        """
        try:
            self._events.write(PhaseEvent(Phase.PREPARE.value))
            sandbox = Sandbox(
                self._directory / "scratch",
                os.environ,
                self._events.write,
                self._cancellation.check,
            )
            self._cards.find(is_sandboxed=True)
            builds = self._builds()
            self._show(sandbox, builds)
            assignment = self._given(sandbox)
            environment = self._environment()
            self._progress(0.0, "waiting for an IPU for the sandbox")
            self._cards.reserve(
                self._settings.acquire_timeout_seconds,
                "device.acquire_timeout_seconds",
                lambda message: self._progress(0.0, message),
            )
            done = self._follow(sandbox, builds, environment, assignment)
        finally:
            if self._process is not None:
                self._process.close()
            self._cards.release()
            if self._ops is not None:
                self._ops.close()
        self.reason, self.message = Reason(done.reason), done.message
        return done.summary

    def _builds(self) -> List[Path]:
        """Build what the training needs, in caches that it cannot write to."""
        directory = self._directory / "outside"
        directory.mkdir()
        self._progress(0.0, "building the custom ops")
        self._ops = CustomOps(
            self._spec,
            self._assignment.ops or {},
            directory,
            os.environ,
            self._events.write,
            self._cancellation.check,
        )
        built = self._ops.build_for_ipus(lambda build: self._progress(0.0, build.activity, build))
        op = sdk.built_op(progress=lambda build: self._progress(0.0, build.activity, build))
        libraries = [native.build_kernels(), native.build_tensorflow_op(), op.library]
        folders = [*(library.parent for library in libraries), *built]
        return list(dict.fromkeys(folders))

    def _show(self, sandbox: Sandbox, builds: List[Path]) -> None:
        folders = {
            **python_folders(*_PACKAGES),
            **compiler_folders(compiler()),
            **sdk_tools().folders,
        }
        for place, folder in folders.items():
            sandbox.add(place, folder)
        for build in builds:
            sandbox.add(f"{_BUILDS}/{build.name}", build)
        for path in named_files(self._spec, os.environ):
            sandbox.add(str(path), path)
        uploaded = self._directory / UPLOADED_FOLDER
        if uploaded.exists():
            sandbox.add(_UPLOADED, uploaded.resolve())

    def _given(self, sandbox: Sandbox) -> Assignment:
        """Show the files of the assignment, and return it with their places."""
        given = self._assignment

        def place(path: Optional[str]) -> Optional[str]:
            return None if path is None else self._show_file(sandbox, Path(path))

        ops = {digest: self._show_file(sandbox, Path(p)) for digest, p in (given.ops or {}).items()}
        return replace(
            given,
            work_dir=f"{WORK}/attempt",
            checkpoint=place(given.checkpoint),
            start_from=place(given.start_from),
            ops=ops,
        )

    def _show_file(self, sandbox: Sandbox, path: Path) -> str:
        where = f"{_GIVEN}/{len(self._places)}/{path.name}"
        self._places[str(path)] = where
        # An agent that runs as root gives the training a user without rights.
        path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o444)
        sandbox.add(where, path)
        return where

    def _environment(self) -> Dict[str, str]:
        tools = sdk_tools()
        variables = {
            **tools.environment,
            "PYTHONPATH": python_path(os.environ, tools.folders.values(), *_PACKAGES),
            "IPULSE_CACHE": f"{WORK}/cache",
            "IPULSE_SANDBOX": "none",  # it is in one
            CONFINED: "1",
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "PYTHONFAULTHANDLER": "1",
            **poplar_environment(self._settings, f"{WORK}/attempt"),
        }
        named = os.environ.get(sdk.VARIABLE)
        if named:
            variables[sdk.VARIABLE] = f"{_BUILDS}/{Path(named).name}"
        if named_files(self._spec, os.environ):
            variables["IPULSE_DATA"] = os.environ["IPULSE_DATA"]
        return variables

    def _follow(
        self,
        sandbox: Sandbox,
        builds: List[Path],
        environment: Dict[str, str],
        assignment: Assignment,
    ) -> DoneEvent:
        """Run the training, and pass on its events until the last one."""
        cached = [f"{_BUILDS}/{b.name}" for b in builds if b.parent == cache_directory()]
        uploaded = (self._directory / UPLOADED_FOLDER).exists()
        files = {"builds": cached, "links": {UPLOADED_FOLDER: _UPLOADED} if uploaded else {}}
        command = [sys.executable, *self.command, strict_json.dumps(files)]
        self._progress(0.0, "starting the training in its sandbox")
        process = sandbox.start(command, environment, limits(), self._cards.devices)
        self._process = process
        reader, events = MessageReader(self._directory, MAX_FILES_BYTES), EventFilter()
        pace = Pace()
        sent = [False, False]
        try:
            deadline = _deadline()
            # The profile of the training shows what was done here, too.
            begun = replace(assignment, start_seconds=self._clock.now())
            process.send((strict_json.dumps(begun.to_json()) + "\n").encode(), deadline)
            while True:
                for number, is_wanted in enumerate(self._orders()):
                    if is_wanted and not sent[number]:
                        sent[number] = True
                        process.send((b"cancel\n", b"finish\n")[number], _deadline())
                data = process.read(_POLL_SECONDS)
                for message in reader.feed(data) if data else ():
                    event = events.event_of(message)
                    if isinstance(event, DoneEvent):
                        return event
                    is_first = isinstance(event, PhaseEvent) and event.phase == Phase.PREPARE.value
                    if event is not None and not is_first:
                        pace.wait()
                        self._events.write(event)
        except ProcessEnded as ended:
            raise ProgramFailure(*reason_of(ended)) from ended
        except BadMessage as error:
            raise ProgramFailure(
                Reason.PROGRAM_FAILED, f"The training with custom ops was ended: {error}."
            ) from error

    def _orders(self) -> List[bool]:
        return [self._cancellation.requested, self._cancellation.finish_requested]


def _deadline() -> float:
    return time.monotonic() + _START_SECONDS
