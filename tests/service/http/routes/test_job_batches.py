"""Many jobs are cancelled and deleted at once; on both databases."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from ipulse_service.db import tables
from ipulse_service.http.routes.jobs import job_batches
from ipulse_service.jobs import batches
from tests.service.conditions import eventually
from tests.service.http.routes.test_queue import claim
from tests.service.http.routes.test_scheduling import submit
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql

MANY = 2 * batches.SIZE + 10


def change(service: InProcess, verb: str, **query: Any) -> dict[str, Any]:
    response = service.user.post(f"/v1/jobs:{verb}", params=query)
    assert response.status_code == 200, response.text
    result: dict[str, Any] = response.json()
    return result


def crowd(service: InProcess, count: int = MANY) -> str:
    """Queue many copies of a job; returns the id of the first."""
    first = submit(service)
    jobs, events = tables.jobs, tables.events
    with service.database.write() as transaction:
        row = transaction.connection.execute(select(jobs)).one()._asdict()
        of_job = transaction.connection.execute(select(events)).one()._asdict()
        begin = row.pop("pk")
        copies = [{**row, "id": f"job_{n:024x}"} for n in range(1, count)]
        transaction.connection.execute(insert(jobs), copies)
        pks = transaction.connection.execute(select(jobs.c.pk).where(jobs.c.pk != begin)).scalars()
        transaction.connection.execute(insert(events), [{**of_job, "job_pk": pk} for pk in pks])
    return first


def test_all_queued_jobs_are_cancelled_and_deleted(alone: InProcess) -> None:
    first = crowd(alone)
    counted = change(alone, "cancel", state="queued", dry_run=True)
    assert counted["by_state"] == {"queued": MANY}
    assert (counted["changed"], counted["remaining"]) == (0, MANY)
    later = submit(alone)
    done = change(alone, "cancel", state="queued", created_before=counted["as_of"])
    assert (done["changed"], done["unchanged"], done["remaining"]) == (MANY, 0, 0)
    job = alone.job(first)
    assert (job["state"], job["reason"]) == ("cancelled", "cancelled_by_user")
    assert job["finished_at"]
    assert job["phase_seconds"]["queue"] >= 0
    states = [event["state"] for event in alone.events(first)["events"]]
    assert states == ["queued", "cancelled"]
    assert alone.job(later)["state"] == "queued"
    done = change(alone, "delete", all=True)
    assert (done["changed"], done["unchanged"]) == (MANY, 1)
    assert [job["id"] for job in alone.user.get("/v1/jobs").json()["jobs"]] == [later]


def in_all_states(service: InProcess) -> str:
    """Makes a job in each state that requests can bring it to; returns the query for them."""
    group = f"g{secrets.token_hex(6)}"

    def made(**query: str) -> str:
        response = service.user.post("/v1/jobs", json=SPEC, params={"group": group, **query})
        assert response.status_code == 202, response.text
        return str(response.json()["id"])

    def act(job_id: str, *verbs: str) -> None:
        for verb in verbs:
            assert service.user.post(f"/v1/jobs/{job_id}/{verb}").status_code == 200

    for verbs in ((), ("cancel",), ("pause",), ("finish",)):
        act(service.attempt(made()).claim["job_id"], *verbs)
    service.attempt(made()).finish("diverged")
    imported = service.attempt(made())
    imported.finish("diverged")
    act(made(), "pause")
    act(made(), "cancel")
    made(after=made())
    with service.database.write() as transaction:
        this = update(tables.jobs).where(tables.jobs.c.id == imported.claim["job_id"])
        transaction.connection.execute(this.values(imported_at=1))
    return f"group:{group}"


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        *((verb, None) for verb in ("cancel", "delete", "pause", "finish", "resume", "retry")),
        ("edit", {"add_tags": ["t"]}),
        ("edit", {"priority": 3}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value or "",
)
def test_a_dry_run_counts_what_the_change_changes(
    service: InProcess, verb: str, body: dict[str, Any] | None
) -> None:
    query = in_all_states(service)

    def send(**more: Any) -> dict[str, Any]:
        response = service.user.post(f"/v1/jobs:{verb}", params={"q": query, **more}, json=body)
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()
        return result

    counted = send(dry_run=True)
    done = send()
    assert 0 < counted["changeable"] == done["changed"]
    assert counted["matched"] == done["matched"] == done["changed"] + done["unchanged"]
    if verb != "edit":
        assert done["unchanged"]


def test_a_dry_run_counts_no_job_that_waits_for_one_that_failed(alone: InProcess) -> None:
    first = submit(alone)
    after = alone.user.post("/v1/jobs", json=SPEC, params={"after": first}).json()["id"]
    claim(alone, "a", "cpu").finish("diverged")
    eventually(lambda: alone.job(after)["state"] == "cancelled")
    counted = change(alone, "retry", dry_run=True)
    assert (counted["matched"], counted["changeable"]) == (2, 1)
    assert change(alone, "retry", all=True)["changed"] == 1
    assert alone.job(after)["state"] == "blocked"


def test_each_job_ends_as_if_it_had_been_named(alone: InProcess) -> None:
    running, paused, named, over = [submit(alone) for _ in range(4)]
    attempt = claim(alone, "a", "cpu")
    assert attempt.claim["job_id"] == running
    alone.user.post(f"/v1/jobs/{paused}/pause")
    for job_id in (named, over):
        alone.user.post(f"/v1/jobs/{job_id}/cancel")
    before = alone.job(over)
    done = change(alone, "cancel", all=True)
    assert done["by_state"] == {"cancelled": 2, "paused": 1, "preparing": 1}
    assert (done["changed"], done["unchanged"]) == (2, 2)
    assert alone.job(over) == before
    assert alone.job(paused)["state"] == "cancelled"
    assert attempt.heartbeat().json()["cancel"] is True
    assert attempt.finish("cancelled_by_user").json()["state"] == "cancelled"
    tags = {alone.user.get(f"/v1/jobs/{job}").headers["etag"] for job in (paused, over)}
    assert len(tags) == 2


def test_the_filters_are_those_of_the_list(alone: InProcess) -> None:
    audio = submit(alone, {**SPEC, "metadata": {"team": "audio"}})
    long = submit(alone, {**SPEC, "training": {"epochs": 31}})
    other = submit(alone)
    assert change(alone, "cancel", label="team=audio")["changed"] == 1
    assert change(alone, "cancel", field="/training/epochs=31", device="cpu")["changed"] == 1
    assert change(alone, "cancel", device="ipu")["matched"] == 0
    assert [alone.job(job)["state"] for job in (audio, long)] == ["cancelled"] * 2
    assert alone.job(other)["state"] == "queued"


def test_the_files_of_deleted_jobs_are_deleted(alone: InProcess) -> None:
    for content in (b"one", b"shared", b"shared"):
        submit(alone)
        attempt = claim(alone, "a", "cpu")
        attempt.put("weights", "weights", content)
        attempt.finish("diverged", "It diverged.")
    kept = submit(alone)
    attempt = claim(alone, "a", "cpu")
    attempt.put("weights", "weights", b"shared")
    attempt.complete()
    assert change(alone, "delete", state="failed")["changed"] == 3
    [artifact, *_] = alone.user.get(f"/v1/jobs/{kept}/artifacts").json()["artifacts"]
    path = f"/v1/jobs/{kept}/artifacts/{artifact['id']}/content"
    assert alone.user.get(path).content == b"shared"
    files = [path for path in alone.settings.artifacts_dir.rglob("*") if path.is_file()]
    assert sorted(path.stat().st_size for path in files if path.stat().st_size < 20) == [2, 6]


def test_a_request_that_takes_too_long_is_continued_by_the_next(
    alone: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd(alone)
    monkeypatch.setattr(job_batches, "BUDGET_SECONDS", 0.0)
    some = change(alone, "cancel", all=True)
    assert 0 < some["changed"] < MANY
    assert some["remaining"] == MANY - some["changed"]
    monkeypatch.undo()
    assert change(alone, "cancel", all=True)["changed"] == some["remaining"]


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_without_a_filter_nothing_happens_unless_all_are_meant(alone: InProcess, verb: str) -> None:
    job = submit(alone)
    problem = check_problem(alone.user.post(f"/v1/jobs:{verb}"), 400)
    assert problem["errors"][0]["pointer"] == "/query/all"
    check_problem(alone.user.post(f"/v1/jobs:{verb}", params={"time_zone": "+05:30"}), 400)
    for wrong in ({"state": "over"}, {"all": "maybe"}, {"page_size": 3}, {"label": "x"}):
        check_problem(alone.user.post(f"/v1/jobs:{verb}", params=wrong), 400)
    assert alone.job(job)["state"] == "queued"


def test_readers_and_workers_may_not(alone: InProcess) -> None:
    body = {"name": "guest", "role": "reader", "seconds": 600}
    reader = alone.user.post("/v1/tokens", json=body).json()["token"]
    for verb in ("cancel", "delete"):
        headers = {"authorization": f"Bearer {reader}"}
        url = f"/v1/jobs:{verb}?all=true"
        check_problem(alone.user.post(url, headers=headers), 403)
        check_problem(alone.worker.post(url), 403)


@pytest.mark.parametrize("verb", ["cancel", "delete"])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("dry_run", ["true", "false"]),
        ("all", ["false", "true"]),
        ("created_before", ["2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"]),
    ],
)
def test_no_parameter_is_overruled_by_another_of_its_name(
    service: InProcess, verb: str, name: str, values: list[str]
) -> None:
    job = submit(service)
    response = service.user.post(f"/v1/jobs:{verb}", params={"device": "cpu", name: values})
    assert check_problem(response, 400)["code"] == "invalid_parameter"
    assert [problem["pointer"] for problem in response.json()["errors"]] == [f"/query/{name}"]
    assert service.job(job)["state"] == "queued"
