from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ipulse_service.db.group_fsync import GroupFsync
from tests.service.conditions import eventually

MANY = 8


class Disk:
    """A value in memory, and the part of it that would survive a power cut."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.kept: list[int] = []
        self.syncs = 0
        self.may_go_on = threading.Event()
        self.begun = threading.Event()
        self.group = GroupFsync(self.sync)

    def sync(self) -> None:
        self.syncs += 1
        on_the_way = list(self.written)
        self.begun.set()
        self.may_go_on.wait()
        self.kept = on_the_way

    def write(self, value: int) -> bool:
        """Returns whether the value is on the disk when the wait is over."""
        self.written.append(value)
        self.group.wait()
        return value in self.kept

    @property
    def waiting(self) -> int:
        return self.group._asked


def test_many_that_write_during_a_sync_share_the_next() -> None:
    disk = Disk()
    with ThreadPoolExecutor(1 + MANY) as writers:
        first = writers.submit(disk.write, 0)
        disk.begun.wait()
        others = [writers.submit(disk.write, value) for value in range(1, 1 + MANY)]
        eventually(lambda: disk.waiting == 1 + MANY)
        disk.may_go_on.set()
        assert first.result()
        assert all(other.result() for other in others)
    assert disk.syncs == 2


def test_each_is_reported_of_a_sync_that_failed() -> None:
    def fail() -> None:
        raise OSError(5, "Input/output error")

    group = GroupFsync(fail)
    with ThreadPoolExecutor(MANY) as writers:
        waits = [writers.submit(group.wait) for _ in range(MANY)]
        for wait in waits:
            with pytest.raises(OSError, match="Input/output"):
                wait.result()
