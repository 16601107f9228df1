"""Memory counts wherever a program puts it, with the limits of the kernel and without them."""

import os
from pathlib import Path

import pytest

from ipulse_core.sandbox import bubblewrap, sandbox
from ipulse_core.sandbox.cgroup import ControlGroup
from ipulse_core.sandbox.cgroup_folders import NoControlGroup, usable_hierarchies
from ipulse_core.sandbox.sandbox import SandboxResult
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from tests.core.sandbox.place import LIMITS, Place

try:
    bubblewrap.require_bubblewrap()
except SandboxUnavailable as problem:
    pytest.skip(str(problem), allow_module_level=True)

MIB = 2**20
# Every program would have far more than the limit, and then waits to be ended.
AFTER_ITS_FIRST_THREAD = """
import ctypes, threading, time
def work():
    time.sleep(0.2)
    kept = []
    for _ in range(120):
        kept.append(bytearray(b"x" * 2**23))
        time.sleep(0.01)
    print("not limited", flush=True)
    time.sleep(60)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
"""
IN_MANY_PROCESSES = """
import os, time
for _ in range(8):
    if not os.fork():
        kept = bytearray(b"x" * 2**26)
        time.sleep(60)
time.sleep(5)
print("not limited", flush=True)
"""
IN_SOCKETS = """
import os, socket, time
for _ in range(16):
    if os.fork() == 0:
        pairs = []
        try:
            for _ in range(250):
                pair = socket.socketpair()
                pair[0].setblocking(False)
                pairs.append(pair)
                try:
                    while True:
                        pair[0].send(b"x" * 65536)
                except BlockingIOError:
                    pass
        except OSError:
            pass
        time.sleep(60)
time.sleep(8)
print("not limited", flush=True)
"""
SHARED = """
import mmap, os, time
kept = mmap.mmap(-1, 100 * 2**20)
kept.write(b"x" * len(kept))
for _ in range(6):
    if os.fork() == 0:
        sum(kept[place] for place in range(0, len(kept), 4096))
        time.sleep(1)
        os._exit(0)
for _ in range(6):
    os.wait()
"""


@pytest.fixture(params=["limited", "watched"])
def limited(request: pytest.FixtureRequest, place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place where the kernel limits memory, and one where it is only watched."""
    if request.param == "watched":

        def refuse(*_: object) -> ControlGroup:
            raise NoControlGroup("a worker without rights")

        monkeypatch.setattr(sandbox.ControlGroup, "make", refuse)
        return place
    try:
        usable_hierarchies()
    except NoControlGroup as problem:
        pytest.skip(f"no control groups here: {problem}")
    return place


def run(place: Place, program: str, **limits: object) -> SandboxResult:
    (place.package / "program.py").write_text(program)
    return place.run("python3 program.py", **limits)


@pytest.mark.parametrize(
    "program",
    [AFTER_ITS_FIRST_THREAD, IN_MANY_PROCESSES, IN_SOCKETS],
    ids=["after its first thread", "in many processes", "in sockets"],
)
def test_hidden_memory_ends_the_program(
    limited: Place, program: str, request: pytest.FixtureRequest
) -> None:
    result = run(limited, program)
    assert result.exceeded == "memory"
    if "watched" not in request.node.name:  # a busy machine looks late
        assert result.peak_bytes < LIMITS["memory_bytes"] + 128 * MIB
    assert "not limited" not in limited.lines


def test_shared_pages_count_once(limited: Place) -> None:
    result = run(limited, SHARED)
    assert (result.exceeded, result.status) == (None, 0)


def test_empty_files_are_limited(limited: Place) -> None:
    result = run(
        limited,
        "import os\n"
        "for place in ('/work', '/tmp'):\n"
        "    try:\n"
        "        for n in range(100_000):\n"
        "            open(f'{place}/{n}', 'w').close()\n"
        "    except OSError as error:\n"
        "        print(n, error.strerror)\n"
        "    for n in range(16_000):\n"
        "        os.unlink(f'{place}/{n}')\n",
    )
    assert result.exceeded is None
    counts = [int(line.split()[0]) for line in limited.lines if "space" in line]
    assert len(counts) == 2
    assert all(count < bubblewrap.MAX_FILES for count in counts)


def test_the_kernel_ends_what_takes_memory_faster_than_it_is_measured(place: Place) -> None:
    try:
        usable_hierarchies()
    except NoControlGroup as problem:
        pytest.skip(f"no control groups here: {problem}")
    result = run(place, "kept = bytearray(b'x') * 2**30", memory_bytes=2**29)
    assert result.exceeded == "memory"
    result = run(place, "kept = [bytearray(2**20) for _ in range(100)]")
    assert (result.exceeded, result.status) == (None, 0)


def test_groups_are_gone_with_their_sandboxes(place: Place) -> None:
    try:
        folders = set(usable_hierarchies().folders.values())
    except NoControlGroup as problem:
        pytest.skip(f"no control groups here: {problem}")
    namespace = os.stat("/proc/self/ns/pid").st_ino
    abandoned = [folder / f"ipulse-sandbox.{namespace}-1-0-0" for folder in folders]
    for folder in abandoned:
        folder.mkdir()
    place.run("true")
    left = [path for folder in folders for path in Path(folder).glob("ipulse-sandbox.*")]
    assert not set(left) & set(abandoned)
    own = f"ipulse-sandbox.{namespace}-{os.getpid()}-"
    assert not [path for path in left if path.name.startswith(own)]
