"""A job that did not fit a worker's disk runs where there is more, and says so if there is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.agents import Attempt, phase
from tests.service.conditions import eventually
from tests.service.http.routes.test_queue import announce, claim
from tests.service.running import SPEC, InProcess

MIB = 2**20
NAMES = ("one", "two", "three")
FULL = "/work/att/weights.npz: No space left on device."

pytestmark = pytest.mark.usefixtures("no_other_agents")


def disk(size: int, free: int | None = None) -> dict[str, int]:
    return {"disk_bytes": size if free is None else free, "disk_total_bytes": size}


def fills_its_disk(attempt: Attempt, **lacking: int) -> dict[str, Any]:
    assert attempt.report(phase("prepare")).status_code == 200
    answer = attempt.post(
        "finish", {"reason": "worker_disk_full", "message": FULL, "lacking": lacking}
    )
    assert answer.status_code == 200, answer.text
    job: dict[str, Any] = answer.json()
    return job


def refused(service: InProcess, agent: str) -> None:
    body = {"job_id": None, "agent": agent, "device_kinds": ["cpu"]}
    assert service.worker.post("/v1/worker/claims", json=body).status_code == 409


def test_the_first_of_three_equal_disks_is_enough_to_say_that_none_fits(
    service: InProcess,
) -> None:
    for name in NAMES:
        announce(service, name, "cpu", capabilities=disk(64 * MIB))
    service.submit()
    job = fills_its_disk(claim(service, "one", "cpu"), disk_bytes=64 * MIB - 4096)
    assert (job["state"], job["reason"]) == ("failed", "worker_disk_full")
    assert f"{64 * MIB - 4096:,} bytes" in job["message"]
    assert len(job["attempts"]) == 1
    service.submit()  # a smaller one
    assert claim(service, "one", "cpu").complete()["state"] == "succeeded"


@pytest.mark.parametrize("name", ["disk_bytes", "inodes"])
def test_only_a_larger_disk_gets_the_next_attempt(service: InProcess, name: str) -> None:
    totals = {"disk_bytes": "disk_total_bytes", "inodes": "inodes_total"}
    for agent, size in (("one", 1000), ("two", 1010), ("three", 9000)):
        announce(service, agent, "cpu", capabilities={name: size, totals[name]: size})
    submitted = service.submit()
    job = fills_its_disk(claim(service, "one", "cpu"), **{name: 999})
    assert job["state"] == "retry_wait"
    eventually(lambda: service.job(submitted["id"])["state"] == "queued")
    for agent in ("one", "two"):
        refused(service, agent)
    assert claim(service, "three", "cpu").complete()["state"] == "succeeded"


def test_an_agent_that_announced_its_room_too_early_gets_the_job_once(service: InProcess) -> None:
    announce(service, "one", "cpu", capabilities=disk(64 * MIB))  # others have filled it since
    announce(service, "two", "cpu", capabilities=disk(64 * MIB))
    submitted = service.submit()
    job = fills_its_disk(claim(service, "one", "cpu"), disk_bytes=4096)
    assert job["state"] == "retry_wait"
    eventually(lambda: service.job(submitted["id"])["state"] == "queued")
    refused(service, "one")
    assert claim(service, "two", "cpu").complete()["state"] == "succeeded"


def test_a_larger_disk_that_is_full_now_is_waited_for(service: InProcess) -> None:
    announce(service, "one", "cpu", capabilities=disk(64 * MIB))
    announce(service, "two", "cpu", capabilities=disk(1000 * MIB, free=MIB))
    submitted = service.submit()
    job = fills_its_disk(claim(service, "one", "cpu"), disk_bytes=64 * MIB)
    assert job["state"] == "retry_wait"
    eventually(lambda: service.job(submitted["id"])["state"] == "queued")
    waiting = service.job(submitted["id"])["waiting_on"]
    assert waiting["reason"] == "no_match"
    assert f"{64 * MIB:,} bytes" in waiting["detail"]
    assert "one: " in waiting["detail"]
    refused(service, "two")
    announce(service, "two", "cpu", capabilities=disk(1000 * MIB))
    assert claim(service, "two", "cpu").complete()["state"] == "succeeded"


def test_a_larger_disk_where_the_job_cannot_run_does_not_count(service: InProcess) -> None:
    announce(service, "pod", "emulator", ipus={"emulator": 4}, capabilities=disk(64 * MIB))
    announce(service, "one", "emulator", ipus={"emulator": 1}, capabilities=disk(900 * MIB))
    service.submit({**SPEC, "device": {"kind": "emulator", "ipus": 2}})
    job = fills_its_disk(claim(service, "pod", "emulator"), disk_bytes=64 * MIB)
    assert (job["state"], job["reason"]) == ("failed", "worker_disk_full")
    assert f"pod: {64 * MIB:,} bytes" in job["message"]
    assert "one: " not in job["message"]


def test_a_larger_disk_without_the_software_is_waited_for(service: InProcess) -> None:
    announce(service, "one", "cpu", capabilities={**disk(64 * MIB), "kernels": True})
    announce(service, "two", "cpu", capabilities={**disk(900 * MIB), "kernels": False})
    submitted = service.submit()
    job = fills_its_disk(claim(service, "one", "cpu"), disk_bytes=64 * MIB)
    assert job["state"] == "retry_wait"
    eventually(lambda: service.job(submitted["id"])["state"] == "queued")
    waiting = service.job(submitted["id"])["waiting_on"]
    assert waiting["reason"] == "no_match"
    assert f"{64 * MIB:,} bytes" in waiting["detail"]
    assert "kernels" in waiting["detail"]
    announce(service, "two", "cpu", capabilities={**disk(900 * MIB), "kernels": True})
    assert claim(service, "two", "cpu").complete()["state"] == "succeeded"


def test_an_older_agent_that_does_not_say_may_have_more(service: InProcess) -> None:
    announce(service, "one", "cpu", capabilities=disk(64 * MIB))
    announce(service, "older", "cpu")
    submitted = service.submit()
    fills_its_disk(claim(service, "one", "cpu"), disk_bytes=64 * MIB)
    eventually(lambda: service.job(submitted["id"])["state"] == "queued")
    refused(service, "one")
    assert claim(service, "older", "cpu").complete()["state"] == "succeeded"


def test_a_report_that_comes_twice_changes_nothing(service: InProcess) -> None:
    announce(service, "one", "cpu", capabilities=disk(64 * MIB))
    announce(service, "two", "cpu", capabilities=disk(900 * MIB))
    service.submit()
    attempt = claim(service, "one", "cpu")
    first = fills_its_disk(attempt, disk_bytes=64 * MIB)
    body = {"reason": "worker_disk_full", "message": FULL, "lacking": {"disk_bytes": 63 * MIB}}
    again = attempt.post("finish", body)
    assert (again.status_code, again.json()["state"]) == (200, first["state"])


@pytest.mark.parametrize(
    ("more", "state", "reason"),
    [
        ({"trouble": {"reason": "worker_limit", "message": "no threads"}}, "faulty", "no threads"),
        (
            {"quarantined": ["cpu"], "quarantine_reasons": {"cpu": "Not for 300 s: a reset."}},
            "quarantined",
            "a reset",
        ),
        ({"quarantined": ["cpu"]}, "quarantined", "cpu"),  # of an older version
    ],
)
def test_an_agent_that_takes_no_job_is_not_idle(
    service: InProcess, more: dict[str, Any], state: str, reason: str
) -> None:
    announce(service, "odd", "cpu", **more)
    shown = service.user.get("/v1/agents/odd").json()
    assert shown["state"] == state
    assert reason in shown["state_reason"]
    announce(service, "odd", "cpu")
    shown = service.user.get("/v1/agents/odd").json()
    assert (shown["state"], shown["state_reason"]) == ("idle", "")
