"""The niceness also applies where Linux divides the processors among sessions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ipulse_worker.agent import niceness

ROOT = Path(__file__).parents[3]
ADD = "from ipulse_worker.agent import niceness; niceness.add(7); import os; print(os.nice(0))"
SHOW = "print(open('/proc/self/autogroup').read())"
OF_ANOTHER = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}], check=True)"

needs_groups = pytest.mark.skipif(
    not niceness.GROUP.exists(), reason="this Linux shares the processors out among processes"
)


def output_of(code: str) -> str:
    """Run code in a process that leads its own session; return its output."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=ROOT, start_new_session=True, check=True, capture_output=True
    ).stdout.decode()


def of_group(text: str) -> int:
    match = re.search(r"nice (-?\d+)", text)
    assert match is not None, text
    return int(match[1])


@needs_groups
def test_a_session_leader_sets_the_niceness_of_its_session() -> None:
    own, group = output_of(f"{ADD}; {SHOW}").splitlines()[:2]
    assert int(own) == os.nice(0) + 7
    assert of_group(group) == int(own)


@needs_groups
def test_a_session_of_another_leader_is_unchanged() -> None:
    own, group = output_of(OF_ANOTHER.format(f"{ADD}; {SHOW}")).splitlines()[:2]
    assert int(own) == os.nice(0) + 7
    assert of_group(group) == 0


@needs_groups
def test_niceness_zero_leaves_the_session_as_it_is_whatever_the_process_has() -> None:
    code = (
        f"import os; os.nice(3); from ipulse_worker.agent import niceness; niceness.add(0); {SHOW}"
    )
    assert of_group(output_of(code)) == 0


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Pretend that this process leads its session, without changing anything."""
    (tmp_path / "autogroup").touch()
    monkeypatch.setattr(niceness, "GROUP", tmp_path / "autogroup")
    monkeypatch.setattr(niceness, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(os, "nice", lambda added: added)
    monkeypatch.setattr(os, "getsid", lambda _: os.getpid())
    return monkeypatch


@pytest.mark.parametrize(
    ("error", "times"),
    [(BlockingIOError(), niceness.TRIES), (PermissionError(13, "no"), 1)],
    ids=["busy", "forbidden"],
)
def test_a_refusal_of_linux_is_logged_and_ignored(
    leader: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: OSError, times: int
) -> None:
    refuse = _Refusal(error)
    leader.setattr(niceness, "_write", refuse)
    niceness.add(7)
    assert refuse.times == times
    assert [record.message for record in caplog.records] == ["session_not_nice"]


def test_it_retries_when_linux_limits_the_rate_of_changes(
    leader: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    busy = _Refusal(BlockingIOError(), at_most=2)
    leader.setattr(niceness, "_write", busy)
    niceness.add(7)
    assert busy.times == 3
    assert not caplog.records


class _Refusal:
    """A write that fails, the first times or always."""

    def __init__(self, error: OSError, at_most: int = 1_000) -> None:
        self.times = 0
        self._error = error
        self._at_most = at_most

    def __call__(self, _niceness: int) -> None:
        self.times += 1
        if self.times <= self._at_most:
            raise self._error
