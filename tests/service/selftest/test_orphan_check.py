"""The check finds what was left behind, unless it is cleaned up a day later."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, update

from ipulse_service.background.housekeeping import Housekeeper
from ipulse_service.db import tables
from ipulse_service.selftest.orphan_check import after_a_day, after_the_end
from ipulse_worker.agent.work_directory import sweep
from tests.service.selftest.scene import Scene


class Cleaned(Scene):
    """A scene in which agents sweep at their start and the service cleans up."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.execute(delete(tables.outbox))
        self.work = folder / "work"
        self.work.mkdir()
        self.stack = self
        self.broker_socket = folder / "redis.sock"

    def restart_agent(self) -> None:
        list(sweep(self.work))
        Housekeeper(self.database, self.blobs, self.settings).clean_up()

    def left(self) -> list[str]:
        testbed: Any = self
        return after_a_day(testbed, clean_seconds=0.0)

    def left_in_the_end(self) -> list[str]:
        testbed: Any = self
        return after_the_end(testbed, exit_seconds=0.0)


@pytest.fixture
def scene(tmp_path: Path) -> Cleaned:
    return Cleaned(tmp_path)


def test_what_a_crash_leaves_may_stay_for_a_day(scene: Cleaned) -> None:
    (scene.work / "att_1").mkdir()
    (scene.home / "artifacts" / "incoming" / "half").write_text("half")
    scene.blob("of no row").parent.mkdir(exist_ok=True)
    scene.blob("of no row").write_text("of no row")
    assert scene.left() == scene.left_in_the_end() == []
    assert scene.audit().is_clean, "what a row needs stays"


@pytest.mark.parametrize("name", ["0123.lease", "weights.draft"])
def test_an_orphaned_file_is_found(scene: Cleaned, name: str) -> None:
    (scene.work / name).write_text("")
    [orphans] = scene.left()
    assert name in orphans
    assert scene.left_in_the_end() == [orphans]


def test_the_lock_of_an_agent_goes_with_it(scene: Cleaned) -> None:
    (scene.work / "0123.agent").write_text("")
    assert scene.left() == []
    assert len(scene.left_in_the_end()) == 1


def test_a_row_that_waits_for_something_is_found(scene: Cleaned) -> None:
    scene.execute(insert(tables.outbox).values(job_pk=scene.pk))
    scene.execute(update(tables.attempts).values(finished_at=None))
    assert [one.split()[0] for one in scene.left()] == ["attempt", "attempt", "wake-up"]


def test_a_socket_and_a_process_are_found(scene: Cleaned) -> None:
    scene.broker_socket.touch()
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"IPULSE_HOME": str(scene.home)},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        orphans = scene.left_in_the_end()
        process.communicate(b"\n")
    assert orphans == ["the broker's socket stays", f"process {process.pid} lives on"]
