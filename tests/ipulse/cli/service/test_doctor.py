"""`ipulse doctor` on a machine, with and without a service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ipulse.cli.commands.service.doctor import sandbox_results
from ipulse.cli.commands.service.doctor_packages import packages_at_agents
from ipulse.client import AgentStatus
from ipulse_core.spec.neuron_packages import VARIABLE
from ipulse_ops.neuron_package.loading import installed_packages
from tests.ipulse.cli.conftest import Run
from tests.ops.neuron_package.wheels import MODULE, NAME, install, wheel


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


def agent(name: str, **more: object) -> AgentStatus:
    value = {
        "name": name,
        "state": "idle",
        "device_kinds": ["emulator"],
        "labels": {},
        "version": "",
        "joined_at": None,
        "last_seen": "2026-01-31T12:00:00.000Z",
        "holds": None,
    }
    return AgentStatus.from_json({**value, **more})


def with_sandbox(name: str, state: str, message: str = "") -> AgentStatus:
    return agent(name, sandbox={"state": state, "message": message})


def test_which_agents_run_code_of_users_is_said() -> None:
    agents = [
        with_sandbox("a", "bubblewrap"),
        with_sandbox("watched", "bubblewrap", "memory is watched, not limited"),
        with_sandbox("b", "missing", "no bwrap"),
        agent("old", sandbox=None),
    ]
    details = [result.detail for result in sandbox_results(agents)]
    assert len(details) == 3
    assert details[0].startswith("a: ")
    assert "watched" not in details[0]
    assert details[1].startswith("watched: ")
    assert details[1].endswith("watched, not limited")
    assert details[2].startswith("b: ")
    assert details[2].endswith("no bwrap")


def package_findings(out: str) -> list[dict[str, object]]:
    return [one for one in json.loads(out)["findings"] if one["name"] == "neuron package"]


def test_packages_of_neurons_are_shown_with_what_is_wrong(
    offline: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(wheel(tmp_path / "made"), tmp_path / "installed")
    [installed] = installed_packages([str(folder)])
    missing = f"other@sha256:{'0' * 64}"
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv(VARIABLE, f"{installed.reference},{missing}")
    ran = offline("doctor", "--json", "--home", str(tmp_path / "none"))
    fine, wrong = package_findings(ran.out)
    assert (fine["fine"], wrong["fine"]) == (True, False)
    assert installed.reference in str(fine["detail"])
    assert "coupled-dendrites 1.0" in str(fine["detail"])
    assert missing in str(wrong["detail"])
    assert "pip install" in str(wrong["detail"])
    listed = [(each["name"], each["state"]) for each in ran.json["neuron_packages"]]
    assert listed == [(NAME, "usable"), ("other", "not_installed")]

    (folder / MODULE / "__init__.py").write_text("import no_such_module\n", "utf-8")
    ran = offline("doctor", "--json", "--home", str(tmp_path / "none"))
    changed = str(package_findings(ran.out)[0]["detail"])
    [now] = installed_packages([str(folder)])
    assert now.reference in changed
    monkeypatch.setenv(VARIABLE, now.reference)
    ran = offline("doctor", "--home", str(tmp_path / "none"))
    assert ran.code == 6
    assert "no_such_module" in ran.out


def test_a_wrong_list_of_packages_is_shown(
    offline: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> dict[str, object]:
        ran = offline("doctor", "--json", "--home", str(tmp_path / "none"))
        [one] = package_findings(ran.out)
        return one

    assert found()["fine"] is True  # nothing is signed off
    monkeypatch.setenv(VARIABLE, "dendrites")
    assert found()["fine"] is False
    assert "NAME@sha256:DIGEST" in str(found()["detail"])
    monkeypatch.setenv("IPULSE_RUNNER_PYTHON", str(tmp_path / "python"))
    assert str(tmp_path / "python") in str(found()["detail"])


def test_a_package_that_waits_or_prints_at_its_import_is_shown(
    offline: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def detail(name: str, text: str) -> str:
        folder = install(wheel(tmp_path / name, text), tmp_path / name)
        [installed] = installed_packages([str(folder)])
        monkeypatch.setenv("PYTHONPATH", str(folder))
        monkeypatch.setenv(VARIABLE, installed.reference)
        [found] = package_findings(offline("doctor", "--json", "--home", str(tmp_path)).out)
        assert found["fine"] is False
        return str(found["detail"])

    assert "AttributeError" not in detail("loud", "import os\nos.write(1, b'x\\n')\n")
    assert detail("ends", "import os\nos._exit(3)\n")
    monkeypatch.setattr("ipulse.cli.installed_neurons.IMPORT_SECONDS", 5.0)
    assert "5 s" in detail("waits", "import time\ntime.sleep(600)\n")


def test_a_package_that_no_agent_has_is_shown() -> None:
    package = {"package": f"a@sha256:{'1' * 64}", "version": "a 1.0", "parameters": []}
    agents = [agent("one", neuron_packages=[package]), agent("two", neuron_packages=[package])]
    here = [
        {"name": name, "digest": "1" * 64, "state": state}
        for name, state in (("a", "usable"), ("b", "usable"), ("c", "not_installed"))
    ]
    fine, wrong = packages_at_agents(agents, here)
    assert (fine.fine, wrong.fine) == (True, False)
    assert "one, two" in fine.detail
    assert f"b@sha256:{'1' * 64}" in wrong.detail
