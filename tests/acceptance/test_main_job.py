"""The main job, end to end: a spec over HTTP trains a network and produces a report."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import psutil
import pytest

from ipulse.cli.display.figures import percent
from ipulse.cli.display.profile_page import profile_lines
from ipulse.client import Connection, JobHandle
from ipulse.spec import parse_spec, spec_to_json
from ipulse.stack.stack import Stack
from ipulse_core.states import JobState, Phase
from ipulse_worker.runner.report.quantities import duration

from .jobs import PATIENCE, Runners, arrays, family, small_spec, until

pytestmark = pytest.mark.slow


def finished(client: Connection, spec: dict[str, Any]) -> JobHandle:
    job = client.submit(spec).wait(timeout=PATIENCE, check=False)
    assert job.succeeded, job.json
    return job


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def job(stack: Stack, results: Path) -> JobHandle:
    """A job that was followed to its end, with its files."""
    with Connection(stack.url, token_file=stack.token_path) as client:
        submitted = client.submit(small_spec())
        events = list(client.job(submitted.id).watch())
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        client.job(submitted.id).download(results / "job")
        (results / "events.json").write_text(json.dumps([event.json for event in events]))
        return client.job(submitted.id)


class TestFromSpecToReport:
    @pytest.fixture
    def events(self, job: JobHandle, results: Path) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = json.loads((results / "events.json").read_text())
        return events

    def test_it_goes_through_every_phase_in_order(
        self, job: JobHandle, events: list[dict[str, Any]]
    ) -> None:
        assert [e["phase"] for e in events if e["kind"] == "phase"] == [p.value for p in Phase]
        states = [event["state"] for event in events if event["kind"] == "state"]
        assert (states[0], states[-1]) == ("queued", "succeeded")
        assert (job.state, job.reason) == (JobState.SUCCEEDED, "completed")
        assert set(job.phase_seconds) >= {"queue", *(phase.value for phase in Phase)}

    def test_the_stored_spec_is_the_one_that_was_sent(self, job: JobHandle) -> None:
        assert job.json["spec"] == spec_to_json(parse_spec(small_spec()))

    def test_progress_ends_with_the_last_step(self, events: list[dict[str, Any]]) -> None:
        metrics = [event for event in events if event["kind"] == "metric"]
        assert metrics[-1]["step"] == metrics[-1]["steps"]
        assert metrics[-1]["epoch"] == 3
        assert {"loss", "accuracy", "firing_rate/1", "firing_rate/2"} <= set(metrics[-1]["values"])

    def test_every_file_is_the_one_the_manifest_lists(self, job: JobHandle, results: Path) -> None:
        folder = results / "job"
        manifest = json.loads((folder / "manifest.json").read_text())
        listed = {entry["name"]: entry for entry in manifest["artifacts"]}
        on_disk = {path.name for path in folder.iterdir()} - {"manifest.json"}
        assert {"metrics", "weights", "network", "profile", "trace", "report"} <= {
            entry["role"] for entry in listed.values()
        }
        assert set(listed) <= on_disk
        for name, entry in listed.items():
            content = (folder / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == entry["sha256"]
            assert len(content) == entry["size"]

    def test_the_manifest_was_stored_last(self, job: JobHandle, client: Connection) -> None:
        roles = [artifact.role for artifact in client.job(job.id).artifacts()]
        assert [role for role in roles if role != "checkpoint"][-1] == "manifest"

    def test_the_report_needs_nothing_from_elsewhere(self, job: JobHandle, results: Path) -> None:
        page = (results / "job" / "report.html").read_text(encoding="utf-8")
        # An XML name space is a name and is not fetched.
        fetched = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?!#|data:)([^"')\s>]+)""", page)
        assert fetched == []
        assert "<script src" not in page

    def test_the_weights_have_a_row_for_each_presynaptic_neuron(
        self, job: JobHandle, results: Path
    ) -> None:
        shapes = [array.shape for array in arrays(results / "job" / "weights.npz").values()]
        assert sorted(shapes) == sorted([(64, 32), (32, 24), (24, 10)])

    def test_the_metrics_file_ends_with_the_summary(self, job: JobHandle, results: Path) -> None:
        lines = (results / "job" / "metrics.jsonl").read_text().splitlines()
        assert job.summary is not None
        assert json.loads(lines[-1])["test_accuracy"] == job.summary["test_accuracy"]

    def test_the_profile_over_http_is_the_file(
        self, job: JobHandle, client: Connection, results: Path
    ) -> None:
        file = json.loads((results / "job" / "profile.json").read_text())
        assert client.job(job.id).profile().json == file
        assert file["experiment"]["spec_sha256"] == job.json["spec_sha256"]

    def test_the_profile_makes_a_page(self, job: JobHandle, client: Connection) -> None:
        profile = client.job(job.id).profile().json
        page = list(profile_lines(profile))
        for phase in profile["execution"]["phases"]:
            seconds = f"{phase['seconds']:.3f} s"
            assert any(phase["name"] in line and seconds in line for line in page)
        rates = [
            f"firing rate {percent(layer['firing_rate'])}"
            for layer in profile["activity"]["layers"]
        ]
        assert len(rates) == 2
        assert all(any(rate in line for line in page) for rate in rates)

    def test_every_view_has_the_same_times(
        self, job: JobHandle, client: Connection, events: list[dict[str, Any]], results: Path
    ) -> None:
        phases = client.job(job.id).profile().json["execution"]["phases"]
        of_profile = {phase["name"]: phase["seconds"] for phase in phases}
        entered = [event for event in events if event["kind"] == "phase"]
        for before, event in zip(entered, entered[1:]):
            name, seconds = before["phase"], event["previous_seconds"]
            assert seconds == of_profile[name]
            assert job.phase_seconds[name] == pytest.approx(seconds, abs=0.001)
        text = (results / "job" / "report.html").read_text(encoding="utf-8")
        rows = re.findall("<tr.*?</tr>", text, re.DOTALL)
        for name, seconds in of_profile.items():
            assert any(f">{name}<" in row and duration(seconds) in row for row in rows), name
        total = duration(sum(of_profile.values()))
        assert any("total" in row and total in row for row in rows)
        parts = {part["name"]: part["seconds"] for part in phases[0]["parts"]}
        assert sum(parts.values()) == pytest.approx(of_profile["prepare"])
        assert all(seconds >= 0 for seconds in parts.values())

    def test_the_same_seed_gives_the_same_figures(
        self, job: JobHandle, client: Connection, results: Path
    ) -> None:
        again = finished(client, small_spec())
        client.job(again.id).download(results / "again")
        assert again.summary is not None
        assert job.summary is not None
        assert again.summary["test_accuracy"] == job.summary["test_accuracy"]
        assert_same_weights(results / "job", results / "again")


class TestInterruption:
    def test_a_cancelled_job_stops_and_leaves_no_process(
        self, client: Connection, runners: Runners
    ) -> None:
        job = client.submit(small_spec(epochs=100_000))
        until(client.job(job.id).watch(), "metric", step=1)
        processes = family(runners.of(job.id))
        assert client.job(job.id).cancel().state in (JobState.CANCELLING, JobState.CANCELLED)
        ended = client.job(job.id).wait(timeout=PATIENCE, check=False)
        assert (ended.state, ended.reason) == (JobState.CANCELLED, "cancelled_by_user")
        assert psutil.wait_procs(processes, timeout=PATIENCE)[1] == []
        # The trained weights so far are stored.
        assert "checkpoint" in {artifact.role for artifact in client.job(job.id).artifacts()}

    def test_a_restart_of_the_service_leaves_no_gap_in_a_watch(
        self, client: Connection, stack: Stack
    ) -> None:
        job = client.submit(small_spec(epochs=40, name="restarted"))
        events = client.job(job.id).watch()
        seen = until(events, "metric", step=1)
        stack.restart_service()
        seen += list(events)
        assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
        ended = client.job(job.id)
        assert ended.succeeded
        assert len(ended.json["attempts"]) == 1  # the runner never noticed

    def test_a_job_cancelled_in_the_queue_never_starts(self, client: Connection) -> None:
        busy = client.submit(small_spec(epochs=100_000))
        until(client.job(busy.id).watch(), "metric", step=1)
        waiting = client.submit(small_spec())
        assert client.job(waiting.id).cancel().state is JobState.CANCELLED
        client.job(busy.id).cancel()
        client.job(busy.id).wait(timeout=PATIENCE, check=False)
        assert client.job(waiting.id).attempt == 0


def assert_same_weights(one: Path, other: Path) -> None:
    """The results are equal bit for bit."""
    first, second = arrays(one / "weights.npz"), arrays(other / "weights.npz")
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.dtype == second[name].dtype
        assert array.tobytes() == second[name].tobytes(), name
