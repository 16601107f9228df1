"""The machine that was measured, without what names it, and what else it was doing."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.exchange import are_far, exchange_ns

_PROC = Path("/proc")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
# Of the processor's flags those that decide what a kernel or a matrix product may use.
_TOLD = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16", "asimd", "sve")


def description() -> dict[str, Any]:
    """Processor, caches, memory, system and compiler."""
    fields: dict[str, str] = {}
    for line in (_PROC / "cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = fields.get("flags", fields.get("Features", "")).split()
    memory = (_PROC / "meminfo").read_text().split("\n", 1)[0].split()[1]
    compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True)
    return {
        "processor": fields.get("model name", platform.machine()),
        "virtual": "hypervisor" in flags,
        "cores": len(os.sched_getaffinity(0)),
        "features": [flag for flag in _TOLD if flag in flags],
        "caches": _caches(),
        "memory_gib": round(int(memory) / 2**20, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "compiler": f"c++ {compiler.stdout.strip()}",
    }


def is_this(told: dict[str, Any]) -> bool:
    """Whether a description may be of this machine: figures of two do not stand side by side."""
    here = description()
    hardware = ("processor", "virtual", "cores", "features", "caches")
    return all(told.get(name) == here[name] for name in hardware)


def _caches() -> dict[str, str]:
    """Sizes by name, L1 for data."""
    found = {}
    for cache in sorted(_CACHES.glob("index*")):
        kind = (cache / "type").read_text().strip()
        if kind != "Instruction":
            found["L" + (cache / "level").read_text().strip()] = (
                (cache / "size").read_text().strip()
            )
    return found


QUIET = 0.15  # processors that others may take before a figure waits for a better moment

_BLOCK = bytes(2**20)
_fastest: dict[int, float] = {}  # of each processor, the fewest seconds that a block took


@dataclass(frozen=True)
class Load:
    """What everything on the machine but some processes has used until a moment."""

    seconds: float  # of processors, by other processes and by other guests that the host tells of
    clock: float
    lost: float  # of processors at that moment, by guests that it does not tell of: see `lost`
    exchange_ns: float  # at that moment: see benchmarks.exchange

    @staticmethod
    def now(own: Iterable[int]) -> Load:
        """Without this process, the processes `own` and the ended children of them all."""
        gone, exchange = lost(), exchange_ns()
        ticks = os.sysconf("SC_CLK_TCK")
        fields = (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]
        busy = sum(map(int, fields)) - int(fields[3]) - int(fields[4])  # less idle and iowait
        for pid in {os.getpid(), *own}:
            times = (_PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
            busy -= sum(map(int, times[11:15]))
        return Load(busy / ticks, time.monotonic(), gone, exchange)

    def until(self, later: Load) -> float:
        """Processors that other processes, or other guests of the host, used on average."""
        passed = later.clock - self.clock
        return max(0.0, (later.seconds - self.seconds) / passed) if passed > 0 else 0.0

    def lost_until(self, later: Load) -> float:
        """Processors that were lost besides, by the average of then and now."""
        return (self.lost + later.lost) / 2

    def exchange_ns_until(self, later: Load) -> float:
        """How far apart the processors were, at worst of then and now."""
        return max(self.exchange_ns, later.exchange_ns)


def lost() -> float:
    """How many of the processors are not to be had, by what SHA-256 of a block takes on each.

    A guest on the other hyperthread of a core takes up to half of it, and no count of the system
    shows that. Each processor is held against the best that this process has seen of it.
    """
    processors = os.sched_getaffinity(0)
    gone = 0.0
    try:
        for processor in processors:
            os.sched_setaffinity(0, {processor})
            taken = min(_seconds_of_a_block() for _ in range(3))
            _fastest[processor] = min(taken, _fastest.get(processor, taken))
            gone += 1 - _fastest[processor] / taken
    finally:
        os.sched_setaffinity(0, processors)
    return gone


def await_quiet(seconds: float) -> float:
    """Waits for that long at most, until nobody takes much of the processors and they are near each
    other; returns how long."""
    begin = time.monotonic()
    while (waited := time.monotonic() - begin) < seconds and (lost() > QUIET or are_far()):
        time.sleep(min(1.0, seconds - waited))
    return time.monotonic() - begin


def _seconds_of_a_block() -> float:
    begin = time.perf_counter()
    hashlib.sha256(_BLOCK)
    return time.perf_counter() - begin
