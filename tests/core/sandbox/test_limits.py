"""Limits of a program in the sandbox."""

import os
import shutil
import subprocess
import threading
from typing import List

import pytest

from ipulse_core.sandbox import bubblewrap
from ipulse_core.sandbox.limits import tree_of
from ipulse_core.sandbox.sandbox import TMP, WORK
from ipulse_core.sandbox.system_calls import filter_descriptor
from tests.core.sandbox.place import LIMITS, Place


def test_a_full_disk_is_its_own(place: Place) -> None:
    free = shutil.disk_usage(str(place.folder)).free
    result = place.run("head -c 100000000 /dev/zero > big; head -c 300000000 /dev/zero > /tmp/b")
    assert result.status != 0
    total = sum(path.stat().st_size for path in place.out.rglob("*") if path.is_file())
    assert total <= LIMITS["disk_bytes"]
    assert shutil.disk_usage(str(place.folder)).free > free - 2**30


@pytest.mark.parametrize("user", [0, 65534])
def test_it_writes_only_to_file_systems_with_a_limit(
    user: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents run as root or as a user of their own, which then owns what bubblewrap mounts."""
    become: List[str] = []
    if os.geteuid() == 0 and user:
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        monkeypatch.setattr(os, "geteuid", lambda: user)
    elif os.geteuid() and not user:
        pytest.skip("needs root")
    places = {WORK: 2**20, TMP: 2**20}
    find = ["find", "/", "(", "-path", "/proc", "-o", "-path", "/dev/pts", ")", "-prune"]
    with filter_descriptor() as calls:
        command = bubblewrap.sandbox_command({}, places, {"PATH": "/usr/bin:/bin"}, WORK, calls)
        done = subprocess.run(
            [*become, *command, *find, "-o", "-type", "d", "-writable", "-print"],
            stdout=subprocess.PIPE,
            pass_fds=[calls],
            check=False,  # there are folders of /usr that it may not read
            text=True,
        )
    assert sorted(done.stdout.splitlines()) == [TMP, WORK]


def test_a_sparse_file_cannot_fill_the_workers_disk(place: Place) -> None:
    result = place.run("for n in 1 2 3 4 5; do truncate -s 3000000 sparse$n; done")
    total = sum(path.stat().st_size for path in place.out.rglob("*") if path.is_file())
    assert total <= LIMITS["disk_bytes"]
    assert result.returned.skipped


def test_time_is_limited(place: Place) -> None:
    result = place.run("sleep 1000", seconds=0.5)
    assert result.exceeded == "seconds"
    assert result.seconds < 30


def test_memory_is_limited(place: Place) -> None:
    result = place.run("head -c 4000000000 /dev/zero | tail")
    assert result.exceeded == "memory" or result.status != 0
    assert result.seconds < 60


@pytest.mark.parametrize(
    "call",
    [
        "os.memfd_create('memory')",
        "check(libc.shmget(0, 2**23, 0o1600))",
        "check(libc.msgget(0, 0o1600))",
        "check(libc.syscall(0x40000000 + 319, b'memory', 0))",  # of x32
    ],
)
def test_memory_that_no_process_maps_is_refused(place: Place, call: str) -> None:
    (place.package / "program.py").write_text(
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def check(result):\n"
        "    if result < 0:\n"
        "        raise OSError(ctypes.get_errno(), 'refused')\n"
        f"{call}\n"
    )
    result = place.run("python3 program.py")
    assert result.status == 1
    assert place.lines[-1].startswith("PermissionError")


def test_a_fork_bomb_is_bounded(place: Place) -> None:
    program = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
    before = len(os.listdir("/proc"))
    most = 0
    done = threading.Event()

    def count() -> None:
        nonlocal most
        while not done.wait(0.05):
            most = max(most, len(tree_of(os.getpid())))

    counter = threading.Thread(target=count)
    counter.start()
    try:
        result = place.run(f'python3 -c "{program}"', seconds=1.5)
    finally:
        done.set()
        counter.join()
    assert result.exceeded == "seconds"
    assert 10 < most < LIMITS["processes"] + 20
    assert len(os.listdir("/proc")) < before + 200
