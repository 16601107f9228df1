"""Jobs run on agents that have what they need, and elsewhere where an announcement was wrong."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ipulse.spec import parse_job_spec
from ipulse_service.agents.needs import Needs
from tests.equations import lif
from tests.service.agents import Attempt, phase
from tests.service.conditions import eventually
from tests.service.http.routes.test_queue import announce, claim
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

EVERYTHING = {
    "compiler": True,
    "kernels": True,
    "sandbox": "bubblewrap",
    "nir": True,
    "h5py": True,
    "scikit-learn": True,
}


EQUATIONS = {"kind": "equations", "neurons": 8, "neuron": lif()}


pytestmark = pytest.mark.usefixtures("no_other_agents")


def having(service: InProcess, agent: str, *lacking: str, **more: Any) -> None:
    capabilities = {**EVERYTHING, **dict.fromkeys(lacking, False)}
    remarks = {name: f"{name} is not here" for name in lacking}
    announce(service, agent, "cpu", capabilities=capabilities, remarks=remarks, **more)


def submit(service: InProcess, **changes: Any) -> dict[str, Any]:
    answer = service.user.post("/v1/jobs", json={**SPEC, **changes})
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    return job


def refused(service: InProcess, agent: str) -> None:
    body = {"job_id": None, "agent": agent, "device_kinds": ["cpu"]}
    assert service.worker.post("/v1/worker/claims", json=body).status_code == 409


def lacks(attempt: Attempt, reason: str, message: str = "it is gone") -> dict[str, Any]:
    assert attempt.report(phase("prepare")).status_code == 200
    answer = attempt.finish(reason, message)
    assert answer.status_code == 200, answer.text
    job: dict[str, Any] = answer.json()
    return job


DIGITS = {"data": {"kind": "digits", "samples": 50, "steps": 10}}


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({}, {"kernels", "nir"}),
        ({"data": {"kind": "digits"}}, {"kernels", "nir", "scikit-learn"}),
        ({"data": {"kind": "shd"}}, {"kernels", "nir", "h5py"}),
        (
            {"network": {"layers": [{"kind": "equations", "neurons": 8, "neuron": lif()}]}},
            {"compiler", "nir"},
        ),
        ({"device": {"kind": "emulator"}}, {"compiler", "nir"}),
    ],
)
def test_the_needs_follow_from_the_spec(changes: dict[str, Any], needed: set[str]) -> None:
    base = {**SPEC, "data": {"kind": "yin_yang"}}
    needs = Needs.of_spec(parse_job_spec({**base, **changes}))
    assert set(needs.requirements.software) == needed


def test_what_nobody_has_is_refused_with_the_fix(service: InProcess) -> None:
    having(service, "bare", "scikit-learn")
    for path in ("/v1/jobs", "/v1/jobs:validate"):
        problem = check_problem(service.user.post(path, json={**SPEC, **DIGITS}), 422)
        (error,) = problem["errors"]
        assert error["code"] == "no_scikit_learn"
        assert "scikit-learn is not here" in error["detail"]
        assert "pip install scikit-learn" in error["detail"]
    having(service, "whole")
    job = submit(service, **DIGITS)
    refused(service, "bare")
    attempt = claim(service, "whole", "cpu")
    assert attempt.claim["job_id"] == job["id"]
    assert attempt.complete()["state"] == "succeeded"


def test_an_absent_agent_may_have_it(service: InProcess) -> None:
    having(service, "whole", host="elsewhere")
    service.worker.post("/v1/worker/sign-off", json={"agent": "whole"})
    having(service, "bare", "scikit-learn")
    job = submit(service, **DIGITS)
    waiting = service.job(job["id"])["waiting_on"]
    assert waiting["reason"] == "no_match"
    assert "scikit-learn" in waiting["detail"]
    assert "whole" in waiting["detail"]
    having(service, "whole", host="elsewhere")
    assert claim(service, "whole", "cpu").complete()["state"] == "succeeded"


@pytest.mark.parametrize(
    ("reason", "name"), [("kernel_unavailable", "kernels"), ("library_unavailable", "nir")]
)
def test_an_announcement_that_was_wrong_costs_the_job_nothing(
    service: InProcess, reason: str, name: str
) -> None:
    having(service, "one")
    having(service, "two")
    submitted = submit(service)
    job = lacks(claim(service, "one", "cpu"), reason)
    assert job["state"] == "retry_wait"
    shown = service.user.get("/v1/agents/one").json()
    assert shown["capabilities"][name] is False
    assert shown["remarks"][name] == "it is gone"
    eventually(lambda: service.job(submitted["id"])["state"] == "queued")
    refused(service, "one")
    assert claim(service, "two", "cpu").complete()["state"] == "succeeded"


def test_the_only_agent_is_waited_for_until_it_has_it_again(service: InProcess) -> None:
    having(service, "one")
    submitted = submit(service)
    assert lacks(claim(service, "one", "cpu"), "kernel_unavailable")["state"] == "retry_wait"
    eventually(lambda: service.job(submitted["id"])["state"] == "queued")
    waiting = service.job(submitted["id"])["waiting_on"]
    assert waiting["reason"] == "no_match"
    assert "apt-get install g++" in waiting["detail"]
    having(service, "one")
    assert claim(service, "one", "cpu").complete()["state"] == "succeeded"


def test_a_job_that_fails_again_and_again_where_all_is_there_ends(service: InProcess) -> None:
    submitted: dict[str, Any] | None = None
    for _ in range(20):
        having(service, "one")
        submitted = submitted or submit(service)
        job = lacks(claim(service, "one", "cpu"), "kernel_unavailable")
        if job["state"] == "failed":
            break
        eventually(lambda ended=job: service.job(ended["id"])["state"] == "queued", 60)
    assert (job["state"], job["reason"]) == ("failed", "kernel_unavailable")
    assert len(job["attempts"]) == service.settings.max_attempts + 1


@pytest.mark.parametrize("seed", range(3))
def test_no_job_fails_that_another_agent_could_run(service: InProcess, seed: int) -> None:
    """One of three agents has all; what the others announce is taken from them at random."""
    random = Random(seed)
    agents = ("whole", "one", "two")
    for agent in agents:
        having(service, agent)
    jobs = [submit(service, seed=number)["id"] for number in range(6)]
    for _ in range(200):
        open_jobs = [job for job in jobs if service.job(job)["state"] != "succeeded"]
        if not open_jobs:
            break
        agent = random.choice(agents)
        if random.random() < 0.3:
            having(service, agent)  # it was put back, or so it seems
        body = {"job_id": None, "agent": agent, "device_kinds": ["cpu"]}
        answer = service.worker.post("/v1/worker/claims", json=body)
        if answer.status_code != 200:
            continue
        attempt = Attempt(service.worker, answer.json())
        if agent != "whole" and random.random() < 0.5:
            job = lacks(attempt, random.choice(("kernel_unavailable", "library_unavailable")))
            assert job["state"] == "retry_wait", job["message"]
        else:
            attempt.complete()
    assert {service.job(job)["state"] for job in jobs} == {"succeeded"}


def test_an_agent_of_an_older_version_is_understood(service: InProcess) -> None:
    announce(service, "older", "cpu", sandbox={"state": "missing", "message": "no bwrap"})
    shown = service.user.get("/v1/agents/older").json()
    assert shown["sandbox"] == {"state": "missing", "message": "no bwrap"}
    submit(service)
    assert claim(service, "older", "cpu").complete()["state"] == "succeeded"
