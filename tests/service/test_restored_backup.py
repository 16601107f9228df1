"""An old copy of the database is put back by the commands of docs/guides/backup.md."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import httpx

from ipulse.stack.redis_server import RedisServer
from ipulse_service.selftest.postgresql import programs
from ipulse_service.settings import Settings

from .agents import METRIC, Attempt, line, phase
from .conditions import eventually
from .running import ROOT, InProcess, settings_for

PAGE = ROOT / "docs" / "guides" / "backup.md"
KEY = {"idempotency-key": "after-the-copy"}


def run(kind: str, which: int, settings: Settings) -> None:
    """The page's first command of this kind copies, its second puts back."""
    commands = re.findall(rf"^(.*{kind}.*)$", PAGE.read_text(), re.M)
    assert len(commands) == 2
    words = {
        "HOME": str(settings.home),
        "COPY": str(settings.home / "copy"),
        "DATABASE_URL": settings.database_url,
    }
    command = re.sub("|".join(words), lambda match: words[match[0]], commands[which])
    path = f"{programs()}:/usr/bin:/bin"
    subprocess.run(shlex.split(command), check=True, timeout=60, env={"PATH": path})


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
    kind = "sqlite3" if settings.database_url.startswith("sqlite") else "pg_"
    with InProcess(settings) as service:
        ended, running, queued = (service.submit()["id"] for _ in range(3))
        complete(service.attempt(ended))
        under_way = service.attempt(running)
        under_way.report(phase("prepare"), line("one"))
        under_way.put("c", "checkpoint", b"an early checkpoint")
        revoked, of_revoked = token(service, "revoked later")
        run(kind, 0, settings)

        under_way.report(line("two"), METRIC)
        under_way.put("c", "checkpoint", b"a later checkpoint")
        since = service.attempt(queued)
        complete(since)
        known = service.user.get(f"/v1/jobs/{queued}")
        event_ids = ids_of(resumed(service, queued))
        later = service.submit(**KEY)["id"]
        at_work = service.attempt(later)
        service.user.delete(f"/v1/tokens/{revoked}")
        _, of_later = token(service, "issued later")
    run(kind, 1, settings)

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
        assert service.submit(**KEY)["id"] != later
        assert (status(service, of_later), status(service, of_revoked)) == (401, 200)
        # The clean-up takes nothing that a row needs.
        service.state.housekeeper.clean_up()
        assert weights_of(service, ended) == f"weights of {ended}".encode()
