"""Describe the machine that is measured, and how busy other programs keep it meanwhile."""

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

from benchmarks.common.core_latency import are_far_apart, core_latency_ns

_PROC = Path("/proc")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
# The processor's flags that decide which kernels and matrix products it can run.
_FEATURES = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16", "asimd", "sve")

QUIET = 0.15  # CPUs that other programs may use before a measurement waits for a quieter moment

_BLOCK = bytes(2**20)
_fastest: dict[int, float] = {}  # per CPU: the fewest seconds that hashing a block took


def description() -> dict[str, Any]:
    """Return processor, caches, memory, system and compiler, without the machine's name."""
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
        "features": [flag for flag in _FEATURES if flag in flags],
        "caches": _cache_sizes(),
        "memory_gib": round(int(memory) / 2**20, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "compiler": f"c++ {compiler.stdout.strip()}",
    }


def summary_line() -> str:
    """Return the description in one line, for the head of a table."""
    machine = description()
    virtual = " (virtual)" if machine["virtual"] else ""
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    return (
        f"{machine['cores']} cores of {machine['processor']}{virtual}; {caches}; "
        f"{machine['memory_gib']:.0f} GiB; {machine['system']}, Python {machine['python']}, "
        f"{machine['compiler']}"
    )


def _cache_sizes() -> dict[str, str]:
    """Return the sizes of the data caches by level."""
    sizes = {}
    for cache in sorted(_CACHES.glob("index*")):
        if (cache / "type").read_text().strip() != "Instruction":
            level = (cache / "level").read_text().strip()
            sizes[f"L{level}"] = (cache / "size").read_text().strip()
    return sizes


@dataclass(frozen=True)
class MachineLoad:
    """CPU time that everything except the measured processes has used up to one moment."""

    cpu_seconds: float  # other processes, and other guests as far as the host reports them
    clock: float
    preempted: float  # CPUs lost at that moment to guests that the host does not report
    latency_ns: float  # core-to-core latency at that moment

    @staticmethod
    def now(measured: Iterable[int]) -> MachineLoad:
        """Sample the load without this process, the processes `measured` and their children."""
        preempted, latency = preempted_cpus(), core_latency_ns()
        ticks = os.sysconf("SC_CLK_TCK")
        fields = (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]
        busy = sum(map(int, fields)) - int(fields[3]) - int(fields[4])  # without idle and iowait
        for pid in {os.getpid(), *measured}:
            times = (_PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
            busy -= sum(map(int, times[11:15]))
        return MachineLoad(busy / ticks, time.monotonic(), preempted, latency)

    def background_cpus(self, later: MachineLoad) -> float:
        """Return how many CPUs other programs used on average until `later`."""
        seconds = later.clock - self.clock
        return max(0.0, (later.cpu_seconds - self.cpu_seconds) / seconds) if seconds > 0 else 0.0

    def preempted_cpus(self, later: MachineLoad) -> float:
        """Return how many CPUs unreported guests took, averaged over both moments."""
        return (self.preempted + later.preempted) / 2

    def worst_latency_ns(self, later: MachineLoad) -> float:
        """Return the larger core-to-core latency of both moments."""
        return max(self.latency_ns, later.latency_ns)


def preempted_cpus() -> float:
    """Return how many CPUs are unavailable now, from the time SHA-256 of a block takes on each.

    A guest on the other hyperthread of a core takes up to half of it, which no system counter
    shows. Each CPU is compared with the fastest time this process has seen on it.
    """
    cpus = os.sched_getaffinity(0)
    missing = 0.0
    try:
        for cpu in cpus:
            os.sched_setaffinity(0, {cpu})
            seconds = min(_seconds_per_block() for _ in range(3))
            _fastest[cpu] = min(seconds, _fastest.get(cpu, seconds))
            missing += 1 - _fastest[cpu] / seconds
    finally:
        os.sched_setaffinity(0, cpus)
    return missing


def await_quiet(seconds: float) -> float:
    """Wait at most `seconds` until the CPUs are free and share a cache; return the time waited."""
    begin = time.monotonic()
    while (waited := time.monotonic() - begin) < seconds and (
        preempted_cpus() > QUIET or are_far_apart()
    ):
        time.sleep(min(1.0, seconds - waited))
    return time.monotonic() - begin


def _seconds_per_block() -> float:
    begin = time.perf_counter()
    hashlib.sha256(_BLOCK)
    return time.perf_counter() - begin
