"""Errors of the operating system become faults of the worker that name a path."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Optional

import pytest

from ipulse_core.errors import IPUlseError
from ipulse_core.states import INFRASTRUCTURE, POLICIES, Policy
from ipulse_core.worker_faults import REASONS, WorkerFault, errors_name, fault_in, fault_of


def fault(number: int, path: Optional[str] = None) -> Optional[WorkerFault]:
    return fault_of(OSError(number, os.strerror(number), path), "/")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "worker_disk_full"),
        (errno.EDQUOT, "worker_disk_full"),
        (errno.EROFS, "worker_disk_failed"),
        (errno.EIO, "worker_disk_failed"),
        (errno.EMFILE, "worker_limit"),
        (errno.ENFILE, "worker_limit"),
        (errno.EAGAIN, "worker_limit"),
    ],
)
def test_each_has_a_reason_and_names_the_path(number: int, reason: str) -> None:
    found = fault(number, "/some/where/weights.npz")
    assert found is not None
    assert found.reason.value == reason
    assert found.message.startswith(f"/some/where/weights.npz: {os.strerror(number)}")
    without_path = fault(number)
    assert without_path is not None
    assert without_path.message.startswith("/: ")


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EPIPE, errno.ENOTDIR])
def test_other_errors_are_not_the_worker_s(number: int) -> None:
    assert fault(number, "/a") is None


def test_all_are_infrastructure_and_retried_on_another_worker() -> None:
    for reason in set(REASONS.values()):
        assert reason in INFRASTRUCTURE
        assert POLICIES[reason] is Policy.RETRY_ON_ANOTHER


def test_a_full_disk_reports_the_free_space(tmp_path: Path) -> None:
    found = fault(errno.ENOSPC, str(tmp_path / "not" / "there"))
    assert found is not None
    assert "bytes" in found.message
    assert "are free" in found.message


def test_is_found_behind_other_exceptions() -> None:
    try:
        try:
            raise OSError(errno.EIO, "Input/output error", "/data/mine.npz")
        except OSError as error:
            raise IPUlseError("mine.npz cannot be read") from error
    except IPUlseError as error:
        found = fault_of(error)
    assert found == fault(errno.EIO, "/data/mine.npz")


def test_what_a_user_wrote_is_no_fault() -> None:
    assert fault_of(IPUlseError("the name No space left on device is taken")) is None


def test_is_found_in_the_output_of_a_compiler() -> None:
    text = "In file included from a.cpp:\n/build/cc.s: No space left on device\ncompilation ended."
    for found in (fault_in(text), fault_of(RuntimeError(text))):
        assert found is not None
        assert found.reason.value == "worker_disk_full"
        assert "/build/cc.s" in found.message
    assert fault_in("error: expected ;") is None


@pytest.mark.parametrize(
    "line",
    [
        "F0000 env.cc:84] Check failed: ret == 0 (11 vs. 0) Thread tf_Compute creation via "
        "pthread_create() failed.",
        "OpenBLAS blas_thread_init: pthread_create failed for thread 1 of 2: Resource temporarily "
        "unavailable",
        "RuntimeError: can't start new thread",
    ],
)
def test_is_found_in_what_a_runner_prints_that_dies_for_lack_of_threads(line: str) -> None:
    found = fault_in(f"starting\n{line}\n*** Check failure stack trace: ***", "/work")
    assert found is not None
    assert found.reason.value == "worker_limit"
    assert line in found.message


def test_a_thread_that_cannot_start_is_a_limit() -> None:
    found = fault_of(RuntimeError("can't start new thread"))
    assert found is not None
    assert found.reason.value == "worker_limit"


class TestErrorsName:
    def test_adds_the_path_where_there_is_none(self) -> None:
        with pytest.raises(OSError, match="/a/b") as caught, errors_name("/a/b"):
            raise OSError(errno.ENOSPC, "No space left on device")
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/a/b")

    def test_keeps_a_path_and_the_class(self) -> None:
        with pytest.raises(FileNotFoundError) as caught, errors_name("/a/b"):
            raise FileNotFoundError(errno.ENOENT, "No such file", "/c")
        assert caught.value.filename == "/c"
