"""A program's log can be quoted, and does not grow for ever."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ipulse import log_file
from ipulse.stack import program_log
from ipulse.stack.program_log import ProgramLog


@pytest.fixture
def log(tmp_path: Path) -> ProgramLog:
    return ProgramLog(tmp_path / "service.log")


def write(log: ProgramLog, text: bytes) -> None:
    with log.open() as stream:
        stream.write(text)


def test_the_tail_quotes_this_run_and_not_the_last(log: ProgramLog) -> None:
    write(log, b"first run\n")
    write(log, b"second run\n")
    assert log.tail() == "  second run"
    assert log.path.read_bytes() == b"first run\nsecond run\n"


def test_the_tail_is_the_end_of_a_long_log(log: ProgramLog) -> None:
    write(log, b"".join(b"line %d\n" % number for number in range(100_000)))
    lines = log.tail().splitlines()
    assert lines[-1] == "  line 99999"
    assert len(lines) == program_log.TAIL_LINES


def test_bytes_that_are_not_text_are_shown_as_such(log: ProgramLog) -> None:
    write(log, b"\xff\xfe broken\n")
    assert "broken" in log.tail()


def test_an_empty_log_is_named(log: ProgramLog) -> None:
    write(log, b"")
    assert f"{log.path} is empty" in log.tail()


def test_a_log_that_is_too_long_is_rotated(
    log: ProgramLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "MAX_BYTES", 10)
    write(log, b"twelve bytes")
    write(log, b"new")
    assert log.path.read_bytes() == b"new"
    assert log.path.with_name("service.log.1").read_bytes() == b"twelve bytes"


def test_only_this_user_may_read_it(log: ProgramLog) -> None:
    write(log, b"x")
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_a_full_disk_is_named(log: ProgramLog, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, b"the last line that had room\n")
    assert "no space" not in log.tail()
    monkeypatch.setattr(program_log, "FULL_BYTES", 2**80)
    first, second = log.tail().splitlines()
    assert "had room" in first
    assert f"no space is left on the disk of {log.path}" in second
