"""Trials keep their numbers when their jobs are retried, and their sweep waits for them."""

from __future__ import annotations

from typing import Any

import httpx

from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess
from tests.service.sweeps.sweeping import RATE, begun, create, succeed, sweep_of, trials_of


def ended(service: InProcess, sweep_id: str) -> dict[str, Any]:
    eventually(lambda: sweep_of(service, sweep_id)["state"] == "ended")
    return sweep_of(service, sweep_id)


def job_ids(trial: dict[str, Any]) -> list[str]:
    return [job["id"] for job in trial["jobs"]]


def test_a_retried_job_is_the_same_trial(service: InProcess) -> None:
    sweep_id = create(service, parameters={RATE: {"values": [0.1, 0.01]}})["id"]
    good, bad = begun(service, sweep_id, 2)
    succeed(service.attempt(*job_ids(good)), 0.5)
    service.attempt(*job_ids(bad)).finish("diverged")
    assert ended(service, sweep_id)["by_state"] == {"failed": 1, "succeeded": 1}
    [job_id] = job_ids(bad)
    assert service.user.post(f"/v1/jobs/{job_id}/retry").json()["state"] == "queued"
    sweep = sweep_of(service, sweep_id)
    assert (sweep["state"], sweep["finished_at"], sweep["reason"]) == ("running", None, None)
    assert sweep["by_state"] == {"running": 1, "succeeded": 1}
    succeed(service.attempt(job_id), 0.9)
    assert ended(service, sweep_id)["best"]["number"] == 2
    again = trials_of(service, sweep_id)
    assert [job_ids(trial) for trial in again] == [job_ids(good), [job_id]]
    assert (again[1]["state"], again[1]["message"], again[1]["value"]) == ("succeeded", "", 0.9)


def test_a_sweep_that_was_stopped_begins_no_further_trials(service: InProcess) -> None:
    values = {RATE: {"values": [0.1, 0.01, 0.001]}}
    sweep_id = create(service, parameters=values, parallel=1)["id"]
    [first] = begun(service, sweep_id, 1)
    attempt = service.attempt(*job_ids(first))
    service.user.post(f"/v1/sweeps/{sweep_id}/stop")
    attempt.finish("diverged")
    assert ended(service, sweep_id)["reason"] == "stopped_by_user"
    service.user.post(f"/v1/jobs/{job_ids(first)[0]}/retry")
    assert sweep_of(service, sweep_id)["state"] == "stopping"
    succeed(service.attempt(*job_ids(first)), 0.5)
    sweep = ended(service, sweep_id)
    assert (sweep["begun"], sweep["reason"]) == (1, "stopped_by_user")
    assert trials_of(service, sweep_id)[0]["state"] == "succeeded"


def test_one_seed_of_a_trial_that_runs(service: InProcess) -> None:
    sweep_id = create(service, parameters={RATE: {"values": [0.1]}}, seeds=[1, 2])["id"]
    [trial] = begun(service, sweep_id, 1)
    first, second = job_ids(trial)
    service.attempt(first).finish("diverged")
    eventually(lambda: trials_of(service, sweep_id)[0]["jobs"][0]["state"] == "failed")
    service.user.post(f"/v1/jobs/{first}/retry")
    succeed(service.attempt(second), 0.5)
    succeed(service.attempt(first), 0.7)
    ended(service, sweep_id)
    [trial] = trials_of(service, sweep_id)
    assert (trial["n"], trial["state"], trial["message"]) == (2, "succeeded", "")


def repeat(service: InProcess, sweep_id: str, **query: Any) -> httpx.Response:
    return service.user.post(f"/v1/sweeps/{sweep_id}/retry", params=query)


def states(service: InProcess, sweep_id: str) -> list[str]:
    return [trial["state"] for trial in trials_of(service, sweep_id)]


def three_trials(service: InProcess) -> tuple[str, list[str]]:
    """A sweep that has ended: its trials succeeded, failed, and were cancelled."""
    values = {RATE: {"values": [0.1, 0.01, 0.001]}}
    sweep_id = create(service, parameters=values, parallel=3)["id"]
    jobs = [job_ids(trial)[0] for trial in begun(service, sweep_id, 3)]
    succeed(service.attempt(jobs[0]), 0.5)
    service.attempt(jobs[1]).finish("diverged")
    service.user.post(f"/v1/jobs/{jobs[2]}/cancel")
    ended(service, sweep_id)
    assert states(service, sweep_id) == ["succeeded", "failed", "cancelled"]
    return sweep_id, jobs


def test_failed_trials_are_retried_under_their_ids(service: InProcess) -> None:
    sweep_id, jobs = three_trials(service)
    assert repeat(service, sweep_id).json()["state"] == "running"
    succeed(service.attempt(jobs[1]), 0.9)
    assert ended(service, sweep_id)["best"]["number"] == 2
    assert states(service, sweep_id) == ["succeeded", "succeeded", "cancelled"]
    assert [job_ids(trial)[0] for trial in trials_of(service, sweep_id)] == jobs
    nothing = check_problem(repeat(service, sweep_id), 409)
    assert nothing["code"] == "nothing_to_repeat"
    assert sweep_of(service, sweep_id)["state"] == "ended"


def test_deleted_jobs_are_marked_and_replaced(service: InProcess) -> None:
    sweep_id, jobs = three_trials(service)
    service.user.delete(f"/v1/jobs/{jobs[0]}")
    [first, second, _] = trials_of(service, sweep_id)
    assert (first["jobs"][0]["deleted"], second["jobs"][0]["deleted"]) == (True, False)
    assert first["value"] == 0.5, "its result stays"
    used = sweep_of(service, sweep_id)["device_seconds"]
    repeat(service, sweep_id, deleted=True)
    eventually(lambda: job_ids(trials_of(service, sweep_id)[0]) != [jobs[0]])
    [first, *rest] = trials_of(service, sweep_id)
    assert (first["number"], first["state"]) == (1, "running")
    [again] = first["jobs"]
    assert (again["seed"], again["deleted"]) == (
        trials_of(service, sweep_id)[1]["jobs"][0]["seed"],
        False,
    )
    assert service.job(again["id"])["tags"] == ["trial-1"]
    succeed(service.attempt(again["id"]), 0.6)
    sweep = ended(service, sweep_id)
    assert trials_of(service, sweep_id)[0]["value"] == 0.6
    assert sweep["device_seconds"] >= used, "the time of the former job still counts"
    assert [trial["state"] for trial in rest] == ["failed", "cancelled"]


def test_one_trial_with_what_was_cancelled(service: InProcess) -> None:
    sweep_id, jobs = three_trials(service)
    wrong = check_problem(repeat(service, sweep_id, trial=4), 422)
    assert wrong["errors"][0]["pointer"] == "/query/trial"
    check_problem(repeat(service, sweep_id, trial=1), 409)
    check_problem(repeat(service, sweep_id, trial=0), 400)
    assert sweep_of(service, sweep_id)["state"] == "ended"
    repeat(service, sweep_id, trial=3)
    eventually(lambda: job_ids(trials_of(service, sweep_id)[2]) != [jobs[2]])
    succeed(service.attempt(job_ids(trials_of(service, sweep_id)[2])[0]), 0.7)
    ended(service, sweep_id)
    assert states(service, sweep_id) == ["succeeded", "failed", "succeeded"]


def test_seeds_that_were_added_join_failed_trials(service: InProcess) -> None:
    sweep_id, _ = three_trials(service)
    service.user.patch(f"/v1/sweeps/{sweep_id}", json={"seeds": [71]})
    eventually(lambda: len(job_ids(trials_of(service, sweep_id)[0])) == 2)
    succeed(service.attempt(job_ids(trials_of(service, sweep_id)[0])[1]), 0.5)
    ended(service, sweep_id)
    assert len(job_ids(trials_of(service, sweep_id)[1])) == 1
    repeat(service, sweep_id, failed=True)
    eventually(lambda: len(job_ids(trials_of(service, sweep_id)[1])) == 2)
    for job_id in job_ids(trials_of(service, sweep_id)[1]):
        succeed(service.attempt(job_id), 0.8)
    ended(service, sweep_id)
    assert trials_of(service, sweep_id)[1]["n"] == 2


def test_so_many_at_the_same_time_and_no_others_after_a_stop(service: InProcess) -> None:
    values = {RATE: {"values": [0.1, 0.01, 0.001]}}
    sweep_id = create(service, parameters=values, parallel=1)["id"]
    for number in (1, 2):
        trial = begun(service, sweep_id, number)[-1]
        if number == 2:
            service.user.post(f"/v1/sweeps/{sweep_id}/stop")
        service.user.post(f"/v1/jobs/{job_ids(trial)[0]}/cancel")
    ended(service, sweep_id)
    for trial in trials_of(service, sweep_id):
        service.user.delete(f"/v1/jobs/{job_ids(trial)[0]}")
    assert repeat(service, sweep_id, deleted=True).json()["state"] == "stopping"
    check_problem(repeat(service, sweep_id), 409)
    for number in (0, 1):
        eventually(lambda at=number: not trials_of(service, sweep_id)[at]["jobs"][0]["deleted"])
        assert [
            job["deleted"] for trial in trials_of(service, sweep_id) for job in trial["jobs"]
        ].count(True) == 1 - number
        succeed(service.attempt(job_ids(trials_of(service, sweep_id)[number])[0]), 0.5)
    sweep = ended(service, sweep_id)
    assert (sweep["begun"], sweep["reason"]) == (2, "stopped_by_user")
