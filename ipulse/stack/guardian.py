"""Stands between a process and a program it started, so that neither leaves orphans behind.

Run as a script by `ipulse.stack.guarded_process`, with descriptors: it obeys orders that come on
the
first and reports on the second. The program gets a process group of its own, and a session if the
guardian has one. The guardian

* kills the program and all its descendants when told to, or when the orders end: whoever holds
  the other end is gone, however it went;
* adopts descendants that outlive their parents, even those that moved to other sessions, and
  kills them once the program itself has ended;
* ends, and with it the report, only when none of them is left.

If the guardian itself is killed, the kernel kills the program. Asking for that is safe here and
nowhere else: PR_SET_PDEATHSIG strikes when the *thread* that forked ends, and between fork and
exec no other thread's locks may be held; the guardian has one thread. Linux only, standard
library only, started with `-I -S`, and without `json` and `typing`, whose imports take longer than
all the rest.

Further descriptors are only held: whoever has a lock on one of them can tell when the guardian,
and so the whole tree, is gone.

Orders: first, perhaps after a long time, the program: a line that says how many bytes follow and
how many words of them are its command; the other words are variables (NAME=VALUE) beside the
guardian's own. Between any two words is a zero. Then one byte each: T sends SIGTERM to the program,
K kills everything; in place of the program it only ends the guardian.
Report, JSON lines: {"pid"} or {"errno"}, then {"exit_code"} (negative: the signal that ended it).
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    orders, report, *held = map(int, sys.argv[1:])
    os.set_inheritable(orders, False)
    os.set_inheritable(report, False)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    has_session = os.getsid(0) == os.getpid()
    if not has_session:
        os.setpgid(0, 0)  # a terminal's Ctrl-C is for whoever gives the orders
    try:
        pid = _start(os.setsid if has_session else os.setpgrp, *_read_program(orders))
    except OSError as error:
        _say(report, "errno", error.errno or 0)
        return 1
    _let_go_of_inherited(keep=[orders, report, *held])
    _say(report, "pid", pid)
    exit_code = _watch(pid, orders, deaths=_wake_on_deaths())
    _say(report, "exit_code", exit_code)
    _end_descendants()
    return 0


def _start(stand_apart: Callable[[], None], command: list[bytes], variables: list[bytes]) -> int:
    """Starts the program and returns its id. Raises OSError if it cannot be executed."""
    failure, tell = os.pipe()  # closed by a successful exec
    guardian = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            stand_apart()
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == guardian:  # else it died before the line above could matter
                for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python, and exec
                    signal.signal(ignored, signal.SIG_DFL)  # would hand that down
                for variable in variables:
                    name, _, value = variable.partition(b"=")
                    os.environb[name] = value
                os.execvp(command[0], command)  # noqa: S606 - no shell is the point
        except OSError as error:
            os.write(tell, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(tell)
    errno = os.read(failure, 16)
    os.close(failure)
    if errno:
        os.waitpid(pid, 0)
        raise OSError(int(errno), os.strerror(int(errno)))
    return pid


def _watch(pid: int, orders: int, deaths: int) -> int:
    """Waits for the program's end, obeying orders meanwhile, and returns its exit code."""
    while True:
        exit_code = _reap(pid)
        if exit_code is not None:
            return exit_code
        ready, _, _ = select.select([orders, deaths], [], [])
        if deaths in ready:
            os.read(deaths, 4096)
        if orders in ready:
            order = os.read(orders, 64)
            # Until it is reaped the id belongs to the program and to nobody else.
            if not order or b"K" in order:
                os.killpg(pid, signal.SIGKILL)
                return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if b"T" in order:
                os.kill(pid, signal.SIGTERM)


def _reap(pid: int) -> int | None:
    """Collects the dead; returns the exit code of `pid` if it was among them."""
    exit_code = None
    while True:
        try:
            dead, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return exit_code
        if dead == 0:
            return exit_code
        if dead == pid:
            exit_code = os.waitstatus_to_exitcode(status)


def _end_descendants() -> None:
    """Kills and reaps whatever is left.

    The children of the killed become children of the guardian, so this ends when no
    descendant exists; and since only unreaped children are signalled, no id can be stale.
    """
    while _has_children():
        for child in _children():
            try:
                os.kill(child, signal.SIGKILL)
            except PermissionError:  # it changed its user; its end can only be waited for
                continue
        os.waitpid(-1, 0)


def _has_children() -> bool:
    """Also tells, in no time, of what nearly always is so: that nobody is left."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    me = os.getpid()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:  # it ended between the listing and the reading
            continue
        if int(fields[1]) == me:
            found.append(int(name))
    return found


def _read_program(orders: int) -> tuple[list[bytes], list[bytes]]:
    """The command and the variables; the orders that follow are left for later."""
    line = b""
    while not line.endswith(b"\n"):
        line += _read(orders, 1)
        if line == b"K":
            raise SystemExit(1)  # it is needed no more
    length, words = map(int, line.split())
    told = b""
    while len(told) < length:
        told += _read(orders, length - len(told))
    program = told.split(b"\0")
    return program[:words], program[words:]


def _read(orders: int, most: int) -> bytes:
    piece = os.read(orders, most)
    if not piece:
        raise SystemExit(1)  # the one who started the guardian is gone already
    return piece


def _let_go_of_inherited(keep: list[int]) -> None:
    """Drops the program's pipes: a reader must see their end when the program's tree ends."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    for descriptor in [int(name) for name in os.listdir("/proc/self/fd")]:
        if descriptor > 2 and descriptor not in keep:
            with suppress(OSError):  # the listing's own descriptor is closed already
                os.close(descriptor)


def _wake_on_deaths() -> int:
    """A descriptor that becomes readable when a child ends."""
    wake, write = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(write, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return wake


def _prctl(option: int, value: int) -> None:
    arguments = [ctypes.c_ulong(argument) for argument in (value, 0, 0, 0)]
    if ctypes.CDLL(None, use_errno=True).prctl(option, *arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _say(report: int, fact: str, value: int) -> None:
    with suppress(BrokenPipeError):  # nobody is left to hear it
        os.write(report, f'{{"{fact}": {value}}}\n'.encode())


if __name__ == "__main__":
    os._exit(main())  # whoever waits for the report's end need not wait for Python's, too
