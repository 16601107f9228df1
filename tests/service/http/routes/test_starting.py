"""Jobs that start from another job: continue, or take its weights."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from sqlalchemy import select, update

from ipulse_core import messages
from ipulse_service.db.tables import jobs
from tests.service.agents import PHASES, Attempt, phase
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

TRAINED: dict[str, Any] = {**SPEC, "training": {"epochs": 2}}
CHECKPOINT = b"the state after two epochs"


def trained(service: InProcess, spec: dict[str, Any] = TRAINED, reason: str = "completed") -> str:
    """A job that has ended with a checkpoint and weights."""
    job_id: str = service.submit(spec)["id"]
    attempt = service.attempt(job_id)
    for name in PHASES:
        attempt.report(phase(name))
    assert attempt.put("checkpoint.npz", "checkpoint", CHECKPOINT).status_code == 201
    attempt.report({"kind": "checkpoint", "path": "checkpoint.npz", "epoch": 2, "step": 6})
    assert attempt.put("weights.npz", "weights", b"weights").status_code == 201
    if reason == "completed":
        assert attempt.put("manifest.json", "manifest").status_code == 201
    assert attempt.finish(reason).status_code == 200
    return job_id


def submit(service: InProcess, spec: dict[str, Any], **query: str) -> Any:
    return service.user.post("/v1/jobs", json=spec, params=query)


def file_of(attempt: Attempt) -> bytes:
    headers = {"ipulse-fence": attempt.fence}
    response = attempt._worker.get(f"{attempt.path}/start-file", headers=headers)
    assert response.status_code == 200, response.text
    return response.content


def test_a_continued_job_gets_the_checkpoint_and_more_epochs(service: InProcess) -> None:
    parent = trained(service)
    response = service.user.post(f"/v1/jobs/{parent}/continue", json={"epochs": 3})
    assert response.status_code == 202, response.text
    job = response.json()
    assert job["spec"]["training"]["epochs"] == 5
    start = job["start_from"]
    assert (start["job"], start["mode"], start["epoch"]) == (parent, "continue", 2)
    assert start["sha256"] == hashlib.sha256(CHECKPOINT).hexdigest()
    attempt = service.attempt(job["id"])
    assert attempt.claim["checkpoint"] is None
    assert attempt.claim["start_from"]["mode"] == "continue"
    assert attempt.claim["start_from"]["sha256"] == start["sha256"]
    assert file_of(attempt) == CHECKPOINT
    attempt.finish("diverged")


def test_a_job_of_an_older_version_lacks_later_fields_and_is_continued(
    service: InProcess,
) -> None:
    parent = trained(service)
    with service.database.write() as transaction:
        here = jobs.c.id == parent
        text = transaction.connection.execute(select(jobs.c.spec).where(here)).scalar_one()
        spec = json.loads(text)
        del spec["network"]["layers"][0]["adaptation"], spec["export"]
        changed = update(jobs).where(here).values(spec=json.dumps(spec))
        transaction.connection.execute(changed)
    answer = service.user.post(f"/v1/jobs/{parent}/continue", json={"epochs": 3})
    assert answer.status_code == 202, answer.text
    service.user.post(f"/v1/jobs/{answer.json()['id']}/cancel")


def test_the_file_is_kept_after_its_job_is_deleted(service: InProcess) -> None:
    parent = trained(service)
    job_id = service.user.post(f"/v1/jobs/{parent}/continue", json={"epochs": 1}).json()["id"]
    assert service.user.delete(f"/v1/jobs/{parent}").status_code == 204
    attempt = service.attempt(job_id)
    assert file_of(attempt) == CHECKPOINT
    assert service.job(job_id)["start_from"]["job"] == parent
    attempt.finish("diverged")
    assert service.user.delete(f"/v1/jobs/{job_id}").status_code == 204


@pytest.mark.parametrize("reason", ["diverged", "cancelled_by_user"])
def test_any_end_that_left_a_checkpoint_is_one(service: InProcess, reason: str) -> None:
    job_id = service.submit(TRAINED)["id"]
    attempt = service.attempt(job_id)
    for name in PHASES[:4]:
        attempt.report(phase(name))
    attempt.put("checkpoint.npz", "checkpoint", CHECKPOINT)
    if reason == "cancelled_by_user":
        service.user.post(f"/v1/jobs/{job_id}/cancel")
    attempt.finish(reason)
    response = service.user.post(f"/v1/jobs/{job_id}/continue", json={"epochs": 1})
    assert response.status_code == 202, response.text
    assert response.json()["spec"]["training"]["epochs"] == 1, "no epoch was whole"
    service.user.post(f"/v1/jobs/{response.json()['id']}/cancel")


def upload(service: InProcess, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    body = {"size": len(content), "sha256": digest, "purpose": "weights"}
    started = service.user.post("/v1/uploads", json=body)
    assert started.status_code == 201, started.text
    headers = {"upload-offset": "0", "content-type": "application/octet-stream"}
    sent = service.user.patch(started.headers["location"], content=content, headers=headers)
    assert sent.status_code == 204, sent.text
    return digest


def test_uploaded_weights_reach_the_runner_and_stay(service: InProcess) -> None:
    digest = upload(service, b"uploaded weights")
    spec = {**TRAINED, "network": {**TRAINED["network"], "initial": {"upload": digest}}}
    job = service.submit(spec)
    assert job["start_from"] is None
    attempt = service.attempt(job["id"])
    assert attempt.claim["start_from"]["mode"] == "weights"
    assert attempt.claim["start_from"]["sha256"] == digest
    assert file_of(attempt) == b"uploaded weights"
    attempt.finish("diverged")


def test_unknown_uploads_are_refused_at_submission(service: InProcess) -> None:
    spec = {**TRAINED, "network": {**TRAINED["network"], "initial": {"upload": "0" * 64}}}
    problem = check_problem(service.user.post("/v1/jobs", json=spec), 422)
    assert [e["pointer"] for e in problem["errors"]] == ["/network/initial/upload"]
    # A file that was uploaded as data is not taken.
    body = {"size": 3, "sha256": hashlib.sha256(b"abc").hexdigest(), "purpose": "dataset"}
    location = service.user.post("/v1/uploads", json=body).headers["location"]
    headers = {"upload-offset": "0", "content-type": "application/octet-stream"}
    assert service.user.patch(location, content=b"abc", headers=headers).status_code == 204
    spec["network"]["initial"] = {"upload": body["sha256"]}
    assert service.user.post("/v1/jobs", json=spec).status_code == 422


def test_the_weights_of_another_training(service: InProcess) -> None:
    parent = trained(service)
    other = {**TRAINED, "training": {"epochs": 1, "batch_size": 8}, "seed": 9}
    response = submit(service, other, start_from=parent, start_mode="weights")
    assert response.status_code == 202, response.text
    job = response.json()
    assert (job["start_from"]["mode"], job["start_from"]["name"]) == ("weights", "weights.npz")
    attempt = service.attempt(job["id"])
    assert file_of(attempt) == b"weights"
    attempt.finish("diverged")


def test_weights_that_do_not_fit_are_all_named(service: InProcess) -> None:
    parent = trained(service)
    wider = {**SPEC, "network": {"layers": [{"neurons": 5}, {"neurons": 3}]}}
    response = submit(service, wider, start_from=parent, start_mode="weights")
    details = [error["detail"] for error in check_problem(response, 422)["errors"]]
    assert any("layer_1" in detail for detail in details)
    assert any("layer_2" in detail for detail in details)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"training": {"epochs": 2}}, "/training/epochs"),
        ({"training": {"epochs": 5, "batch_size": 8}}, "/training/batch_size"),
        ({"training": {"epochs": 5}, "seed": 9}, "/seed"),
        ({"training": {"epochs": 5}, "network": {"layers": [{"neurons": 5}]}}, "/network/layers"),
    ],
)
def test_another_training_cannot_be_continued(
    service: InProcess, changes: dict[str, Any], pointer: str
) -> None:
    parent = trained(service)
    response = submit(service, {**TRAINED, **changes}, start_from=parent)
    places = {error["pointer"] for error in check_problem(response, 422)["errors"]}
    assert pointer in places


def test_the_name_and_the_schedule_may_change(service: InProcess) -> None:
    parent = trained(service)
    training = {"epochs": 4, "schedule": {"shape": "cosine"}}
    spec = {**TRAINED, "name": "longer", "training": training}
    response = submit(service, spec, start_from=parent)
    assert response.status_code == 202, response.text
    service.user.post(f"/v1/jobs/{response.json()['id']}/cancel")


def test_a_job_without_a_file_to_start_from(service: InProcess) -> None:
    queued = service.submit(TRAINED)["id"]
    response = service.user.post(f"/v1/jobs/{queued}/continue", json={"epochs": 1})
    assert check_problem(response, 409)["code"] == "nothing_to_start_from"
    service.user.post(f"/v1/jobs/{queued}/cancel")
    for mode in ("continue", "weights"):
        longer = {**TRAINED, "training": {"epochs": 3}}
        response = submit(service, longer, start_from=queued, start_mode=mode)
        assert check_problem(response, 409)["code"] == "nothing_to_start_from"
    missing = "job_000000000000000000000000"
    assert check_problem(submit(service, TRAINED, start_from=missing), 404)
    assert check_problem(submit(service, TRAINED, start_from="../x"), 400)
    assert check_problem(submit(service, TRAINED, start_from=missing, start_mode="fork"), 400)
    response = service.user.post(f"/v1/jobs/{queued}/continue", json={"epochs": 0})
    assert check_problem(response, 422)


def test_the_same_key_continues_once(service: InProcess) -> None:
    parent = trained(service)
    headers = {"idempotency-key": f"continue-{parent}"}
    path = f"/v1/jobs/{parent}/continue"
    first = service.user.post(path, json={"epochs": 1}, headers=headers).json()
    again = service.user.post(path, json={"epochs": 1}, headers=headers).json()
    assert first["id"] == again["id"]
    other = service.user.post(path, json={"epochs": 2}, headers=headers)
    assert check_problem(other, 422)["code"] == "idempotency_key_reused"
    service.user.post(f"/v1/jobs/{first['id']}/cancel")


def test_only_the_agent_of_the_attempt_gets_the_file(service: InProcess) -> None:
    parent = trained(service)
    job_id = service.user.post(f"/v1/jobs/{parent}/continue", json={"epochs": 1}).json()["id"]
    attempt = service.attempt(job_id)
    wrong = service.worker.get(f"{attempt.path}/start-file", headers={"ipulse-fence": "x" * 43})
    assert check_problem(wrong, 409)["code"] == "stale_token"
    other = service.submit()["id"]
    without = service.attempt(other)
    headers = {"ipulse-fence": without.fence}
    assert check_problem(service.worker.get(f"{without.path}/start-file", headers=headers), 404)
    attempt.finish("diverged")
    without.finish("diverged")


def test_an_agent_that_is_too_old_gets_the_next_job(service: InProcess) -> None:
    response = submit(service, TRAINED, start_from=trained(service), start_mode="weights")
    started = response.json()["id"]
    following = service.submit(SPEC)["id"]
    with service.agents() as old:
        old.headers[messages.PROTOCOL_HEADER] = "6"  # of 0.2, without start files
        body = {"job_id": following, "agent": "agent-old", "device_kinds": ["cpu"]}
        claim = old.post("/v1/worker/claims", json=body)
        assert claim.status_code == 200, claim.text
        assert claim.json()["job_id"] == following
        Attempt(old, claim.json()).finish("diverged")
    assert service.job(started)["state"] == "queued"
    service.attempt(started).finish("diverged")
