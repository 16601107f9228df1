"""The users of IPUs; the fake `gcipuinfo` has only the documented attributes."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Dict, List

import pytest

from ipulse_worker.runner.backends import ipu
from ipulse_worker.runner.devices import ipu_users
from ipulse_worker.runner.devices.ipu_users import DriverView, User, current_users
from ipulse_worker.runner.devices.pool import UsageRecord, UsageRecords
from tests.worker.runner.emulated import ipu_spec
from tests.worker.runner.specs import spec_from

FREE = {"id": "0", "user process id": "N/A", "user name": "N/A", "user executable": "N/A"}
TAKEN = {"id": "1", "user process id": "77", "user name": "ada", "user executable": "python3"}


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> List[Dict[str, str]]:
    """The driver's list of devices."""
    shown = [FREE, TAKEN]
    module = ModuleType("gcipuinfo")
    module.gcipuinfo = lambda: SimpleNamespace(  # type: ignore[attr-defined]
        getDevices=lambda: list(shown)
    )
    monkeypatch.setitem(sys.modules, "gcipuinfo", module)
    return shown


def test_describes_the_users_in_the_drivers_list(
    devices: List[Dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = User("1", "77", "ada", "python3")
    view = ipu_users.driver_view()
    assert view == DriverView(2, [other])
    assert current_users([], view, wanted=1) is None  # one is free: it compiles
    assert current_users([], view, wanted=2) == "process 77 (python3) of ada uses IPU 1"
    monkeypatch.setattr(ipu_users, "time", SimpleNamespace(time=lambda: 103.0))
    job = UsageRecord("job_1", 77, 1, 100.0)
    assert current_users([job], view, wanted=2) == "job job_1 has used 1 for 3 s"
    devices[:] = [{"id": "0"}]  # a driver that lists no users
    assert ipu_users.driver_view() == DriverView(1, [])


def test_without_the_sdks_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcipuinfo", None)
    assert ipu_users.driver_view() is None
    assert current_users([], None, 1) == (
        "another user has these IPUs; no job of this host's agents has one"
    )


def test_a_wait_is_logged_until_it_ends(
    devices: List[Dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log gets one line for each user, and none after the wait."""
    devices[:] = [TAKEN]
    monkeypatch.setenv("IPULSE_DEVICES", str(tmp_path))
    messages: List[str] = []
    passed_on, free = threading.Event(), threading.Event()

    def log(message: str, **_: Any) -> None:
        messages.append(message)
        (free if passed_on.is_set() else passed_on).set()

    def warm_up() -> None:
        assert passed_on.wait(30)
        devices[:] = [{**TAKEN, "user name": "grace"}]
        assert free.wait(30)

    made = ipu.IPU(spec_from(ipu_spec({"kind": "ipu", "acquire_poll_seconds": 0.1})), log, _pass)
    made.job_id = "job_mine"
    monkeypatch.setattr(made, "_model", SimpleNamespace(warm_up=warm_up), raising=False)
    monkeypatch.setattr(made, "executables", list)
    made.acquire()
    assert messages[:2] == [
        f"waiting for 1 IPU(s): process 77 (python3) of {name} uses IPU 1"
        for name in ("ada", "grace")
    ]
    assert [line.split(" ")[0] for line in messages[2:]] == ["compiled", "attached"]
    (record,) = (tmp_path / "ipu-jobs").iterdir()
    assert "job_mine" in record.read_text()
    made.release()
    assert UsageRecords(tmp_path / "ipu-jobs").others() == []
    assert not record.exists()


def _pass() -> None:
    """No cancellation."""
