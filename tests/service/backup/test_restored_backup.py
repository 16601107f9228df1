"""An old backup is restored: what it has goes on, and what came later is refused."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Any

import httpx
import pytest

from ipulse.stack import tls
from ipulse.stack.redis_server import RedisServer
from ipulse_core.messages import AGENT_PREFIX
from ipulse_service.backup.making import make
from ipulse_service.backup.restoring import restore
from ipulse_service.settings import Settings
from tests.service.agents import METRIC, Attempt, line, phase
from tests.service.conditions import eventually
from tests.service.joined import join_token
from tests.service.running import SPEC, InProcess, settings_for

pytestmark = pytest.mark.postgresql

KEY = {"idempotency-key": "after-the-copy"}


def client_with(service: InProcess, secret: str) -> httpx.Client:
    """Returns an agent's client, which trusts the certificate of the service."""
    client = service.client()
    client.headers.update(
        {"authorization": f"Bearer {secret}", "user-agent": AGENT_PREFIX + "0.0.1"}
    )
    return client


def weights_of(service: InProcess, job_id: str) -> bytes:
    files = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
    [artifact] = [file for file in files if file["role"] == "weights"]
    return service.user.get(f"/v1/jobs/{job_id}/artifacts/{artifact['id']}/content").content


def complete(attempt: Attempt) -> dict[str, Any]:
    """Complete the attempt with the result that is determined by the seed."""
    content = f"weights of {attempt.claim['job_id']}".encode()
    assert attempt.put("weights", "weights", content).status_code == 201
    return attempt.complete()


def token(service: InProcess, name: str) -> tuple[str, dict[str, str]]:
    """Return the id of a new token and the headers of a request with it."""
    body = {"name": name, "role": "reader", "seconds": 3600}
    issued = service.user.post("/v1/tokens", json=body).json()
    return issued["about"]["id"], {"authorization": f"Bearer {issued['token']}"}


def resumed(service: InProcess, job_id: str, event_id: str = "0") -> httpx.Response:
    headers = {"accept": "text/event-stream", "last-event-id": event_id}
    return service.user.get(f"/v1/jobs/{job_id}/events", headers=headers)


def ids_of(stream: httpx.Response) -> list[str]:
    return re.findall(r"^id: (.*)$", stream.text, re.M)


def status(service: InProcess, headers: dict[str, str]) -> int:
    with service.client() as anybody:
        return anybody.get("/v1/jobs", headers=headers).status_code


def test_jobs_of_the_copy_end_and_later_ones_are_refused(
    redis_server: RedisServer, home: Path, database_settings: dict[str, Any]
) -> None:
    bounds = {"retry_seconds": 0.02, "lease_seconds": 600.0}  # none ends before its time
    settings = settings_for(home, redis_server.url, **bounds, **database_settings)
    home.chmod(0o700)
    archive = home.parent / "backup.tar"
    with InProcess(settings) as service:
        ended, running, queued = (service.submit()["id"] for _ in range(3))
        complete(service.attempt(ended))
        under_way = service.attempt(running)
        under_way.report(phase("prepare"), line("one"))
        under_way.put("c", "checkpoint", b"an early checkpoint")
        revoked, of_revoked = token(service, "revoked later")
        make(settings, archive)

        under_way.report(line("two"), METRIC)
        under_way.put("c", "checkpoint", b"a later checkpoint")
        since = service.attempt(queued)
        complete(since)
        known = service.user.get(f"/v1/jobs/{queued}")
        event_ids = ids_of(resumed(service, queued))
        later = service.submit(SPEC, **KEY)["id"]
        at_work = service.attempt(later)
        service.user.delete(f"/v1/tokens/{revoked}")
        _, of_later = token(service, "issued later")
    restore(settings, archive, may_replace=True)

    # PostgreSQL's clock may have been set meanwhile: no lease expires for one length from now.
    with InProcess(settings.model_copy(update={"lease_seconds": 8.0})) as service:
        assert service.job(ended)["state"] == "succeeded"
        assert weights_of(service, ended) == f"weights of {ended}".encode()
        # An agent that still works is refused and stops.
        under_way._worker = since._worker = at_work._worker = service.worker
        assert under_way.report(line("three")).json()["code"] == "sequence_gap"
        assert under_way.finish("completed").json()["code"] == "incomplete"
        assert since.heartbeat().status_code == at_work.heartbeat().status_code == 404
        # Jobs that ended after the copy end again, with the same results.
        service.expire_leases()
        eventually(lambda: service.job(running)["state"] == "queued")
        for job_id in (running, queued):
            assert complete(service.attempt(job_id))["state"] == "succeeded"
            assert weights_of(service, job_id) == f"weights of {job_id}".encode()
            events = service.events(job_id)["events"]
            assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        # Versions and numbers of events are the same again, and nobody takes one for the other.
        again = service.user.get(
            f"/v1/jobs/{queued}", headers={"if-none-match": known.headers["etag"]}
        )
        assert (again.status_code, again.json()["version"]) == (200, known.json()["version"])
        assert resumed(service, queued, event_ids[0]).status_code == 200
        for event_id in event_ids[1:]:
            assert resumed(service, queued, event_id).json()["code"] == "other_history"
        # Jobs submitted after the copy are unknown and can be submitted again.
        assert service.user.get(f"/v1/jobs/{later}").status_code == 404
        assert service.submit(SPEC, **KEY)["id"] != later
        assert (status(service, of_later), status(service, of_revoked)) == (401, 200)
        # The clean-up takes nothing that a row needs.
        service.state.housekeeper.clean_up()
        assert weights_of(service, ended) == f"weights of {ended}".encode()


def test_tokens_and_joined_agents_go_on_with_a_restored_home(
    redis_server: RedisServer, home: Path, database_settings: dict[str, Any]
) -> None:
    settings = settings_for(home, redis_server.url, lease_seconds=600.0, **database_settings)
    certificate, key = tls.self_signed(home)
    secured = {"tls_certificate": certificate, "tls_key": key}
    with InProcess(settings.model_copy(update=secured)) as service:
        _, issued = token(service, "of a colleague")
        agent = {"name": "joined", "instance": secrets.token_urlsafe(32)}
        with client_with(service, join_token(service)["token"]) as machine:
            agents_token = machine.post("/v1/worker/join", json=agent).json()["token"]
        job_id = service.submit()["id"]
        with client_with(service, agents_token) as worker:
            body = {"job_id": job_id, "agent": "joined", "device_kinds": ["cpu"]}
            claim = worker.post("/v1/worker/claims", json=body).json()
        job_id = claim["job_id"]  # the first in the queue, which another test may have left
        pin = tls.digest_of(certificate)
        archive = home.parent / "backup.tar"
        make(settings, archive)
    assert archive.stat().st_mode & 0o777 == 0o600

    other = home.parent / "new"
    restored: dict[str, Any] = {**settings.model_dump(exclude_unset=True), "home": other}
    restore(Settings(**restored), archive, may_replace="database_url" in restored)
    kept = [path for path in other.rglob("*") if path.is_file() and path.stat().st_mode & 0o077]
    assert kept == []
    names = ("token", "agent-key", certificate.name, key.name)
    assert all((other / name).read_bytes() == (home / name).read_bytes() for name in names)
    settings = Settings(**restored)
    certificate, key = tls.self_signed(other)  # as `ipulse up --tls`: the pair that is there
    assert tls.digest_of(certificate) == pin
    secured = {"tls_certificate": certificate, "tls_key": key}
    with InProcess(settings.model_copy(update=secured)) as service:
        old = home / "token"
        with service.client(old) as user:
            assert user.get(f"/v1/jobs/{job_id}").json()["state"] == "preparing"
        assert status(service, issued) == 200
        with client_with(service, agents_token) as worker:
            assert complete(Attempt(worker, claim))["state"] == "succeeded"
