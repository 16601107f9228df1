"""A failed job once more under its own id; on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from ipulse_service.db import tables
from ipulse_service.jobs import store
from tests.service.agents import METRIC, Attempt, line, phase
from tests.service.conditions import eventually
from tests.service.http.routes.test_queue import announce
from tests.service.http.routes.test_submission import check_problem
from tests.service.pushed_ops import coding
from tests.service.running import SPEC, InProcess


def submit(service: InProcess, *after: str, **options: Any) -> str:
    response = service.user.post("/v1/jobs", json=SPEC, params={"after": list(after), **options})
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


def failed(service: InProcess, reason: str = "diverged") -> tuple[str, Attempt]:
    attempt = service.attempt(submit(service))
    attempt.report(phase("prepare"), phase("run"))
    attempt.finish(reason, "no finite loss", loss=1.0)
    return attempt.claim["job_id"], attempt


def retry(service: InProcess, job_id: str) -> dict[str, Any]:
    response = service.user.post(f"/v1/jobs/{job_id}/retry")
    assert response.status_code == 200, response.text
    job: dict[str, Any] = response.json()
    return job


def cancel(service: InProcess, *job_ids: str) -> None:
    for job_id in job_ids:
        service.user.post(f"/v1/jobs/{job_id}/cancel")


def ended(service: InProcess, job_id: str) -> dict[str, Any]:
    eventually(lambda: service.job(job_id)["state"] in ("failed", "cancelled", "succeeded"))
    return service.job(job_id)


def streamed(service: InProcess, job_id: str, after: int) -> list[str]:
    """The events of a stream up to its end."""
    path = f"/v1/jobs/{job_id}/events/stream"
    with service.user.stream("GET", path, params={"after": after}) as response:
        return [text.split(": ")[1] for text in response.iter_lines() if text.startswith("event")]


def test_it_goes_on_from_its_checkpoint_in_one_sequence_of_events(service: InProcess) -> None:
    job_id, first = failed(service)
    before = service.job(job_id)
    assert streamed(service, job_id, 0)[-1] == "end"
    job = retry(service, job_id)
    assert (job["id"], job["state"]) == (job_id, "queued")
    assert (job["reason"], job["message"], job["finished_at"]) == (None, "", None)
    assert job["summary"] is None
    assert job["version"] > before["version"]
    second = service.attempt(job_id)
    second.report(phase("prepare"), line("again"), METRIC)
    assert second.complete()["state"] == "succeeded"
    events = service.events(job_id)["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    states = [event["state"] for event in events if event["kind"] == "state"]
    assert states.count("failed") == 1
    assert states[states.index("failed") + 1] == "queued"
    assert streamed(service, job_id, before["last_seq"])[-1] == "end", "a new stream has the rest"
    assert first.finish("completed").status_code == 409, "the attempt that failed stays failed"
    assert [attempt["reason"] for attempt in service.job(job_id)["attempts"]] == [
        "diverged",
        "completed",
    ]


def test_the_next_attempt_gets_the_last_checkpoint(service: InProcess) -> None:
    attempt = service.attempt(submit(service))
    attempt.put("checkpoint-7", "checkpoint", b"weights")
    attempt.finish("out_of_memory", "no room")
    job_id = attempt.claim["job_id"]
    retry(service, job_id)
    assert "checkpoint" in service.events(job_id, kind="log")["events"][-1]["message"]
    second = service.attempt(job_id)
    assert second.claim["checkpoint"]["name"] == "checkpoint-7"
    second.complete()


def test_a_repeated_request_changes_nothing(service: InProcess) -> None:
    job_id, _ = failed(service)
    version = retry(service, job_id)["version"]
    assert retry(service, job_id)["version"] == version
    attempt = service.attempt(job_id)
    assert retry(service, job_id)["state"] == "preparing"
    attempt.complete()


def test_another_end_is_refused_with_what_to_do(service: InProcess) -> None:
    succeeded = service.attempt(submit(service))
    succeeded.complete()
    cancelled = submit(service)
    cancel(service, cancelled)
    job_id, _ = failed(service)
    for one, fix in ((succeeded.claim["job_id"], "clone"), (cancelled, "clone it")):
        problem = check_problem(service.user.post(f"/v1/jobs/{one}/retry"), 409)
        assert problem["code"] == "illegal_transition"
        assert fix in problem["detail"]
    missing = service.user.post("/v1/jobs/job_000000000000000000000000/retry")
    check_problem(missing, 404)
    old = service.user.post(f"/v1/jobs/{job_id}/retry", headers={"if-match": '"1-0"'})
    check_problem(old, 412)
    assert service.job(job_id)["state"] == "failed"


def test_lost_attempts_count_anew(alone: InProcess) -> None:
    job_id = submit(alone)
    for _ in range(alone.settings.max_attempts):
        alone.attempt(job_id).finish("runner_lost")
    assert alone.job(job_id)["state"] == "failed"
    retry(alone, job_id)
    assert alone.attempt(job_id).finish("runner_lost").json()["state"] == "retry_wait"
    alone.attempt(job_id).complete()


def test_limits_of_time_count_from_the_retry(alone: InProcess) -> None:
    job_id = submit(alone, total_seconds=3600, run_seconds=600)
    attempt = alone.attempt(job_id)
    with alone.database.write() as transaction:  # two hours pass, one of them with an agent
        job = store.get(transaction, job_id)
        passed = {"created_at": job.created_at - 7_200_000, "deadline_at": job.created_at}
        passed["state_since"] = job.state_since - 3_600_000
        this = update(tables.jobs).where(tables.jobs.c.id == job_id)
        transaction.connection.execute(this.values(passed))
    eventually(lambda: alone.job(job_id)["state"] == "cancelling")
    attempt.finish("cancelled_by_user")
    assert ended(alone, job_id)["reason"] == "deadline_exceeded"
    retry(alone, job_id)
    again = alone.attempt(job_id)
    with alone.database.read() as transaction:
        job = store.get(transaction, job_id)
    assert job.deadline_at is not None
    assert job.deadline_at - job.state_since == 600_000
    assert again.complete()["state"] == "succeeded"


def test_what_no_agent_can_run_any_more_is_refused(alone: InProcess) -> None:
    job_id, _ = failed(alone)
    announce(alone, "pod", "ipu")
    problem = check_problem(alone.user.post(f"/v1/jobs/{job_id}/retry"), 422)
    assert problem["errors"][0]["pointer"] == "/device/kind"
    assert alone.job(job_id)["state"] == "failed"
    announce(alone, "desk", "cpu")
    assert retry(alone, job_id)["state"] == "queued"


def test_jobs_that_were_cancelled_only_for_it_wait_again(service: InProcess) -> None:
    first, other = submit(service), submit(service)
    second = submit(service, first)
    third = submit(service, second)
    of_both = submit(service, first, other)
    after_failure = submit(service, f"{first}:failure", f"{other}:end")
    by_hand = submit(service, first)
    cancel(service, by_hand)
    service.attempt(first).finish("diverged")
    service.attempt(other).finish("diverged")
    for job_id in (second, third, of_both):
        assert ended(service, job_id)["reason"] == "dependency_failed"
    refused = check_problem(service.user.post(f"/v1/jobs/{second}/retry"), 409)
    assert first in refused["detail"], "it names the job to retry"
    eventually(lambda: service.job(after_failure)["state"] == "queued")

    retry(service, first)
    states = [service.job(job_id)["state"] for job_id in (second, third, of_both, by_hand)]
    assert states == ["blocked", "blocked", "cancelled", "cancelled"]
    assert service.job(second)["waiting_on"]["holder"] == first
    events = service.events(third)["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    retry(service, other)
    assert service.job(of_both)["state"] == "blocked"

    for job_id in (first, other, second, third, of_both):
        assert service.attempt(job_id).complete()["state"] == "succeeded"
    cancel(service, after_failure)


def test_a_second_failure_cancels_them_again(service: InProcess) -> None:
    first = submit(service)
    second = submit(service, first)
    for _ in range(2):
        service.attempt(first).finish("diverged")
        assert ended(service, second)["reason"] == "dependency_failed"
        retry(service, first)
        assert service.job(second)["state"] == "blocked"
    cancel(service, first)
    assert ended(service, second)["state"] == "cancelled"


def test_its_idempotency_key_means_the_same_job(service: InProcess) -> None:
    job = service.submit(SPEC, **{"idempotency-key": "retried"})
    service.attempt(job["id"]).finish("diverged")
    retry(service, job["id"])
    again = service.submit(SPEC, **{"idempotency-key": "retried"})
    assert (again["id"], again["state"]) == (job["id"], "queued")
    cancel(service, job["id"])


@pytest.fixture
def coder(service: InProcess) -> Iterator[httpx.Client]:
    """A client of the jobs' owner with a token that may submit code."""
    with coding(service, user="owner") as client:
        yield client


def test_code_needs_the_right_to_submit_it(service: InProcess, coder: httpx.Client) -> None:
    job_id, _ = failed(service, "program_failed")
    with service.database.write() as transaction:
        this = update(tables.jobs).where(tables.jobs.c.id == job_id)
        transaction.connection.execute(this.values(requires='{"software":["sandbox"]}'))
    created = service.user.post(
        "/v1/tokens", json={"name": "plain", "user": "owner", "seconds": 600}
    )
    plain = {"authorization": f"Bearer {created.json()['token']}"}
    refused = service.user.post(f"/v1/jobs/{job_id}/retry", headers=plain)
    assert check_problem(refused, 403)["code"] == "code_not_permitted"
    query = {"q": f"id:{job_id}"}
    counted = service.user.post("/v1/jobs:retry", params=query, headers=plain).json()
    assert (counted["changed"], counted["unchanged"]) == (0, 1)
    assert coder.post(f"/v1/jobs/{job_id}/retry").json()["state"] == "queued"
    cancel(service, job_id)


def test_dependents_with_code_stay_cancelled_without_the_right(
    service: InProcess, coder: httpx.Client
) -> None:
    first = submit(service)
    plain, code = submit(service, first), submit(service, first)
    after_code = submit(service, code)
    with service.database.write() as transaction:
        this = update(tables.jobs).where(tables.jobs.c.id == code)
        transaction.connection.execute(this.values(requires='{"software":["sandbox"]}'))
    service.attempt(first).finish("diverged")
    for job_id in (plain, code, after_code):
        assert ended(service, job_id)["reason"] == "dependency_failed"

    assert code in retry(service, first)["message"]
    waiting = [service.job(job_id)["state"] for job_id in (plain, code, after_code)]
    assert waiting == ["blocked", "cancelled", "cancelled"]
    refused = service.user.post(f"/v1/jobs/{code}/retry")
    assert check_problem(refused, 403)["code"] == "code_not_permitted"
    assert service.attempt(first).complete()["state"] == "succeeded"
    assert coder.post(f"/v1/jobs/{code}/retry").status_code == 200
    eventually(lambda: service.job(code)["state"] == "queued")
    assert service.job(after_code)["state"] == "blocked"
    cancel(service, code)
    service.attempt(plain).complete()


def test_who_may_submit_code_revives_dependents_with_code(
    service: InProcess, coder: httpx.Client
) -> None:
    first = submit(service)
    code = submit(service, first)
    with service.database.write() as transaction:
        this = update(tables.jobs).where(tables.jobs.c.id == code)
        transaction.connection.execute(this.values(requires='{"software":["sandbox"]}'))
    service.attempt(first).finish("diverged")
    assert ended(service, code)["reason"] == "dependency_failed"
    assert coder.post(f"/v1/jobs/{first}/retry").json()["message"] == ""
    assert service.job(code)["state"] == "blocked"
    cancel(service, first)


def test_all_failed_jobs_of_a_search(service: InProcess) -> None:
    jobs = [failed(service)[0], failed(service)[0], submit(service)]
    for job_id in jobs:
        service.user.patch(f"/v1/jobs/{job_id}", json={"add_tags": ["once-more"]})
    query = {"q": "tag:once-more"}
    counted = service.user.post("/v1/jobs:retry", params={**query, "dry_run": True}).json()
    assert (counted["matched"], counted["changed"]) == (3, 0)
    changed = service.user.post("/v1/jobs:retry", params=query).json()
    assert (changed["changed"], changed["unchanged"]) == (2, 1)
    assert {service.job(job_id)["state"] for job_id in jobs} == {"queued"}
    cancel(service, *jobs)


def test_a_reader_may_not_retry(service: InProcess) -> None:
    job_id, _ = failed(service)
    created = service.user.post(
        "/v1/tokens", json={"name": "look", "role": "reader", "seconds": 600}
    )
    reader = {"authorization": f"Bearer {created.json()['token']}"}
    for path in (f"/v1/jobs/{job_id}/retry", "/v1/jobs:retry?all=true"):
        check_problem(service.user.post(path, headers=reader), 403)
    assert service.job(job_id)["state"] == "failed"
