"""Jobs that wait for other jobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.http.routes.joined_agent import JoinedAgent
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql

MISSING = "job_000000000000000000000000"


def submit(service: InProcess, *after: str) -> dict[str, Any]:
    response = service.user.post("/v1/jobs", json=SPEC, params={"after": list(after)})
    assert response.status_code == 202, response.text
    job: dict[str, Any] = response.json()
    return job


def end(service: InProcess, job_id: str, how: str) -> None:
    """Ends a job in the state `how`."""
    if how == "cancelled":
        service.user.post(f"/v1/jobs/{job_id}/cancel")
    elif how == "failed":
        service.attempt(job_id).finish("diverged")
    else:
        service.attempt(job_id).complete()


@pytest.mark.parametrize(
    ("on", "how", "state"),
    [
        ("", "succeeded", "queued"),
        (":success", "failed", "cancelled"),
        (":success", "cancelled", "cancelled"),
        (":end", "failed", "queued"),
        (":end", "cancelled", "queued"),
        (":failure", "failed", "queued"),
        (":failure", "succeeded", "cancelled"),
        (":failure", "cancelled", "cancelled"),
    ],
)
def test_what_follows_an_end(service: InProcess, on: str, how: str, state: str) -> None:
    first = service.submit()["id"]
    job = submit(service, f"{first}{on}")
    assert job["state"] == "blocked"
    end(service, first, how)
    eventually(lambda: service.job(job["id"])["state"] != "blocked")
    after = service.job(job["id"])
    assert after["state"] == state
    if state == "cancelled":
        assert after["reason"] == "dependency_failed"
        assert first in after["message"]
    else:
        service.user.post(f"/v1/jobs/{job['id']}/cancel")


def test_it_says_what_it_waits_for(service: InProcess) -> None:
    first = service.submit()["id"]
    waiting = service.job(submit(service, first)["id"])["waiting_on"]
    assert (waiting["reason"], waiting["holder"]) == ("dependency", first)
    assert waiting["holder_name"] == SPEC["name"]
    assert first in waiting["detail"]
    end(service, first, "cancelled")


def test_a_list_says_what_each_job_waits_for(service: InProcess) -> None:
    first, second, paused, over = (service.submit()["id"] for _ in range(4))
    service.user.post(f"/v1/jobs/{paused}/pause")
    end(service, over, "cancelled")
    blocked = [submit(service, first)["id"], submit(service, f"{second}:end")["id"]]
    ids = [first, second, paused, over, *blocked]
    query = {"page_size": len(ids), "waiting_on": "true"}
    listed = service.user.get("/v1/jobs", params=query).json()["jobs"]
    waits = {job["id"]: job["waiting_on"] for job in listed}
    assert waits == {job_id: service.job(job_id)["waiting_on"] for job_id in ids}
    assert [waits[job_id]["holder"] for job_id in blocked] == [first, second]
    assert waits[paused]["reason"] == "paused"
    assert waits[over] is None
    for job_id in (first, second, paused):
        end(service, job_id, "cancelled")


def test_all_must_have_ended(service: InProcess) -> None:
    first, second = (service.submit()["id"] for _ in range(2))
    job = submit(service, first, f"{second}:end")
    end(service, first, "succeeded")
    end(service, second, "failed")
    eventually(lambda: service.job(job["id"])["state"] == "queued")
    kinds = [event for event in service.events(job["id"])["events"] if event["kind"] == "state"]
    assert [event["state"] for event in kinds] == ["blocked", "queued"]
    service.user.post(f"/v1/jobs/{job['id']}/cancel")


def test_n20_a_broken_one_ends_all_that_follow_once(service: InProcess) -> None:
    chain = [service.submit()["id"]]
    for _ in range(5):
        chain.append(submit(service, chain[-1])["id"])
    end(service, chain[0], "failed")
    eventually(lambda: service.job(chain[-1])["state"] == "cancelled")
    assert {service.job(job_id)["reason"] for job_id in chain[1:]} == {"dependency_failed"}
    service.state.reaper.reap()
    for job_id in chain[1:]:
        events = service.events(job_id)["events"]
        states = [event["state"] for event in events if event["kind"] == "state"]
        assert states == ["blocked", "cancelled"]


def test_n20_a_blocked_job_is_never_claimed(service: InProcess, agent: JoinedAgent) -> None:
    """Not by its id, and not by an agent that takes what comes first."""
    agent.kinds.remove("cpu")  # which jobs of other tests use
    emulated = {**SPEC, "device": {"kind": "emulator"}}
    first = service.submit()["id"]
    query = {"after": [first]}
    job = service.user.post("/v1/jobs", json=emulated, params=query).json()["id"]
    service.user.patch(f"/v1/jobs/{job}", json={"priority": 100})
    later = service.submit(emulated)["id"]
    assert check_problem(service.claim(job, kinds=("emulator",)), 409)["code"] == "not_claimable"
    attempt = Attempt(agent.http, agent.claim(None).json())
    assert attempt.claim["job_id"] == later
    attempt.complete()
    assert check_problem(agent.claim(None), 409)["code"] == "not_claimable"
    end(service, first, "succeeded")
    eventually(lambda: service.job(job)["state"] == "queued")
    attempt = Attempt(agent.http, agent.claim(None).json())
    assert attempt.claim["job_id"] == job
    attempt.complete()


def test_a_blocked_job_is_cancelled_but_not_paused(service: InProcess) -> None:
    first = service.submit()["id"]
    job = submit(service, first)
    assert check_problem(service.user.post(f"/v1/jobs/{job['id']}/pause"), 409)
    resumed = service.user.post(f"/v1/jobs/{job['id']}/resume")
    assert resumed.json()["state"] == "blocked", "it was not paused"
    cancelled = service.user.post(f"/v1/jobs/{job['id']}/cancel").json()
    assert (cancelled["state"], cancelled["reason"]) == ("cancelled", "cancelled_by_user")
    end(service, first, "succeeded")
    service.state.reaper.reap()
    assert service.job(job["id"])["reason"] == "cancelled_by_user"


def test_the_end_of_a_deleted_job_counts(service: InProcess) -> None:
    first = service.submit()["id"]
    job = submit(service, first)
    end(service, first, "succeeded")
    assert service.user.delete(f"/v1/jobs/{first}").status_code == 204
    eventually(lambda: service.job(job["id"])["state"] == "queued")
    service.user.post(f"/v1/jobs/{job['id']}/cancel")
    assert service.user.delete(f"/v1/jobs/{job['id']}").status_code == 204


def test_jobs_that_have_ended_already(service: InProcess) -> None:
    done, failed = (service.submit()["id"] for _ in range(2))
    end(service, done, "succeeded")
    end(service, failed, "failed")
    job = submit(service, done, f"{failed}:failure")
    assert job["state"] == "queued"
    response = service.user.post("/v1/jobs", json=SPEC, params={"after": failed})
    assert check_problem(response, 409)["code"] == "dependency_failed"
    service.user.post(f"/v1/jobs/{job['id']}/cancel")


def test_wrong_ones_are_refused(service: InProcess) -> None:
    first = service.submit()["id"]
    twice = {"after": [first, f"{first}:end"]}
    assert check_problem(service.user.post("/v1/jobs", json=SPEC, params=twice), 422)
    missing = {"after": MISSING}
    assert check_problem(service.user.post("/v1/jobs", json=SPEC, params=missing), 404)
    for wrong in ("", "latest", f"{first}:always", f"{first}:", "../" + first):
        assert check_problem(service.user.post("/v1/jobs", json=SPEC, params={"after": wrong}), 400)
    many = {"after": [f"job_{number:024x}" for number in range(33)]}
    assert check_problem(service.user.post("/v1/jobs", json=SPEC, params=many), 400)
    end(service, first, "cancelled")


def test_the_same_key_with_other_dependencies_is_refused(service: InProcess) -> None:
    first = service.submit()["id"]
    headers = {"idempotency-key": f"after-{first}"}
    query = {"after": first}
    one = service.user.post("/v1/jobs", json=SPEC, params=query, headers=headers).json()
    again = service.user.post("/v1/jobs", json=SPEC, params=query, headers=headers).json()
    assert one["id"] == again["id"]
    other = service.user.post("/v1/jobs", json=SPEC, headers=headers)
    assert check_problem(other, 422)["code"] == "idempotency_key_reused"
    end(service, first, "cancelled")
