"""Control groups that killed runners left are removed, and no others."""

import os
import signal
import subprocess
from pathlib import Path
from typing import List, Tuple

import pytest

from ipulse_core.sandbox import cgroup

OWN = os.stat("/proc/self/ns/pid").st_ino
ENDED = 2**30  # no process has this id


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> List[Tuple[int, int]]:
    """The signals that would have been sent: to 0 or -1 they would end the tests."""
    sent: List[Tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


def group(parent: Path, name: str, processes: str = "") -> Path:
    folder = parent / name
    folder.mkdir()
    if processes:
        (folder / "cgroup.procs").write_text(processes)
    return folder


def test_what_an_ended_runner_left_is_removed(tmp_path: Path) -> None:
    folder = group(tmp_path, f"ipulse-sandbox.{OWN}-{ENDED}-1-0")
    cgroup._remove_abandoned(tmp_path)
    assert not folder.exists()


def test_groups_of_another_namespace_stay(tmp_path: Path, signals: List[Tuple[int, int]]) -> None:
    name = f"ipulse-sandbox.{OWN + 1}-{ENDED}-1-0"
    folder = group(tmp_path, name)
    busy = group(tmp_path, name + "1", "12345\n")
    cgroup._remove_abandoned(tmp_path)
    assert folder.exists()
    assert busy.exists()
    assert signals == []


def test_only_processes_with_an_id_here_are_killed(
    tmp_path: Path, signals: List[Tuple[int, int]]
) -> None:
    group(tmp_path, f"ipulse-sandbox.{OWN}-{ENDED}-1-0", "0\n12345\n-1\n0\n")
    cgroup._remove_abandoned(tmp_path)
    assert signals == [(12345, signal.SIGKILL)]


@pytest.mark.parametrize("rest", ["", "x-y", "1", "1-0-0", "²-1-0-0", f"{OWN}-1--0", f"{OWN}-1-0"])
def test_names_of_another_form_stay(
    tmp_path: Path, rest: str, signals: List[Tuple[int, int]]
) -> None:
    folder = group(tmp_path, f"ipulse-sandbox.{rest}", "12345\n")
    cgroup._remove_abandoned(tmp_path)
    assert folder.exists()
    assert signals == []


def test_the_group_of_a_live_runner_stays(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as runner:
        started = cgroup._started(runner.pid)
        folder = group(tmp_path, f"ipulse-sandbox.{OWN}-{runner.pid}-{started}-0")
        cgroup._remove_abandoned(tmp_path)
        was_there = folder.exists()
        runner.kill()
    assert was_there
    cgroup._remove_abandoned(tmp_path)
    assert not folder.exists()
