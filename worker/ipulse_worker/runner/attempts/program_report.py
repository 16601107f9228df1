"""The report and the manifest of the run of a program or a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union

from ipulse_core import strict_json
from ipulse_core.events import ArtifactEvent, Assignment
from ipulse_core.manifest import SCHEMA
from ipulse_core.pva.band import band_of
from ipulse_core.sandbox.sandbox import SandboxResult
from ipulse_core.spec.job_kinds import SCRIPT
from ipulse_core.spec.resolved_spec import spec_document
from ipulse_worker.runner import provenance
from ipulse_worker.runner.clock import utc_now
from ipulse_worker.runner.report.page import contained, render
from ipulse_worker.runner.results.manifest import listed, spec_sha256
from ipulse_worker.runner.user_code.programs.ending import left_out
from ipulse_worker.runner.user_code.programs.outputs import PROFILE, SUMMARY, total_cycles
from ipulse_worker.runner.work_dir import WorkDir

if TYPE_CHECKING:
    from ipulse.spec import PoplarProgramSpec, ScriptSpec

SUMMARY_CHARACTERS = 200_000
OF_SDK = (".pop", ".cbor")  # files that PopVision reads


class ProgramReport:
    """The facts about a run: for the page, the manifest and one sentence."""

    def __init__(
        self,
        spec: Union[PoplarProgramSpec, ScriptSpec],
        assignment: Assignment,
        result: SandboxResult,
        build_seconds: float,
        started_at: str,
        sdk: str = "",
        metrics: Optional[Mapping[str, float]] = None,
    ) -> None:
        self._spec = spec
        self._assignment = assignment
        self._result = result
        self._build_seconds = build_seconds
        self._started_at = started_at
        self._sdk = sdk  # its version, for IPUs
        self._metrics = dict(metrics or {})  # the last ones that it printed
        self._cycles: Optional[int] = None
        self._profile_text = ""
        self.written: List[ArtifactEvent] = []

    def read_profile(self, work_dir: WorkDir) -> None:
        """Read cycles and summary of the first engine, where there is one."""
        names = {event.path for event in self.written}
        if PROFILE in names and not self._sdk:  # cycles of IPUs are not emulated
            self._cycles = total_cycles(work_dir.path / PROFILE)
        if SUMMARY in names:
            with (work_dir.path / SUMMARY).open(errors="replace") as file:
                self._profile_text = file.read(SUMMARY_CHARACTERS)

    def summary(self) -> Dict[str, float]:
        """Return the figures of the run."""
        figures = {
            **self._metrics,
            "exit_status": float(self._result.status),
            "build_seconds": self._build_seconds,
            "run_seconds": self._result.seconds,
            "peak_memory_bytes": float(self._result.peak_bytes),
        }
        if self._cycles is not None:
            figures["emulated_cycles"] = float(self._cycles)
        if self._result.returned.left_out:
            figures["files_not_stored"] = float(self._result.returned.left_out)
        return figures

    def message(self) -> str:
        """Return the outcome of one that ended well, in a sentence."""
        what = "script" if self._spec.kind == SCRIPT else "program"
        text = f"The {what} ended after {self._result.seconds:.1f} s"
        cycles = (
            f", {self._cycles:,} emulated cycles, {band_of(self._cycles).text}"
            if self._cycles
            else ""
        )
        return f"{text}{cycles}.{left_out(self._result)}"

    def html(self, failure: Optional[Exception]) -> bytes:
        """Return the page in UTF-8."""
        body = render(
            "program.html",
            spec=self._spec,
            is_script=self._spec.kind == SCRIPT,
            started_at=self._started_at[:19].replace("T", " "),
            failure=None if failure is None else str(failure),
            build_seconds=self._build_seconds,
            run_seconds=self._result.seconds,
            peak_bytes=self._result.peak_bytes,
            cycles=self._cycles,
            band=band_of(self._cycles).text if self._cycles else "",
            status=self._result.status,
            summary=self._profile_text,
            sdk=self._sdk,
            files=[
                event.path
                for event in self.written
                if event.role == "output" or event.path.endswith(OF_SDK)
            ],
        )
        return contained(self._spec.name, body).encode("utf-8")

    def manifest(self, work_dir: WorkDir) -> bytes:
        """Return manifest.json."""
        document: Dict[str, Any] = {
            "schema": SCHEMA,
            "job_id": self._assignment.job_id,
            "attempt": self._assignment.attempt,
            "artifacts": [file.to_json() for file in listed(work_dir, self.written)],
            "versions": provenance.versions(self._sdk),
            "host": provenance.host(),
            "spec": spec_document(self._spec),
            "spec_sha256": spec_sha256(self._spec),
            "started_at": self._started_at,
            "finished_at": utc_now(),
            "metrics": self.summary(),
        }
        return (strict_json.dumps(document) + "\n").encode("utf-8")
