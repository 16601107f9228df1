"""The processes of a sandbox as the machine shows them: their memory, threads and sockets."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Dict, Iterable, List

_SOCKET_BYTES = 212_992  # most that waits in a socket, as kernels have it by default


def tree_of(root: int) -> List[int]:
    """Return the ids of a process and its descendants."""
    parents: Dict[int, List[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                parents.setdefault(int(fields[1]), []).append(int(name))
    tree = [root]
    for pid in tree:
        tree += parents.get(pid, [])
    return tree


def kill_tree(root: int) -> None:
    """Kill a process and its descendants, those too that it makes meanwhile.

    They are stopped before, each in front of its children: one that was made after the list of
    processes was read would lose its parent, and could not be found any more.
    """
    stopped: List[int] = []
    while True:
        found = [pid for pid in tree_of(root) if pid not in stopped]
        if not found:
            break
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        stopped += found
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def threads_of(processes: Iterable[int]) -> int:
    """Return the number of all threads."""
    count = 0
    for pid in processes:
        with suppress(OSError):
            count += len(os.listdir(f"/proc/{pid}/task"))
    return count


def memory_of(processes: List[int], enough: int) -> int:
    """Return the anonymous and shared memory of processes, and that of their sockets, in bytes.

    Each page counts once, however many processes have it, if the memory is more than `enough`:
    below that the sum of all, which is found faster, is an upper bound.
    """
    sockets = _sockets_of(processes) * _SOCKET_BYTES
    total = sum(_of_living_thread(pid, "status", (b"RssAnon:", b"RssShmem:")) for pid in processes)
    if total + sockets > enough:
        fields = (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")
        shared = [_of_living_thread(pid, "smaps_rollup", fields) for pid in processes]
        total = min(total, sum(shared)) if any(shared) else total
    return total + sockets


def _of_living_thread(pid: int, name: str, fields: Iterable[bytes]) -> int:
    """Return a sum of fields in bytes, from a thread that lives: the first one may have ended."""
    first = str(pid)
    with suppress(OSError):
        others = [thread for thread in os.listdir(f"/proc/{pid}/task") if thread != first]
        for thread in (first, *others):
            found = _sum_of(f"/proc/{pid}/task/{thread}/{name}", tuple(fields))
            if found:
                return found
    return 0


def _sum_of(path: str, fields: Iterable[bytes]) -> int:
    total = 0
    with suppress(OSError, ValueError), open(path, "rb") as file:
        for line in file:
            if line.startswith(tuple(fields)):
                total += int(line.split()[1]) * 1024
    return total


def _sockets_of(processes: Iterable[int]) -> int:
    """Return the number of sockets in the networks of processes that are not this one's."""
    own = _network_of("self")
    networks: Dict[str, int] = {}
    for pid in processes:
        network = _network_of(str(pid))
        if network and network != own and network not in networks:
            networks[network] = pid
    count = 0
    for pid in networks.values():
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/net/sockstat") as file:
            count += int(file.readline().split()[2])
    return count


def _network_of(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""
