"""`ipulse doctor` on a machine, with and without a service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ipulse.cli.commands.service.doctor import sandbox_results
from ipulse.client import AgentStatus
from tests.ipulse.cli.conftest import Run


def findings(out: str) -> dict[str, dict[str, object]]:
    return {finding["name"]: finding for finding in json.loads(out)["findings"]}


def test_a_service_without_a_broker_is_not_well(run: Run) -> None:
    ran = run("doctor", "--json")
    assert ran.code != 0
    checks = findings(ran.out)
    assert checks["service"]["fine"] is False
    assert "broker" in str(checks["service"]["detail"])


def test_missing_parts_have_hints(
    offline: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = offline("doctor", "--json", "--home", str(home))
    checks = findings(ran.out)
    assert ran.code != 0
    assert "apt-get install g++" in str(checks["C++ compiler"]["detail"])
    assert f"chmod 700 {home}" in str(checks["home"]["detail"])
    assert checks["service"]["fine"] is False
    assert "ipulse up" in str(checks["service"]["detail"])


def test_without_a_stack_the_service_is_not_available(offline: Run, tmp_path: Path) -> None:
    ran = offline("doctor", "--json", "--home", str(tmp_path / "none"))
    wrong = {name for name, check in findings(ran.out).items() if not check["fine"]}
    assert "service" in wrong
    assert ran.code == 5
    version = str(findings(ran.out)["redis-server"]["detail"])
    assert "Redis " in version or "Valkey " in version


def test_several_kinds_of_trouble_are_no_outage(offline: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    assert offline("doctor", "--json", "--home", str(home)).code == 6


def test_which_agents_run_code_of_users_is_said() -> None:
    def agent(name: str, state: str | None, message: str = "") -> AgentStatus:
        sandbox = None if state is None else {"state": state, "message": message}
        value = {
            "name": name,
            "state": "idle",
            "device_kinds": ["emulator"],
            "labels": {},
            "version": "",
            "joined_at": None,
            "last_seen": "2026-01-31T12:00:00.000Z",
            "holds": None,
            "sandbox": sandbox,
        }
        return AgentStatus.from_json(value)

    agents = [agent("a", "bubblewrap"), agent("b", "missing", "no bwrap"), agent("old", None)]
    details = [result.detail for result in sandbox_results(agents)]
    assert len(details) == 2
    assert details[0].startswith("a: ")
    assert details[1].startswith("b: ")
    assert details[1].endswith("no bwrap")
