"""The command line of bubblewrap: what a sandboxed process sees of this machine.

It has its own user, process, network, IPC and mount namespaces. It sees the system's programs and
libraries and a few folders read-only, and writes only to file systems in memory that have limits.
One bubblewrap makes the view and another one, inside of it, drops all rights: only the first may
read the folders and limit the file systems. An agent that runs as root gives its programs a user id
that owns nothing: the kernel does not limit the processes of root.
"""

from __future__ import annotations

import os
import shutil
import subprocess  # runs bubblewrap
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from ipulse_core.sandbox.device_access import (
    NO_DEVICES,
    SHARED_BYTES,
    SHARED_MEMORY,
    DeviceAccess,
)
from ipulse_core.sandbox.system_calls import LOCAL, WITH_NETWORK, filter_program, pipe_of
from ipulse_core.sandbox.unavailable import SandboxSilent, SandboxUnavailable

VARIABLE = "IPULSE_SANDBOX"  # bubblewrap, or `none`: the operator wants no sandbox
CONFINED = "IPULSE_CONFINED"  # set in a sandbox in which a whole training runs
MAX_FILES = 16_384  # files and folders in each file system, whatever their sizes
_FIRST_USER, _USERS = 61184, 4096  # where systemd takes the ids of services without users
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib64", "/lib32")
_OPERATORS_OWN = Path("/usr/local")  # software of the site: not of the system, not for users
_FILES = ("/etc/ld.so.cache", "/etc/alternatives")  # for the linker, and the name of the compiler
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_PROGRAMS = ("bwrap", "prlimit", "setpriv", "mount")
_PROBE_SECONDS = 20.0
_PATIENCE_SECONDS = (20.0, 60.0, 180.0)  # for a job that was accepted
# These are file systems in memory without a limit; bubblewrap itself must write to them first.
_CLOSE = ("--remount-ro", "/dev", "--remount-ro", "/")
# Limits the number of files: bubblewrap only limits their bytes. The arguments are places, `--` and
# the command that then drops the rights.
_LIMIT_FILES = (
    'while [ "$1" != -- ]; do mount -i --options-mode ignore -o '
    '"remount,nosuid,nodev,nr_inodes=$IPULSE_FILES" "$1" || exit 125; '
    'shift; done; shift; unset IPULSE_FILES; exec "$@"'
)


class SandboxView(NamedTuple):
    """The view of a sandboxed command."""

    folders: Mapping[str, Path]  # read-only folders and files by their places in the sandbox
    writable: Mapping[str, int]  # places of empty file systems in memory, with their sizes in bytes
    environment: Mapping[str, str]  # the only variables
    directory: str  # where the command starts
    devices: DeviceAccess = NO_DEVICES  # of this machine
    disks: Mapping[str, Path] = {}  # writable folders of this machine's disks by their places


def is_switched_off(environment: Mapping[str, str]) -> bool:
    """Return whether the operator wants no sandbox."""
    return environment.get(VARIABLE) == "none"


def require_bubblewrap(seconds: float = _PROBE_SECONDS) -> None:
    """Raise SandboxUnavailable unless bubblewrap works on this machine.

    Raises SandboxSilent, which says nothing about bubblewrap, if it did not answer in time.
    """
    wanted = f"install it (Debian: apt-get install bubblewrap), or set {VARIABLE}=none on a worker"
    for program in _PROGRAMS:
        if shutil.which(program) is None:
            raise SandboxUnavailable(
                f"programs run in a sandbox, and {program} is missing: {wanted} whose users you "
                "trust with its files and its network"
            )
    view = SandboxView({}, {"/tmp": 2**20}, {"PATH": _PATH}, "/tmp")  # noqa: S108 (its own)
    try:
        with ExitStack() as stack:
            command, descriptors = sandbox_command(view, stack)
            done = subprocess.run(  # noqa: S603 (a fixed command)
                [*command, "true"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                pass_fds=descriptors,
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise SandboxSilent(f"bubblewrap did not answer within {seconds:g} s") from error
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip().split("\n")[0][:300]
        raise SandboxUnavailable(
            f"bubblewrap cannot make a sandbox here ({said}); in a container it needs the right "
            f"to create user namespaces. {VARIABLE}=none runs programs without a sandbox"
        )


def wait_for_bubblewrap(check: Callable[[], None]) -> None:
    """Ask for the sandbox until it answers: a machine with much to do is not one without.

    check: raises an error if nobody waits any longer.

    Raises SandboxUnavailable; SandboxSilent if it never answered.
    """
    for seconds in _PATIENCE_SECONDS:
        check()
        with suppress(SandboxSilent):
            return require_bubblewrap(seconds)
    raise SandboxSilent(
        f"bubblewrap did not answer within {_PATIENCE_SECONDS[-1]:g} s: the worker is overloaded"
    )


def sandbox_command(view: SandboxView, stack: ExitStack) -> Tuple[List[str], List[int]]:
    """Return the beginning of a command that runs the rest of it in a sandbox, and descriptors.

    The command must inherit the descriptors; the stack closes them. What bubblewrap is told passes
    through them, because programs see its command line, and with it paths of this machine.
    """
    is_root = os.geteuid() == 0
    # The SDK of IPUs may make sockets, also where they reach nothing.
    families = WITH_NETWORK if view.devices.has_network or view.devices.nodes else LOCAL
    calls = stack.enter_context(pipe_of(filter_program(families)))
    outer = ["--die-with-parent", "--new-session", "--unshare-ipc"]
    outer += [] if view.devices.has_network else ["--unshare-net"]
    outer += ["--unshare-uts", "--unshare-cgroup-try"]
    if not is_root:
        # To limit file systems, and to let the inner one map the user id 0.
        outer += ["--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETFCAP"]
        outer += ["--unshare-user", "--uid", "0", "--gid", "0"]
    outer += [*_mounts(view), "--clearenv", "--setenv", "PATH", _PATH]
    outer += ["--setenv", "IPULSE_FILES", str(MAX_FILES)]
    # Until the inner bubblewrap mounts its own, /proc must be writable for the maps of its users.
    outer += ["--bind", "/proc", "/proc", *_CLOSE]
    drop = ["setpriv", "--inh-caps=-all", "--no-new-privs", "--pdeathsig=KILL"]
    inner = ["--die-with-parent", "--unshare-user", "--unshare-pid", "--disable-userns"]
    if is_root:
        identity = str(_FIRST_USER + os.getpid() % _USERS)
        drop += [f"--reuid={identity}", f"--regid={identity}", "--clear-groups"]
        drop += ["--bounding-set=-all"]
    else:
        inner += ["--uid", str(os.geteuid()), "--gid", str(os.getegid())]
    inner += ["--cap-drop", "ALL", "--seccomp", str(calls), "--dev-bind", "/", "/"]
    inner += ["--proc", "/proc", "--chdir", view.directory, "--clearenv"]
    for name, value in view.environment.items():
        inner += ["--setenv", name, value]
    first, second = (
        stack.enter_context(pipe_of(b"".join(os.fsencode(each) + b"\0" for each in arguments)))
        for arguments in (outer, inner)
    )
    limit = ["/bin/sh", "-c", _LIMIT_FILES, "sh", *_limited(view), "--"]
    bwrap = str(Path(shutil.which("bwrap") or "bwrap").resolve())
    command = [bwrap, "--args", str(first), "--", *limit, *drop]
    return [*command, bwrap, "--args", str(second), "--"], [calls, first, second]


def compiler_folders(command: Sequence[str]) -> Dict[str, Path]:
    """Return the folder of a compiler that is not the system's.

    Raises SandboxUnavailable if programs would see a home folder with it.
    """
    found = shutil.which(command[0])
    path = Path(found or "/usr/bin/c++").resolve()
    if path.parts[1] == "bin" or _is_of_system(path):
        return {}
    hint = "set CXX to a compiler of the system, or to one in a folder of its own"
    return foreign_folder(path.parents[1], f"the compiler {path} is there: {hint}")


def foreign_folder(folder: Path, hint: str) -> Dict[str, Path]:
    """Return a folder that programs may see, by its place; nothing for one that is the system's.

    Raises SandboxUnavailable with the hint if they would see a home folder with it.
    """
    folder, home = folder.resolve(), Path.home().resolve()
    if _is_of_system(folder):
        return {}
    if folder in (home, *home.parents, _OPERATORS_OWN):
        raise SandboxUnavailable(f"programs would see all files in {folder}: {hint}")
    return {str(folder): folder}


def _is_of_system(path: Path) -> bool:
    """Return whether programs see a path, because it belongs to the system."""
    parents = (path, *path.parents)
    return Path("/usr") in parents and _OPERATORS_OWN not in parents


def _limited(view: SandboxView) -> Dict[str, int]:
    """Return the writable file systems, by their places, with their sizes in bytes."""
    more = {SHARED_MEMORY: SHARED_BYTES} if view.devices.nodes else {}
    return {**view.writable, **more}


def _mounts(view: SandboxView) -> List[str]:
    options = [*_system_view(), "--dev", "/dev"]
    for place, source in view.devices.nodes.items():
        options += ["--dev-bind", str(source), place]
    for place, source in view.disks.items():
        options += ["--bind", str(source), place]
    writable = _limited(view)
    for place, size in writable.items():
        options += ["--size", str(size), "--perms", "1777", "--tmpfs", place]
    folders = {**view.folders, **view.devices.files}
    bwrap = Path(shutil.which("bwrap") or "/usr/bin/bwrap").resolve()
    if not _is_of_system(bwrap):
        folders[str(bwrap)] = bwrap
    # After these, because a folder may be in /tmp. Its parents would else be closed to others.
    parents = {parent for place in folders for parent in Path(place).parents}
    for parent in sorted(parents - {Path("/"), Path("/usr"), *map(Path, writable)}):
        options += ["--perms", "0755", "--dir", str(parent)]
    for place, folder in folders.items():
        options += ["--ro-bind", str(folder), place]
    return options


def _system_view() -> List[str]:
    options = ["--perms", "0755", "--dir", "/usr", "--perms", "0755", "--dir", "/etc"]
    names = [f"/usr/{name}" for name in sorted(os.listdir("/usr"))]
    for name in (*names, *_SYSTEM):
        if os.path.islink(name):
            options += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name) and Path(name) != _OPERATORS_OWN:
            options += ["--ro-bind", name, name]
    for name in _FILES:
        options += ["--ro-bind-try", name, name]
    return options
