"""The command line of bubblewrap: what a sandboxed process sees of this machine.

It has its own user, process, network, IPC and mount namespaces. It sees the system's programs and
libraries and a few folders read-only, and writes only to file systems in memory that have a limit.
An agent that runs as root gives its programs a user id that owns nothing: the kernel does not limit
the processes of root.
"""

from __future__ import annotations

import os
import shutil
import subprocess  # runs bubblewrap
from pathlib import Path
from typing import Dict, List, Mapping, Sequence

from ipulse_core.sandbox.device_access import (
    NO_DEVICES,
    SHARED_BYTES,
    SHARED_MEMORY,
    DeviceAccess,
)
from ipulse_core.sandbox.system_calls import filter_descriptor
from ipulse_core.sandbox.unavailable import SandboxUnavailable

VARIABLE = "IPULSE_SANDBOX"  # bubblewrap, or `none`: the operator wants no sandbox
CONFINED = "IPULSE_CONFINED"  # set in a sandbox in which a whole training runs
_FIRST_USER, _USERS = 61184, 4096  # where systemd takes the ids of services without users
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib64", "/lib32")
_FILES = ("/etc/ld.so.cache", "/etc/alternatives")  # for the linker, and the name of the compiler
_PROBE_SECONDS = 20.0
# These are file systems in memory without a limit; bubblewrap itself must write to them first.
_CLOSE = ("--remount-ro", "/dev", "--remount-ro", "/")


def is_switched_off(environment: Mapping[str, str]) -> bool:
    """Return whether the operator wants no sandbox."""
    return environment.get(VARIABLE) == "none"


def require_bubblewrap() -> None:
    """Raise SandboxUnavailable unless bubblewrap works on this machine."""
    wanted = f"install it (Debian: apt-get install bubblewrap), or set {VARIABLE}=none on a worker"
    for program in ("bwrap", "prlimit", "setpriv"):
        if shutil.which(program) is None:
            raise SandboxUnavailable(
                f"programs run in a sandbox, and {program} is missing: {wanted} whose users you "
                "trust with its files and its network"
            )
    try:
        with filter_descriptor() as calls:
            command = sandbox_command({}, {"/tmp": 2**20}, {}, "/tmp", calls)  # noqa: S108 (its own)
            done = subprocess.run(  # noqa: S603 (a fixed command)
                [*command, "true"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_PROBE_SECONDS,
                pass_fds=[calls],
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise SandboxUnavailable("bubblewrap does not answer on this worker") from error
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip().split("\n")[0][:300]
        raise SandboxUnavailable(
            f"bubblewrap cannot make a sandbox here ({said}); in a container it needs the right "
            f"to create user namespaces. {VARIABLE}=none runs programs without a sandbox"
        )


def sandbox_command(
    folders: Mapping[str, Path],
    writable: Mapping[str, int],
    environment: Mapping[str, str],
    directory: str,
    calls: int,
    devices: DeviceAccess = NO_DEVICES,
) -> List[str]:
    """Return the beginning of a command that runs the rest of it in a sandbox.

    Args:
        folders: read-only folders by their places in the sandbox.
        writable: places of empty file systems in memory, with their sizes in bytes.
        environment: the only variables.
        directory: where the command starts.
        calls: the descriptor of the filter of system calls.
        devices: what it gets of the devices of this machine.
    """
    common = ["--die-with-parent", "--new-session", "--unshare-ipc"]
    common += [] if devices.has_network else ["--unshare-net"]
    common += ["--unshare-uts", "--unshare-cgroup-try", "--seccomp", str(calls)]
    view = [*_system_view(), "--dev", "/dev"]
    for place, source in devices.nodes.items():
        view += ["--dev-bind", str(source), place]
    folders = {**folders, **devices.files}
    if devices.nodes:
        writable = {**writable, SHARED_MEMORY: SHARED_BYTES}
    for place, size in writable.items():
        view += ["--size", str(size), "--perms", "1777", "--tmpfs", place]
    # After these, because a folder may be in /tmp. Its parents would else be closed to others.
    parents = {parent for place in folders for parent in Path(place).parents}
    for parent in sorted(parents - {Path("/"), Path("/usr"), *map(Path, writable)}):
        view += ["--perms", "0755", "--dir", str(parent)]
    for place, folder in folders.items():
        view += ["--ro-bind", str(folder), place]
    view += ["--chdir", directory, "--clearenv"]
    for name, value in environment.items():
        view += ["--setenv", name, value]
    own = ["--unshare-user", "--unshare-pid", "--disable-userns", "--cap-drop", "ALL"]
    if os.geteuid() != 0:
        return ["bwrap", *common, *own, *view, "--proc", "/proc", *_CLOSE, "--"]
    # Root makes the view, because only it may read the folders; then its rights are dropped. Until
    # the inner bubblewrap mounts its own, /proc must be writable for the maps of its user ids.
    identity = str(_FIRST_USER + os.getpid() % _USERS)
    drop = ["setpriv", f"--reuid={identity}", f"--regid={identity}", "--clear-groups"]
    drop += ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--pdeathsig=KILL"]
    inner = ["bwrap", "--die-with-parent", *own, "--dev-bind", "/", "/", "--proc", "/proc"]
    outer = ["bwrap", *common, *view, "--bind", "/proc", "/proc", *_CLOSE, "--"]
    return [*outer, *drop, *inner, "--chdir", directory, "--"]


def compiler_folders(command: Sequence[str]) -> Dict[str, Path]:
    """Return the folder of a compiler that is not the system's.

    Raises SandboxUnavailable if programs would see a home folder with it.
    """
    found = shutil.which(command[0])
    path = Path(found or "/usr/bin/c++").resolve()
    if path.parts[1] in ("usr", "bin"):
        return {}
    hint = "set CXX to a compiler of the system, or to one in a folder of its own"
    return foreign_folder(path.parents[1], f"the compiler {path} is there: {hint}")


def foreign_folder(folder: Path, hint: str) -> Dict[str, Path]:
    """Return a folder that programs may see, by its place; nothing for one that is the system's.

    Raises SandboxUnavailable with the hint if they would see a home folder with it.
    """
    folder, home = folder.resolve(), Path.home().resolve()
    if len(folder.parts) > 1 and folder.parts[1] == "usr":
        return {}
    if folder in (home, *home.parents):
        raise SandboxUnavailable(f"programs would see all files in {folder}: {hint}")
    return {str(folder): folder}


def _system_view() -> List[str]:
    view = ["--ro-bind", "/usr", "/usr", "--perms", "0755", "--dir", "/etc"]
    for name in _SYSTEM:
        if os.path.islink(name):
            view += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            view += ["--ro-bind", name, name]
    for name in _FILES:
        view += ["--ro-bind-try", name, name]
    return view
