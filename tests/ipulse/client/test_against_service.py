"""Both clients against the real service, over connections that break."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest

from ipulse.client import JobHandle
from ipulse.nir_errors import NirAmbiguous, NirInvalid
from ipulse_core.errors import Conflict, InvalidInput, InvalidSpec, NotAuthenticated, NotFound
from ipulse_core.states import JobState
from tests.ipulse.cli.inputs.test_nir import chain
from tests.ipulse.cutting_proxy import CuttingProxy
from tests.ipulse.live_service import Agent, LiveService

from . import samples
from .conftest import Connect, job_of

SPEC: dict[str, Any] = {"version": 1, "network": {"layers": [{"neurons": 8}]}}
FILES = {
    "manifest.json": b"{}",
    "profile.json": b'{"schema": "a"}',
    "weights.npz": bytes(range(256)) * 4000,
}


@pytest.fixture
def agent(service: LiveService) -> Iterator[Agent]:
    made = service.agent()
    yield made
    made.close()


@pytest.fixture
def client(service: LiveService, connect: Connect) -> Any:
    return connect(service.url, service.token)


def port_of(service: LiveService) -> int:
    return int(service.url.rpartition(":")[2])


class TestJobs:
    def test_submitted_found_and_listed(self, client: Any) -> None:
        job = client.submit({**SPEC, "name": "mine", "metadata": {"a": "b"}})
        assert job.state is JobState.QUEUED
        job_now = client.job(job.id)
        assert (job_now.name, job_now.json["metadata"]) == ("mine", {"a": "b"})
        assert job.id in [listed.id for listed in client.jobs(page_size=3)]
        assert job.id in [listed.id for listed in client.jobs(state="queued", page_size=1)]

    def test_one_key_is_one_job(self, client: Any) -> None:
        key = f"{type(client).__name__}-once"
        assert client.submit(SPEC, key).id == client.submit(SPEC, key).id
        assert client.submit(SPEC).id != client.submit(SPEC).id

    def test_validation_fills_in_the_defaults(self, client: Any) -> None:
        valid = client.validate(SPEC)
        assert valid.spec["training"]["epochs"] == 30
        assert client.submit(SPEC).json["spec_sha256"] == valid.sha256

    def test_an_invalid_spec_comes_back_with_its_places(self, client: Any) -> None:
        with pytest.raises(InvalidSpec) as caught:
            client.submit({**SPEC, "seed": -1, "colour": "red"})
        assert {problem.pointer for problem in caught.value.problems} == {"/seed", "/colour"}

    def test_a_wrong_token(self, service: LiveService, connect: Connect) -> None:
        with pytest.raises(NotAuthenticated):
            connect(service.url, "x" * 43).job("job_1")

    def test_a_job_that_is_not_there(self, client: Any) -> None:
        with pytest.raises(NotFound):
            client.job("job_of_somebody_else")
        job = job_of(client, "job_of_somebody_else")
        for call in (job.refresh, job.cancel, job.artifacts, job.profile):
            with pytest.raises(NotFound):
                call()

    def test_a_cancelled_job(self, client: Any) -> None:
        job = client.submit(SPEC)
        assert job.cancel().state is JobState.CANCELLED
        assert job.cancel().state is JobState.CANCELLED
        assert job.wait(timeout=30, check=False).reason == "cancelled_by_user"

    def test_a_job_finishes_early(self, client: Any, agent: Agent) -> None:
        job = client.submit(SPEC)
        with pytest.raises(Conflict, match="cancel it"):
            job.stop()
        attempt = agent.claim(job.id)
        assert job.stop().json["finish_by"] is not None
        assert attempt.heartbeat()["finish"] is True
        job.cancel()

    def test_a_job_is_paused_resumed_and_deleted(self, client: Any) -> None:
        job = client.submit(SPEC, priority=-1, total_seconds=3600)
        assert (job.json["priority"], job.json["deadline_at"] is None) == (-1, False)
        assert job.pause().state is JobState.PAUSED
        assert job.resume().state is JobState.QUEUED
        with pytest.raises(Conflict, match="cancel it"):
            job.delete()
        job.cancel()
        assert job.delete() is None
        with pytest.raises(NotFound):
            client.job(job.id)

    def test_waiting_ends_with_the_job(self, client: Any, agent: Agent) -> None:
        job = client.submit(SPEC)
        attempt = agent.claim(job.id)
        ended: list[JobHandle] = []
        waiting = threading.Thread(target=lambda: ended.append(job.wait(timeout=60)))
        waiting.start()
        attempt.run(FILES, [])
        waiting.join()
        assert ended[0].summary == {"test_accuracy": 0.975}

    def test_waiting_too_long(self, client: Any) -> None:
        job = client.submit(SPEC)
        with pytest.raises(TimeoutError):
            job.wait(timeout=0.2)


class TestNetworks:
    def test_a_network_of_a_nir_file_is_imported_and_trained(
        self, client: Any, tmp_path: Path
    ) -> None:
        path = tmp_path / "of others.nir"
        nir.write(path, chain(64, 10))
        found = client.import_nir(path, writer="nir", solver="euler", step_ms=1)
        assert found.spec["name"] == "of-others"
        assert found.spec["network"]["initial"] == {"upload": found.weights_sha256}
        assert found.arrays == {"layer_1": [64, 4], "readout": [4, 10]}
        assert client.submit(found.spec).state is JobState.QUEUED

    def test_the_choices_of_an_ambiguous_file_are_arguments(
        self, client: Any, tmp_path: Path
    ) -> None:
        path = tmp_path / "theirs.nir"
        nir.write(path, chain(3, 2, tau=np.full(4, 20.0)))
        with pytest.raises(NirAmbiguous) as caught:
            client.import_nir(path)
        [choice] = [each for each in caught.value.choices if each.options["writer"] == "norse"]
        assert client.import_nir(path, **choice.options).spec["name"] == "theirs"
        with pytest.raises(NirInvalid, match="hidden"):
            client.import_nir(path, writer="snntorch")


class TestEvents:
    def test_everything_that_happened_in_order(self, client: Any, agent: Agent) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, ["one", "two \u2028 \u00e9"])
        events = list(job.events())
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [event.json for event in job.watch()] == [event.json for event in events]
        logs = [event.fields["message"] for event in job.events(kinds=["log"])]
        assert logs == ["one", "two \\u2028 \u00e9"]
        assert [e.fields["state"] for e in events if e.kind == "state"][-1] == "succeeded"

    def test_watching_continues_over_a_cut_stream_without_gap(
        self, service: LiveService, connect: Connect, agent: Agent
    ) -> None:
        """The agent speaks while the connection breaks again and again."""
        direct: Any = connect(service.url, service.token)
        job = direct.submit(SPEC)
        attempt = agent.claim(job.id)
        with CuttingProxy(port_of(service), [0, 0, 700, 350, 900, 1, 500, 2000]) as proxy:
            client: Any = connect(proxy.url, service.token)
            seen: list[Any] = []
            watching = threading.Thread(target=lambda: seen.extend(job_of(client, job.id).watch()))
            watching.start()
            for phase in ("prepare", "compile", "acquire", "run"):
                attempt.report({"kind": "phase", "phase": phase})
            for step in range(1, 21):
                attempt.report({"kind": "log", "message": f"step {step}"})
                attempt.metric(step, 20, loss=1 / step)
            attempt.report({"kind": "phase", "phase": "report"})
            attempt.store("manifest.json", "manifest", b"{}")
            attempt.finish()
            watching.join()
            assert proxy.connections > 5
        assert [event.json for event in seen] == [event.json for event in job.events()]

    def test_a_watch_from_beyond_the_end_is_refused(self, client: Any) -> None:
        job = client.submit(SPEC)
        with pytest.raises(InvalidInput, match="only"):
            list(job.watch(after=10**6))


class TestArtifacts:
    def test_downloads_are_the_bytes_that_were_stored(
        self, client: Any, agent: Agent, tmp_path: Path
    ) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, [])
        paths = job.download(tmp_path)
        assert {path.name: path.read_bytes() for path in paths} == FILES
        assert job.profile().json == {"schema": "a"}

    def test_a_download_continues_over_a_cut_connection(
        self, service: LiveService, connect: Connect, agent: Agent, tmp_path: Path
    ) -> None:
        direct: Any = connect(service.url, service.token)
        job = direct.submit(SPEC)
        agent.claim(job.id).run(FILES, [])
        # The first connection also carries the list of artifacts.
        cuts = [300_000, 300_000, 100, 0, 50_000]
        with CuttingProxy(port_of(service), cuts) as proxy:
            client: Any = connect(proxy.url, service.token)
            (path,) = client.job(job.id).download(tmp_path, roles=["weights"])
            assert proxy.connections == 6
        assert path.read_bytes() == FILES["weights.npz"]

    def test_a_profile_that_is_not_there_yet(self, client: Any) -> None:
        with pytest.raises(NotFound, match="no profile yet"):
            client.submit(SPEC).profile()


class TestSamples:
    """The answers that other tests are built from are those of the service."""

    def test_a_job(self, client: Any) -> None:
        assert set(client.submit(SPEC).json) == set(samples.job())

    def test_an_event(self, client: Any) -> None:
        event = next(iter(client.submit(SPEC).events()))
        assert set(samples.event(1)) <= set(event.json)

    def test_an_artifact(self, client: Any, agent: Agent) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, [])
        artifact = job.artifacts()[0]
        assert set(artifact.json) == set(samples.artifact("a", b""))
