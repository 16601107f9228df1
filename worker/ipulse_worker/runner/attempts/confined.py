"""One attempt with its training in a sandbox, because TensorFlow loads code of users into it."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Dict, List, Optional, Set, cast

import ipulse_ops
import ipulse_worker
import poplar_emulator
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.toolchain import compiler
from ipulse_core.data_sets import UPLOADED_FOLDER
from ipulse_core.events import Assignment, DoneEvent, PhaseEvent
from ipulse_core.poplar_environment import poplar_environment
from ipulse_core.sandbox.bubblewrap import CONFINED, compiler_folders
from ipulse_core.sandbox.process import ProcessEnded
from ipulse_core.sandbox.python_path import python_folders, python_path
from ipulse_core.sandbox.sandbox import WORK, Sandbox
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_core.states import Phase, Reason
from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.poplar import sdk
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.clock import Timeline
from ipulse_worker.runner.devices.card_reservation import CardReservation
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.phase_progress import PhaseProgress
from ipulse_worker.runner.user_code import budget
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.ops.ops import CustomOps
from ipulse_worker.runner.user_code.process import WITH_PATH, UserProcess
from ipulse_worker.runner.user_code.protocol import BadMessage
from ipulse_worker.runner.user_code.tools import sdk_tools
from ipulse_worker.runner.user_code.trainings.messages import ReceivedFiles
from ipulse_worker.runner.user_code.trainings.relay import EventFilter, Pace
from ipulse_worker.runner.user_code.trainings.rules import failure_of, named_files

if TYPE_CHECKING:
    from ipulse.spec import IPUDevice

_PACKAGES = (ipulse_ops, ipulse_worker, poplar_emulator)  # that the process imports
_GIVEN, _BUILDS, _UPLOADED = "/given", "/builds", "/uploaded"  # places in the sandbox


class ConfinedAttempt:
    """Prepares a sandbox and passes on what the training in it reports."""

    command = WITH_PATH
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
        self._process: Optional[UserProcess] = None
        self._sent: Set[str] = set()  # orders
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
        links = {UPLOADED_FOLDER: _UPLOADED} if uploaded else {}
        self._progress(0.0, "starting the training in its sandbox")
        limits = budget.of_training()
        process = UserProcess(
            sandbox, self.command, environment, limits, self._cards.devices, self._pass_orders
        )
        self._process = process
        files, events = ReceivedFiles(self._directory, budget.MAX_FILES_BYTES), EventFilter()
        pace = Pace()
        try:
            # The profile of the training shows what was done here, too.
            begun = replace(assignment, start_seconds=self._clock.now())
            given = {"builds": cached, "links": links, "assignment": begun.to_json()}
            process.request("training", given, has_answer=False)
            while True:
                message = process.message()
                if message.kind == "file":
                    events.add(files.store(message, process.chunks(message.size)))
                    continue
                event = events.event_of(message)
                if isinstance(event, DoneEvent):
                    return event
                if not (isinstance(event, PhaseEvent) and event.phase == Phase.PREPARE.value):
                    pace.wait()
                    self._events.write(event)
        except ProcessEnded as ended:
            raise failure_of(ended, limits) from ended
        except BadMessage as error:
            raise ProgramFailure(
                Reason.PROGRAM_FAILED, f"The training with custom ops was ended: {error}."
            ) from error

    def _pass_orders(self) -> None:
        """Pass on what the agent has ordered since the last call."""
        assert self._process is not None  # noqa: S101 - it waits for an answer
        for order, is_wanted in zip(("cancel", "finish"), self._orders()):
            if is_wanted and order not in self._sent:
                self._sent.add(order)
                self._process.request(order, {}, has_answer=False)

    def _orders(self) -> List[bool]:
        return [self._cancellation.requested, self._cancellation.finish_requested]
