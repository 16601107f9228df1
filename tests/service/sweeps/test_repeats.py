"""Trials keep their numbers when their jobs are retried, and their sweep waits for them."""

from __future__ import annotations

from typing import Any

from tests.service.conditions import eventually
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
