"""Limits of a program in the sandbox."""

import os
import platform
import shutil
import subprocess
import threading
from contextlib import ExitStack
from typing import List

import pytest

from ipulse_core.sandbox import bubblewrap
from ipulse_core.sandbox.processes import tree_of
from ipulse_core.sandbox.sandbox import TMP, WORK
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
    view = bubblewrap.SandboxView({}, places, {"PATH": "/usr/bin:/bin"}, WORK)
    with ExitStack() as stack:
        command, descriptors = bubblewrap.sandbox_command(view, stack)
        done = subprocess.run(
            [*become, *command, *find, "-o", "-type", "d", "-writable", "-print"],
            stdout=subprocess.PIPE,
            pass_fds=descriptors,
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
        "check(libc.semget(0, 1, 0o1600))",
        "check(libc.unshare(0x10000000))",
        "check(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))",
        "check(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0))",  # clone
        "check(libc.syscall(425, 8, None))",  # io_uring_setup
        "check(libc.syscall(323, 0))",  # userfaultfd
        "check(libc.syscall(321, 0, None, 0))",  # bpf
        "check(libc.syscall(298, None, 0, -1, -1, 0))",  # perf_event_open
        "check(libc.syscall(250, 0, -3))",  # keyctl
        "check(libc.syscall(304, -100, None, 0))",  # open_by_handle_at
        "check(libc.syscall(438, 1, 0, 0))",  # pidfd_getfd
        "socket.socket(40, socket.SOCK_STREAM)",  # vsock
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "socket.socket(38, socket.SOCK_SEQPACKET)",  # of the kernel's ciphers
    ],
)
def test_calls_are_refused(place: Place, call: str) -> None:
    if "syscall(" in call and platform.machine() != "x86_64":
        pytest.skip("has the numbers of x86_64")
    (place.package / "program.py").write_text(
        "import ctypes, os, socket\n"
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


def test_files_are_stored_although_processes_ran_out(place: Place) -> None:
    program = (
        "import os, sys, time\n"
        "open('result', 'w').write('found')\n"
        "try:\n"
        "    while True:\n"
        "        if not os.fork():\n"
        "            os.setsid()\n"
        "            time.sleep(600)\n"
        "except OSError:\n"
        "    time.sleep(0.3)\n"
        "    sys.exit(3)\n"
    )
    (place.package / "program.py").write_text(program)
    result = place.run("exec python3 program.py")
    assert (result.status, result.exceeded) == (3, None)
    assert result.lacked_processes
    assert (place.out / "result").read_text() == "found"
    assert not place.run("(true &); true").lacked_processes


def test_a_newer_kernels_calls_do_not_exist(place: Place) -> None:
    (place.package / "program.py").write_text(
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "assert libc.syscall(462, 0, 0, 0) == -1\n"  # mseal, which is newer than the list
        "print(errno.errorcode[ctypes.get_errno()])\n"
    )
    place.run("python3 program.py")
    assert place.lines == ["ENOSYS"]


def test_paths_of_the_machine_are_not_in_command_lines(place: Place) -> None:
    place.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls /usr/local 2>&1")
    text = "\n".join(place.lines)
    assert "bwrap" in text
    assert str(place.folder) not in text
    assert "/usr/local" in place.lines[-1]
    assert "No such file" in place.lines[-1]


def test_the_kernel_ends_a_sandbox_before_the_rest_of_the_machine(place: Place) -> None:
    place.run("cat /proc/self/oom_score_adj")
    assert place.lines == ["1000"]
