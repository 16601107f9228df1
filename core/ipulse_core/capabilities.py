"""The capabilities that workers announce and jobs need: names, units, amounts that are enough."""

from __future__ import annotations

from typing import FrozenSet, Mapping, Union

from ipulse_core.states import Reason

COMPILER = "compiler"  # a C++17 compiler: for equations, packages, custom ops, programs, tiles
KERNELS = "kernels"  # the kernels of the CPU, built or to be built
SANDBOX = "sandbox"  # for code of users: the name of its driver, `off`, or false
NIR = "nir"
H5PY = "h5py"
SCIKIT_LEARN = "scikit-learn"
IPU_TENSORFLOW = "ipu-tensorflow-emulator"  # for scripts

CORES = "cores"
MEMORY_BYTES = "memory_bytes"
DISK_BYTES = "disk_bytes"  # free in the work directory while no attempt runs
INODES = "inodes"  # likewise
DISK_TOTAL_BYTES = "disk_total_bytes"  # of the disk of the work directory
INODES_TOTAL = "inodes_total"

Capability = Union[bool, int, str]

# What a job may need of a worker's software, with the remedy where a worker lacks it.
FIXES: Mapping[str, str] = {
    COMPILER: "install a C++17 compiler on the worker (Debian: apt-get install g++)",
    KERNELS: "install a C++17 compiler on the worker (Debian: apt-get install g++)",
    SANDBOX: "install bubblewrap on the worker (Debian: apt-get install bubblewrap)",
    NIR: "install nir into the runner's environment (pip install nir)",
    H5PY: "install h5py into the runner's environment (pip install h5py)",
    SCIKIT_LEARN: "install scikit-learn into the runner's environment (pip install scikit-learn)",
    IPU_TENSORFLOW: "install ipu-tensorflow-emulator into the runner's environment",
}
TEXTS: Mapping[str, str] = {
    COMPILER: "a C++ compiler",
    KERNELS: "the kernels of the CPU",
    SANDBOX: "a sandbox for code of users",
    NIR: "the Python package nir",
    H5PY: "the Python package h5py",
    SCIKIT_LEARN: "the Python package scikit-learn",
    IPU_TENSORFLOW: "the Python package ipu-tensorflow-emulator",
}
# What a worker seems to lack after an attempt that ended so, and has to check again.
LACKED: Mapping[Reason, FrozenSet[str]] = {
    Reason.KERNEL_UNAVAILABLE: frozenset({COMPILER, KERNELS}),
    Reason.SANDBOX_UNAVAILABLE: frozenset({SANDBOX}),
    Reason.LIBRARY_UNAVAILABLE: frozenset({NIR, H5PY, SCIKIT_LEARN, IPU_TENSORFLOW}),
    Reason.PACKAGE_UNAVAILABLE: frozenset(),  # packages of neurons, which are announced by name
}

AMOUNTS = (CORES, MEMORY_BYTES, DISK_BYTES, INODES, DISK_TOTAL_BYTES, INODES_TOTAL)

# The totals of what may become free, by what is free.
TOTALS: Mapping[str, str] = {DISK_BYTES: DISK_TOTAL_BYTES, INODES: INODES_TOTAL}
UNITS: Mapping[str, str] = {DISK_BYTES: "bytes of free disk", INODES: "free inodes"}


def is_more(amount: int, tried: int) -> bool:
    """Return whether an amount is notably more than one that was not enough for a job.

    The disk of a worker never has the same number of free bytes twice.
    """
    return amount > tried + tried // 16
