"""Agents that can run no job say why, and users, metrics and `doctor` see it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import update

from ipulse.cli import main
from ipulse_service.agents.known_agent import PRESENT_MS
from ipulse_service.db import tables
from tests.service.http.routes.test_queue import announce
from tests.service.http.routes.test_submission import check_problem
from tests.service.http.test_metrics import samples
from tests.service.running import InProcess

TROUBLE = {"reason": "worker_disk_full", "message": "/work: 0 bytes are free."}


def faults(service: InProcess) -> dict[str, Any]:
    answer = service.user.get("/v1/agents")
    assert answer.status_code == 200
    return {agent["name"]: agent["fault"] for agent in answer.json()["agents"] if agent["fault"]}


def counted(service: InProcess) -> float:
    return samples(service)["ipulse_agent_faults", frozenset({("reason", "worker_disk_full")})]


def test_a_fault_is_shown_until_it_is_gone(
    service: InProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    before = counted(service)
    announce(service, "full", "cpu", trouble=TROUBLE, quarantined=["cpu"])
    announce(service, "good", "cpu")
    found = faults(service)
    assert found["full"].items() >= TROUBLE.items()
    assert "good" not in found
    assert counted(service) == before + 1
    announce(service, "full", "cpu", trouble=TROUBLE, quarantined=["cpu"])
    assert faults(service)["full"]["since"] == found["full"]["since"]

    service.wait_until_ready()
    capsys.readouterr()
    at = ["--url", service.url, "--token-file", str(service.settings.token_file)]
    code = main(["doctor", "--json", "--home", str(service.settings.home), *at])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert code != 0
    (finding,) = (each for each in findings if "full takes no job" in each["detail"])
    assert finding["fine"] is False
    assert "worker_disk_full" in finding["detail"]
    assert "/work: 0 bytes are free." in finding["detail"]

    announce(service, "full", "cpu")
    assert "full" not in faults(service)
    assert counted(service) == before


@pytest.mark.parametrize("gone", ["silent", "stopped", "removed"])
def test_that_of_an_agent_that_is_gone_is_not_shown(service: InProcess, gone: str) -> None:
    before = counted(service)
    announce(service, "gone", "cpu", trouble=TROUBLE)
    assert counted(service) == before + 1
    if gone == "stopped":
        answer = service.worker.post("/v1/worker/sign-off", json={"agent": "gone"})
        assert answer.status_code == 204
    else:
        long_ago = update(tables.agents).where(tables.agents.c.name == "gone")
        with service.database.write() as transaction:
            transaction.connection.execute(long_ago.values(seen_at=transaction.now - PRESENT_MS))
    if gone == "removed":
        assert service.user.delete("/v1/agents/gone").status_code == 204
    assert "gone" not in faults(service)
    assert counted(service) == before
    announce(service, "gone", "cpu", trouble=TROUBLE)
    assert faults(service)["gone"].items() >= TROUBLE.items()
    announce(service, "gone", "cpu")


@pytest.mark.parametrize(
    ("trouble", "pointer"),
    [
        ({"reason": "runner_error", "message": "a"}, "/trouble/reason"),
        ({"reason": "worker_limit"}, "/trouble/message"),
        ({"reason": "worker_limit", "message": "a" * 1001}, "/trouble/message"),
        ("full", "/trouble"),
    ],
)
def test_what_is_no_fault_is_refused_with_its_place(
    service: InProcess, trouble: Any, pointer: str
) -> None:
    body = {"agent": "bad", "device_kinds": ["cpu"], "trouble": trouble}
    problem = check_problem(service.worker.post("/v1/worker/agents", json=body), 422)
    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert "bad" not in faults(service)
