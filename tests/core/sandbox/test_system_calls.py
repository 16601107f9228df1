"""The filter of system calls on both processors, run as the kernel runs it."""

import platform
import struct
from typing import Dict, Tuple

import pytest

from ipulse_core.sandbox.call_numbers import FIRST_UNKNOWN, MACHINES
from ipulse_core.sandbox.system_calls import LOCAL, WITH_NETWORK, filter_program

ALLOWED, REFUSED, LACKING = 0x7FFF0000, 0x00050001, 0x00050026
# Numbers of calls from the kernel's headers, written down once more.
CALLS: Dict[str, Dict[str, int]] = {
    "x86_64": {
        "read": 0,
        "mmap": 9,
        "kill": 62,
        "execve": 59,
        "futex": 202,
        "openat": 257,
        "mount": 165,
        "ptrace": 101,
        "bpf": 321,
        "keyctl": 250,
        "userfaultfd": 323,
        "perf_event_open": 298,
        "unshare": 272,
        "setns": 308,
        "memfd_create": 319,
        "socket": 41,
        "socketpair": 53,
        "clone": 56,
        "io_uring_setup": 425,
        "clone3": 435,
    },
    "aarch64": {
        "read": 63,
        "mmap": 222,
        "kill": 129,
        "execve": 221,
        "futex": 98,
        "openat": 56,
        "mount": 40,
        "ptrace": 117,
        "bpf": 280,
        "keyctl": 219,
        "userfaultfd": 282,
        "perf_event_open": 241,
        "unshare": 97,
        "setns": 268,
        "memfd_create": 279,
        "socket": 198,
        "socketpair": 199,
        "clone": 220,
        "io_uring_setup": 425,
        "clone3": 435,
    },
}
USUAL = ("read", "mmap", "kill", "execve", "futex", "openat", "ptrace", "socketpair")
NEVER = ("mount", "bpf", "keyctl", "userfaultfd", "perf_event_open", "unshare", "setns")
UNIX, INET, NETLINK, VSOCK = 1, 2, 16, 40
NEW_USER, THREAD = 0x10000000, 0x003D0F00


def answer(program: bytes, audit: int, number: int, argument: int = 0) -> int:
    """Return what the kernel does with a call, by its first argument."""
    data = struct.pack("=IIQQ", number, audit, 0, argument)
    place, value = 0, 0
    while True:
        operation, if_true, if_false, constant = struct.unpack_from("=HBBI", program, 8 * place)
        place += 1
        if operation == 0x06:
            return int(constant)
        if operation == 0x20:
            value = struct.unpack_from("=I", data, constant)[0]
            continue
        tests = {0x15: value == constant, 0x35: value >= constant, 0x45: bool(value & constant)}
        place += if_true if tests[operation] else if_false


@pytest.fixture(params=sorted(MACHINES))
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    return str(request.param)


@pytest.mark.parametrize("families", [LOCAL, WITH_NETWORK], ids=["local", "network"])
def test_each_call_gets_its_answer(machine: str, families: Tuple[int, ...]) -> None:
    program, audit, calls = filter_program(families), MACHINES[machine].audit, CALLS[machine]

    def answers(name: str, argument: int = 0) -> int:
        return answer(program, audit, calls[name], argument)

    assert {name: answers(name) for name in USUAL} == dict.fromkeys(USUAL, ALLOWED)
    refused = (*NEVER, "memfd_create", "io_uring_setup")
    assert {name: answers(name) for name in refused} == dict.fromkeys(refused, REFUSED)
    assert answers("clone", THREAD) == ALLOWED
    assert answers("clone", NEW_USER | 17) == REFUSED
    assert answers("clone3") == LACKING
    network = ALLOWED if families == WITH_NETWORK else REFUSED
    expected = {UNIX: ALLOWED, INET: network, NETLINK: network, VSOCK: REFUSED}
    assert {family: answers("socket", family) for family in expected} == expected


def test_newer_calls_and_those_of_other_processors_are_refused(machine: str) -> None:
    program, audit = filter_program(), MACHINES[machine].audit
    assert answer(program, audit, FIRST_UNKNOWN) == LACKING
    assert answer(program, audit, 0x40000000) == REFUSED
    others = {each.audit for each in MACHINES.values()} - {audit} | {0x40000003}  # i386
    reading = CALLS[machine]["read"]
    assert {answer(program, other, reading) for other in others} == {REFUSED}


def test_no_number_is_listed_twice(machine: str) -> None:
    refused = MACHINES[machine].refused
    assert len(refused) == len(set(refused))
    assert max(refused) < FIRST_UNKNOWN
