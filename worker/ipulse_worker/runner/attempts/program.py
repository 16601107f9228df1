"""One attempt at a job that runs a program or a script, from its package to its files."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Tuple, Type, cast

from ipulse_core.build_cache.toolchain import compiler
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import ArtifactEvent, Assignment, LogEvent, PhaseEvent
from ipulse_core.sandbox.bubblewrap import compiler_folders
from ipulse_core.sandbox.returned_files import ReturnedFiles
from ipulse_core.sandbox.sandbox import Sandbox, SandboxResult
from ipulse_core.source_package import PREFIX, unpack_package
from ipulse_core.spec.job_kinds import PROGRAM, SCRIPT
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_core.states import Phase, Reason
from ipulse_worker.runner.attempts.program_report import ProgramReport
from ipulse_worker.runner.attempts.script_files import script_files
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.clock import Timeline, utc_now
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.phase_progress import PhaseProgress
from ipulse_worker.runner.user_code.budget import of_program
from ipulse_worker.runner.user_code.compilation import PACKAGE, FirstError
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.programs.build import BUILD
from ipulse_worker.runner.user_code.programs.converted_profile import converted_profile
from ipulse_worker.runner.user_code.programs.emulated_host import EmulatedHost
from ipulse_worker.runner.user_code.programs.ending import failure_of, too_few_processes
from ipulse_worker.runner.user_code.programs.host import ProgramHost
from ipulse_worker.runner.user_code.programs.initial_folder import INITIAL, initial_folder
from ipulse_worker.runner.user_code.programs.ipu_host import IPUHost
from ipulse_worker.runner.user_code.programs.outputs import REPORTS, OutputFile, outputs
from ipulse_worker.runner.user_code.programs.script_host import ScriptHost
from ipulse_worker.runner.user_code.tools import ProgramTools
from ipulse_worker.runner.work_dir import WorkDir

# By kind of job and of device.
HOSTS: Dict[Tuple[str, str], Type[ProgramHost]] = {
    (PROGRAM, "emulator"): EmulatedHost,
    (PROGRAM, "ipu"): IPUHost,
    (SCRIPT, "emulator"): ScriptHost,
}


class ProgramAttempt:
    """Builds and runs the program of an assignment."""

    reason = Reason.COMPLETED

    # Results of a phase for later phases.
    _sandbox: Sandbox
    _tools: ProgramTools
    _initial: str  # place of the folder that the program's own is a copy of
    _out: Path
    _result: SandboxResult
    _summary: Dict[str, float]

    def __init__(
        self,
        assignment: Assignment,
        events: EventWriter,
        cancellation: Cancellation,
        timeline: Timeline,
    ) -> None:
        """Read the assignment. Raises InvalidInput."""
        self._assignment = assignment
        self._spec = cast("Any", read_spec(assignment.spec))  # of a kind of HOSTS
        self._work_dir = WorkDir(Path(assignment.work_dir))
        self._events = events
        self._cancellation = cancellation
        self._timeline = timeline
        timeline.begin_earlier(assignment.start_seconds)
        self._progress = PhaseProgress(events)
        self._errors = FirstError()
        self._started_at = utc_now()
        host = HOSTS[self._spec.kind, self._spec.device.kind]
        self._host = host(self._spec, assignment.job_id, cancellation.check)
        self._is_running = False
        self._package: Dict[str, str] = {}  # digests by name
        self._build_seconds = 0.0
        self.message = ""

    def run(self) -> Dict[str, float]:
        """Run all phases and return the figures of the program."""
        steps: Dict[Phase, Callable[[], None]] = {
            Phase.PREPARE: self._prepare,
            Phase.COMPILE: self._compile,
            Phase.ACQUIRE: self._acquire,
            Phase.RUN: self._run,
            Phase.REPORT: self._report,
        }
        try:
            for phase, step in steps.items():
                with self._phase(phase):
                    step()
        finally:
            self._host.release()
        return self._summary

    @contextmanager
    def _phase(self, phase: Phase) -> Iterator[None]:
        self._cancellation.check()
        ended = self._timeline.of("phase")
        self._events.write(PhaseEvent(phase.value, ended[-1].seconds if ended else None))
        self._progress.phase = phase
        with self._timeline.span("phase", phase.value, start=ended[-1].end if ended else 0.0):
            yield

    def _folder(self, name: str) -> Path:
        """Make a folder that the sandbox may show; the attempt's own is closed to others."""
        folder = self._work_dir.path / name
        folder.mkdir()
        folder.chmod(0o755)
        return folder

    def _prepare(self) -> None:
        """Look for a sandbox, and unpack the program."""
        self._progress(0.5, f"unpacking the {self._host.what}")
        scratch = self._work_dir.path / "scratch"
        self._sandbox = Sandbox(scratch, os.environ, self._log, self._cancellation.check)
        if self._sandbox.is_off:
            self._events.log("this worker runs programs without a sandbox", level="warning")
        self._host.prepare(not self._sandbox.is_off)
        if self._assignment.start_from is None:
            raise InvalidInput([Problem("/package", "missing", "the package was not downloaded")])
        package = self._work_dir.path / "package"
        archive = Path(self._assignment.start_from)
        self._package = unpack_package(archive, self._spec.package[len(PREFIX) :], package)
        for path in [package, *package.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        for pointer, name in self._host.named_files():
            if name not in self._package:
                detail = f"{pointer}: the package has no file {name}."
                raise ProgramFailure(Reason.BUILD_FAILED, detail)
        self._sandbox.add(PACKAGE, package)
        self._host.show(self._sandbox, self._work_dir.path)

    def _compile(self) -> None:
        self._progress(0.0, "looking for the compilers")
        self._tools = tools = self._host.tools(
            lambda build: self._progress(0.0, "the emulator", build)
        )
        if tools.version:
            self._events.log(f"compiles with {tools.version}")
        for place, folder in {**tools.folders, **compiler_folders(compiler())}.items():
            self._sandbox.add(place, folder)
        self._progress(0.5, f"compiling the {self._host.what}")
        built = self._folder("build")
        self._build_seconds = self._host.build(self._sandbox, tools, built, self._errors)
        self._sandbox.add(BUILD, built)
        self._initial = PACKAGE
        files = self._host.initial_files(built)
        if files:
            self._initial = INITIAL
            folder = self._folder("initial")
            self._package.update(initial_folder(folder, self._work_dir.path / "package", files))
            self._sandbox.add(INITIAL, folder)

    def _acquire(self) -> None:
        self._host.acquire(lambda message: self._progress(0.0, message))

    def _run(self) -> None:
        self._progress(0.0, f"running the {self._host.what}")
        self._out = self._folder("out")
        self._is_running = True
        build = self._sandbox.place(BUILD)
        self._result = self._sandbox.run(
            self._host.command(build),
            self._host.variables(build),
            of_program(self._spec.limits, self._host.seconds),
            self._out,
            initial=self._initial,
            devices=self._host.devices,
        )
        self._host.release()

    def _report(self) -> None:
        """Store the files, also of a program that failed, and raise ProgramFailure for that."""
        result = self._result
        self._progress(0.0, f"storing the files of the {self._host.what}")
        files = list(self._files(result.returned))
        for sentence in result.returned.skipped:
            self._events.log(f"not stored: {sentence}", level="warning")
        why = self._host.why(self._out)
        failure = failure_of(result, self._spec.limits, why, self._host.what)
        if failure is None and result.lacked_processes:
            self._events.log(too_few_processes(self._spec.limits), level="warning")
        report = ProgramReport(
            self._spec,
            self._assignment,
            result,
            self._build_seconds,
            self._started_at,
            self._tools.version,
            self._host.metrics,
        )
        for file in files:
            shutil.move(str(file.path), str(self._work_dir.path / file.name))
            self._store(report, ArtifactEvent(file.name, file.role, file.media_type))
        report.read_profile(self._work_dir)
        self._summary = report.summary()
        self._work_dir.write("report.html", report.html(failure))
        self._store(report, ArtifactEvent("report.html", "report", "text/html"))
        if failure is not None:
            raise failure
        self._work_dir.write("manifest.json", report.manifest(self._work_dir))
        self._store(report, ArtifactEvent("manifest.json", "manifest", "application/json"))
        self.message = report.message()

    def _files(self, returned: ReturnedFiles) -> Iterator[OutputFile]:
        if self._spec.device.kind == "ipu":
            names, folder = returned.names, self._folder("converted")
            found = converted_profile(self._sandbox, self._tools, self._out, names, folder)
            yield from [] if found is None else [found]
        is_emulated = self._spec.device.kind == "emulator"
        own = script_files(self._out / REPORTS) if self._spec.kind == SCRIPT else ()
        leave_out = returned.leave_out
        yield from outputs(self._out, returned.names, self._package, leave_out, is_emulated, own)

    def _store(self, report: ProgramReport, event: ArtifactEvent) -> None:
        report.written.append(event)
        self._events.write(event)

    def _log(self, event: LogEvent) -> None:
        self._errors.see(event)
        for each in self._host.event_of(event) if self._is_running else (event,):
            self._events.write(each)
