"""Writes the results of an attempt as files and reports each complete file to the agent.

The manifest is written last: if it exists, all other files exist.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

import numpy as np

from ipulse_core import strict_json
from ipulse_core.events import ArtifactEvent, Role
from ipulse_core.manifest import SCHEMA
from ipulse_core.spec.resolved_spec import spec_document
from ipulse_worker.runner import provenance
from ipulse_worker.runner.clock import Span, Timeline, utc_now
from ipulse_worker.runner.devices.description import DeviceFile
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.model.arrays_in_use import with_integers
from ipulse_worker.runner.profile.profile import RunMetadata
from ipulse_worker.runner.report.training_page import report_html
from ipulse_worker.runner.results.manifest import listed
from ipulse_worker.runner.results.nir_export import (
    NirExport,
    left_out,
    not_written,
    write_export,
    write_network,
)
from ipulse_worker.runner.results.results import Results
from ipulse_worker.runner.results.spikes_file import spikes_document
from ipulse_worker.runner.training.trace import chrome_trace
from ipulse_worker.runner.user_code.packages import used_packages
from ipulse_worker.runner.work_dir import WorkDir

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

JSON = "application/json"
BINARY = "application/octet-stream"
NETWORK = "network.nir"


class Artifacts:
    """Writes results into the work directory and lists the written files."""

    def __init__(self, work_dir: WorkDir, events: EventWriter) -> None:
        self._work_dir = work_dir
        self._events = events
        self.written: List[ArtifactEvent] = []
        self._exports: Sequence[NirExport] = ()

    def write_results(
        self,
        results: Results,
        arrays: Dict[str, np.ndarray],
        timeline: Timeline,
        files: Sequence[DeviceFile] = (),
    ) -> None:
        """Write all files except the manifest.

        Args:
            results: of the training.
            arrays: the trained arrays, as Model.arrays.
            timeline: of the attempt; its report phase is still open and ends now in the trace.
            files: additional files of the device.
        """
        spec, work_dir = results.spec, self._work_dir
        work_dir.write("metrics.jsonl", results.history.text().encode("utf-8"))
        self._report("metrics.jsonl", "metrics", "application/x-ndjson")

        named: Dict[str, Any] = with_integers(spec, arrays)
        with work_dir.writing("weights.npz") as path, path.open("wb") as file:
            np.savez(file, **named)
        self._report("weights.npz", "weights", BINARY)

        reason = not_written(spec)
        if reason is None:
            with work_dir.writing(NETWORK) as path:
                write_network(path, spec, arrays, results.evaluation.dropped_spikes)
            self._report(NETWORK, "network", "application/x-hdf5")
            for missing in left_out(spec):
                self._events.log(f"{NETWORK} does not express {missing}")
        else:
            self._events.log(f"{NETWORK} was not written: {reason}", "warning")
        self._write_exports(results, arrays)

        self.write_document("profile.json", "profile", results.profile)
        if results.poplar_profile is not None:
            self.write_document("poplar_profile.json", "poplar_profile", results.poplar_profile)

        self.write_document("spikes.json", "spikes", spikes_document(results))
        for extra in files:
            work_dir.write(extra.name, extra.content)
            self._report(extra.name, extra.role, extra.media_type)

        phase = results.profile["execution"]["phases"][-1]
        started = phase["microseconds"]["start"] / 1e6
        timeline.spans.append(Span("phase", phase["name"], started, timeline.clock.now()))
        work_dir.write("trace.json.gz", chrome_trace(timeline, spec.name))
        self._report("trace.json.gz", "trace", "application/gzip")

        work_dir.write("report.html", report_html(results))
        self._report("report.html", "report", "text/html")

    def _write_exports(self, results: Results, arrays: Dict[str, np.ndarray]) -> None:
        """Write the network for other simulators, and log what they cannot run."""
        spec, dropped = results.spec, results.evaluation.dropped_spikes
        self._exports = results.nir_exports
        for export in self._exports:
            for missing in export.left_out:
                lacks = (
                    "does not express" if export.written else "was not written: it cannot express"
                )
                self._events.log(f"{export.file} {lacks} {missing}", "warning")
            if export.written:
                with self._work_dir.writing(export.file) as path:
                    write_export(path, spec, arrays, export, dropped)
                self._report(export.file, "network", "application/x-hdf5")
                self._events.log(f"{export.file}: {'; '.join(export.notes)}")

    def write_document(self, name: str, role: Role, document: Dict[str, Any]) -> None:
        """Write one JSON document."""
        self._work_dir.write(name, _json(document))
        self._report(name, role, JSON)

    def write_manifest(
        self, spec: ExperimentSpec, run_metadata: RunMetadata, final: Dict[str, float]
    ) -> None:
        """Write the list of files with digests, the spec and the versions."""
        manifest: Dict[str, Any] = {
            "schema": SCHEMA,
            "job_id": run_metadata.job_id,
            "attempt": run_metadata.attempt,
            "artifacts": [file.to_json() for file in listed(self._work_dir, self.written)],
            "versions": run_metadata.versions,
            "kernel": run_metadata.device.kernel,
            "platforms": run_metadata.platforms,
            "start": run_metadata.start,
            "git": provenance.git_revision(),
            "host": {**run_metadata.host, "threads": run_metadata.device.threads},
            "seed": spec.seed,
            "spec": spec_document(spec),
            "spec_sha256": run_metadata.spec_sha256,
            "started_at": run_metadata.started_at,
            "finished_at": utc_now(),
            "metrics": final,
        }
        files = [event.path for event in self.written if event.role == "network"]
        if files:
            manifest["network"] = {
                "file": NETWORK if NETWORK in files else None,
                "left_out": left_out(spec),
                "exports": [dataclasses.asdict(export) for export in self._exports],
            }
        packages = used_packages(spec)
        if packages:
            manifest["neuron_packages"] = packages
        self._work_dir.write("manifest.json", _json(manifest))
        self._report("manifest.json", "manifest", JSON)

    def _report(self, name: str, role: Role, media_type: str) -> None:
        event = ArtifactEvent(path=name, role=role, media_type=media_type)
        self.written.append(event)
        self._events.write(event)


def _json(document: Dict[str, Any]) -> bytes:
    return (strict_json.dumps(document) + "\n").encode("utf-8")
