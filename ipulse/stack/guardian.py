"""The guardian: a process between a program and its starter, so that neither leaves orphans.

`ipulse.stack.guarded_process` runs this file as a script, with descriptors as arguments: it reads
commands from the first and writes reports to the second. The program gets its own process group,
and its own session if the guardian has one. The guardian

* kills the program and all its descendants on command, or when the pipe of commands is closed:
  then its starter has ended;
* adopts orphaned descendants, also those in other sessions, and kills them once the program has
  ended;
* ends, and closes the report, only when all of them have ended.

If the guardian is killed, the kernel kills the program (PR_SET_PDEATHSIG). That is safe only here:
the signal is sent when the *thread* that forked ends, and other threads may hold locks between fork
and exec; the guardian has one thread. Linux only and standard library only. It starts with
`-I -S` and imports neither `json` nor `typing`, which would take longer than all the rest.

Further descriptors stay open until the guardian ends. A lock on one of them thus shows whether the
guardian, and so the whole process tree, still runs.

Commands: the first describes the program and may come late. It is a line with the number of bytes
that follow and the number of words of the command, then words separated by zero bytes: the command,
then variables (NAME=VALUE) in addition to the guardian's own. After that, one byte each: T sends
SIGTERM to the program, U SIGUSR1, K kills everything. K instead of a program ends the guardian.
Report, in JSON lines: {"pid"} or {"errno"}, then {"exit_code"} (negative: a signal ended it).
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
    """Guard one program to its end; return the exit code of the guardian."""
    commands, report, *held = map(int, sys.argv[1:])
    os.set_inheritable(commands, False)
    os.set_inheritable(report, False)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    has_session = os.getsid(0) == os.getpid()
    if not has_session:
        os.setpgid(0, 0)  # a terminal's Ctrl-C is handled by the starter
    try:
        pid = _start(os.setsid if has_session else os.setpgrp, *_read_program(commands))
    except OSError as error:
        _report(report, "errno", error.errno or 0)
        return 1
    _close_inherited(keep=[commands, report, *held])
    _report(report, "pid", pid)
    exit_code = _watch(pid, commands, deaths=_wake_on_deaths())
    _report(report, "exit_code", exit_code)
    _end_descendants()
    return 0


def _start(leave_group: Callable[[], None], command: list[bytes], variables: list[bytes]) -> int:
    """Start the program and return its id. Raises OSError if it cannot be executed."""
    failure, write_end = os.pipe()  # a successful exec closes it
    guardian = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            leave_group()
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == guardian:  # else it died before prctl took effect
                for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and
                    signal.signal(ignored, signal.SIG_DFL)  # exec would inherit that
                for variable in variables:
                    name, _, value = variable.partition(b"=")
                    os.environb[name] = value
                os.execvp(command[0], command)  # noqa: S606 - without a shell
        except OSError as error:
            os.write(write_end, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(write_end)
    errno = os.read(failure, 16)
    os.close(failure)
    if errno:
        os.waitpid(pid, 0)
        raise OSError(int(errno), os.strerror(int(errno)))
    return pid


def _watch(pid: int, commands: int, deaths: int) -> int:
    """Wait for the program's end while executing commands; return its exit code."""
    while True:
        exit_code = _reap(pid)
        if exit_code is not None:
            return exit_code
        ready, _, _ = select.select([commands, deaths], [], [])
        if deaths in ready:
            os.read(deaths, 4096)
        if commands in ready:
            command = os.read(commands, 64)
            # The id is not reused before the program is reaped.
            if not command or b"K" in command:
                os.killpg(pid, signal.SIGKILL)
                return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if b"T" in command:
                os.kill(pid, signal.SIGTERM)
            if b"U" in command:
                os.kill(pid, signal.SIGUSR1)


def _reap(pid: int) -> int | None:
    """Reap all children that have ended; return the exit code of `pid` if it has ended."""
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
    """Kill and reap all remaining descendants.

    Children of a killed process become children of the guardian, so this ends when there are no
    descendants. Only children that are not yet reaped are signalled, so that no id is stale.
    """
    while _has_children():
        for child in _children():
            try:
                os.kill(child, signal.SIGKILL)
            except PermissionError:  # it changed its user: wait for its end
                continue
        os.waitpid(-1, 0)


def _has_children() -> bool:
    """Return whether there are children; fast, since there are usually none."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    own_id = os.getpid()
    children = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:  # it ended between the listing and the reading
            continue
        if int(fields[1]) == own_id:
            children.append(int(name))
    return children


def _read_program(commands: int) -> tuple[list[bytes], list[bytes]]:
    """Read the program's command and variables from the pipe."""
    line = b""
    while not line.endswith(b"\n"):
        line += _read(commands, 1)
        if line == b"K":
            raise SystemExit(1)  # the starter does not need the guardian any more
    length, words = map(int, line.split())
    message = b""
    while len(message) < length:
        message += _read(commands, length - len(message))
    parts = message.split(b"\0")
    return parts[:words], parts[words:]


def _read(commands: int, most: int) -> bytes:
    piece = os.read(commands, most)
    if not piece:
        raise SystemExit(1)  # the starter has ended
    return piece


def _close_inherited(keep: list[int]) -> None:
    """Close the program's pipes: a reader must see their end when the program's tree ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    for descriptor in [int(name) for name in os.listdir("/proc/self/fd")]:
        if descriptor > 2 and descriptor not in keep:
            with suppress(OSError):  # the descriptor of the listing is closed already
                os.close(descriptor)


def _wake_on_deaths() -> int:
    """Return a descriptor that becomes readable when a child ends."""
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


def _report(report: int, fact: str, value: int) -> None:
    with suppress(BrokenPipeError):  # the starter has ended
        os.write(report, f'{{"{fact}": {value}}}\n'.encode())


if __name__ == "__main__":
    os._exit(main())  # without Python's own clean-up, for which the starter would wait
