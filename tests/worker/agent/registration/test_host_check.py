"""A machine that can run no job takes none, until it can."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.capabilities import DISK_BYTES, INODES
from ipulse_core.states import Reason
from ipulse_worker.agent.registration import host_check
from ipulse_worker.agent.registration.host_check import CHECK_SECONDS, HostCheck
from ipulse_worker.agent.registration.quarantine import Quarantine
from tests.worker.agent.registration.test_quarantine import Watch
from tests.worker.disks import PIDS, fill, small_disk

WAIT_SECONDS = 300.0
FULL = "/work/att_1/weights.npz: No space left on device."


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def host(tmp_path: Path, watch: Watch) -> HostCheck:
    return HostCheck(tmp_path, 1, WAIT_SECONDS, watch)


def use_up(folder: Path) -> None:
    """Make files of 64 KiB until there is no room or no inode for another."""
    for number in range(10_000):
        try:
            (folder / str(number)).write_bytes(bytes(2**16))
        except OSError:
            return


def next_check(watch: Watch) -> None:
    watch.now += CHECK_SECONDS


def test_a_good_machine_has_no_fault(host: HostCheck) -> None:
    assert host.fault() is None
    for reason in (Reason.COMPLETED, Reason.RUNNER_ERROR, Reason.RUNNER_LOST, Reason.IPU_RESET):
        assert host.record(reason, "") == ""
    assert host.fault() is None


def test_a_full_disk_is_a_fault_until_there_is_room(tmp_path: Path, watch: Watch) -> None:
    with small_disk(tmp_path / "work", "size=2m") as disk:
        host = HostCheck(disk, 2**20, WAIT_SECONDS, watch)
        assert host.fault() is None
        filler = fill(disk)
        next_check(watch)
        fault = host.fault()
        assert fault is not None
        assert fault.reason is Reason.WORKER_DISK_FULL
        assert str(disk) in fault.message
        filler.unlink()
        next_check(watch)
        assert host.fault() is None


def test_a_disk_without_inodes_is_full(tmp_path: Path, watch: Watch) -> None:
    with small_disk(tmp_path / "work", "size=64m,nr_inodes=100") as disk:
        host = HostCheck(disk, 1, WAIT_SECONDS, watch)
        assert host.fault() is None
        for number in range(60):
            (disk / str(number)).touch()
        next_check(watch)
        fault = host.fault()
        assert fault is not None
        assert fault.reason is Reason.WORKER_DISK_FULL
        assert "inodes" in fault.message


def test_a_disk_that_became_read_only_has_failed(tmp_path: Path, watch: Watch) -> None:
    with small_disk(tmp_path / "work", "size=64m") as disk:
        host = HostCheck(disk, 1, WAIT_SECONDS, watch)
        assert host.fault() is None
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        next_check(watch)
        fault = host.fault()
        assert fault is not None
        assert fault.reason is Reason.WORKER_DISK_FAILED
        assert str(disk) in fault.message


def test_a_directory_that_is_gone_has_failed(tmp_path: Path, watch: Watch) -> None:
    fault = HostCheck(tmp_path / "gone", 1, WAIT_SECONDS, watch).fault()
    assert fault is not None
    assert fault.reason is Reason.WORKER_DISK_FAILED


def test_an_agent_without_descriptors_takes_no_job() -> None:
    """The check runs in a process of its own with a lowered limit."""
    program = f"""
import resource
from pathlib import Path
from ipulse_worker.agent.registration.host_check import HostCheck
resource.setrlimit(resource.RLIMIT_NOFILE, ({host_check.LEAST_DESCRIPTORS + 2},) * 2)
fault = HostCheck(Path("/tmp"), 1, 1.0).fault()
print(fault.reason.value, fault.message)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.startswith("worker_limit ")
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > host_check.LEAST_DESCRIPTORS


def test_room_for_a_few_threads_is_not_enough_for_a_runner() -> None:
    """The check runs in a process of its own, in a group that may have ten more."""
    group = PIDS / f"ipulse-check-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"a group of processes cannot be made here: {error}")
    program = """
import os, sys
from pathlib import Path
from ipulse_worker.agent.registration.host_check import _can_start_processes
group = Path(sys.argv[1])
(group / "cgroup.procs").write_text(str(os.getpid()))
for more in ("10", "max"):
    (group / "pids.max").write_text(more)
    print(_can_start_processes())
"""
    try:
        command = [sys.executable, "-c", program, str(group)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    finally:
        group.rmdir()
    assert done.stdout.split() == ["False", "True"]


class TestAfterAnAttempt:
    def test_a_fault_of_a_disk_that_is_not_watched_counts_for_a_while(
        self, host: HostCheck, watch: Watch
    ) -> None:
        host.attempt_begins()
        fault_of_another = "/proc/self: No space left on device."
        assert "takes no job" in host.record(Reason.WORKER_DISK_FULL, fault_of_another)
        host.attempt_removed()
        fault = host.fault()
        assert fault is not None
        assert fault.message == fault_of_another
        watch.now += WAIT_SECONDS
        assert host.fault() is None

    @pytest.mark.parametrize("options", ["size=4m", "size=64m,nr_inodes=200"])
    def test_a_job_that_was_too_large_costs_nothing_once_its_files_are_gone(
        self, tmp_path: Path, watch: Watch, options: str
    ) -> None:
        with small_disk(tmp_path / "work", options) as disk:
            host = HostCheck(disk, 1, WAIT_SECONDS, watch)
            before = host.capabilities()
            host.attempt_begins()
            attempt = disk / "att_1"
            attempt.mkdir()
            use_up(attempt)
            message = f"{attempt}/weights.npz: No space left on device."
            outcome = AttemptOutcome(Reason.WORKER_DISK_FULL, message)
            lacking = host.lacking(outcome, attempt)
            host.record(outcome.reason, outcome.message)
            assert host.fault() is not None
            assert host.capabilities() == before  # what a job has there, and not what is left now
            shutil.rmtree(attempt)
            host.attempt_removed()
            assert host.fault() is None
        name = INODES if "inodes" in options else DISK_BYTES
        assert list(lacking) == [name]
        assert lacking[name] == pytest.approx(before[name], rel=0.02)

    def test_what_others_use_is_not_needed_by_the_job(self, tmp_path: Path, watch: Watch) -> None:
        with small_disk(tmp_path / "work", "size=8m") as disk:
            host = HostCheck(disk, 1, WAIT_SECONDS, watch)
            host.attempt_begins()
            attempt = disk / "att_1"
            attempt.mkdir()
            (attempt / "weights").write_bytes(bytes(2**20))
            filler = fill(disk)
            outcome = AttemptOutcome(Reason.WORKER_DISK_FULL, f"{attempt}: No space.")
            lacking = host.lacking(outcome, attempt)
            host.record(outcome.reason, outcome.message)
            shutil.rmtree(attempt)
            host.attempt_removed()
            assert host.fault() is not None  # the disk is not as it was before
            filler.unlink()
            next_check(watch)
            assert host.fault() is None
        assert lacking[DISK_BYTES] == pytest.approx(2**20, rel=0.1)

    def test_a_fault_of_the_cache_is_not_a_need_of_the_job(
        self, tmp_path: Path, watch: Watch
    ) -> None:
        with small_disk(tmp_path / "cache", "size=2m") as cache:
            host = HostCheck(tmp_path, 1, WAIT_SECONDS, watch, caches=[cache])
            host.attempt_begins()
            filler = fill(cache)
            outcome = AttemptOutcome(Reason.WORKER_DISK_FULL, f"{cache}/lib.so: No space.")
            assert host.lacking(outcome, tmp_path / "att_1") == {}
            host.record(outcome.reason, outcome.message)
            host.attempt_removed()
            assert host.fault() is not None
            filler.unlink()
            next_check(watch)
            assert host.fault() is None

    def test_a_limit_counts_until_processes_can_be_started(
        self, host: HostCheck, watch: Watch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        host.record(Reason.WORKER_LIMIT, "no process")
        watch.now += host_check.LIMIT_SECONDS - 1
        assert host.fault() is not None
        monkeypatch.setattr(host_check, "_can_start_processes", lambda: False)
        watch.now += 10 * host_check.LIMIT_SECONDS
        assert host.fault() is not None
        monkeypatch.undo()
        next_check(watch)
        assert host.fault() is None


def test_quarantine_keeps_every_kind_from_a_faulty_machine(host: HostCheck, watch: Watch) -> None:
    quarantine = Quarantine(["cpu", "emulator"], 60, host, watch)
    assert quarantine.usable == ("cpu", "emulator")
    assert "takes no job" in quarantine.record("cpu", Reason.WORKER_DISK_FULL, FULL)
    assert (quarantine.usable, quarantine.quarantined) == ((), ("cpu", "emulator"))
    assert quarantine.trouble is not None
    assert quarantine.seconds_left == CHECK_SECONDS
    watch.now += WAIT_SECONDS
    assert quarantine.usable == ("cpu", "emulator")
    assert quarantine.trouble is None
