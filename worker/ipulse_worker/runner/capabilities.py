"""Says what software this machine has for jobs: one line of JSON, for the agent.

The process checks what it says: it compiles a file. With `--import` it imports the packages, which
takes seconds; without, it looks whether they are installed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Callable, Dict

from ipulse_core.build_cache.toolchain import NativeError, compiler, run_compiler
from ipulse_core.capabilities import (
    COMPILER,
    CORES,
    H5PY,
    IPU_TENSORFLOW,
    KERNELS,
    MEMORY_BYTES,
    NIR,
    SCIKIT_LEARN,
    Capability,
)
from ipulse_core.errors import Unavailable
from ipulse_ops.lif.cpu.native import is_tensorflow_op_built

SOURCE = '#include <cstdint>\nextern "C" std::int64_t one() { return 1; }\n'
MODULES = {
    NIR: "nir",
    H5PY: "h5py",
    SCIKIT_LEARN: "sklearn.datasets",
    IPU_TENSORFLOW: "ipu_tensorflow_emulator",
}
IMPORT = "--import"
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Missing(Unavailable):
    """This machine lacks something; the message says why."""


def main() -> None:
    """Print the capabilities of this machine, and why each that is missing is."""
    checks: Dict[str, Callable[[], Capability]] = {
        COMPILER: _compiler,
        KERNELS: _kernels,
        **{name: _importable(module) for name, module in MODULES.items()},
    }
    found: Dict[str, Capability] = {
        CORES: len(os.sched_getaffinity(0)),
        MEMORY_BYTES: _memory_bytes(),
    }
    missing: Dict[str, str] = {}
    for name, check in checks.items():
        try:
            found[name] = check()
        except (Unavailable, NativeError, OSError) as error:
            found[name] = False
            missing[name] = str(error)
    sys.stdout.write(json.dumps({"capabilities": found, "missing": missing}) + "\n")


def _compiler() -> Capability:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "one.cc"
        source.write_text(SOURCE, "utf-8")
        flags = ("-std=c++17", "-shared", "-fPIC", str(source), "-o", f"{folder}/one.so")
        run_compiler([*compiler(), *flags])
    return True


def _kernels() -> Capability:
    try:
        return _compiler()
    except NativeError as error:
        with suppress(NativeError, ImportError):  # importing TensorFlow takes seconds
            if is_tensorflow_op_built():
                return True
        raise Missing(f"they are not built, and cannot be: {error}") from error


def _importable(module: str) -> Callable[[], Capability]:
    def check() -> Capability:
        package = module.partition(".")[0]
        if find_spec(package) is None:
            raise Missing("it is not installed")
        try:
            if IMPORT in sys.argv[1:]:
                import_module(module)
        except Exception as error:
            raise Missing(f"it cannot be imported: {error}") from error
        return True

    return check


def _memory_bytes() -> int:
    """Return the memory of this machine, or of the container in which it runs."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # another version, or `max`
            found.append(int(Path(path).read_text("ascii")))
    return min(found)


if __name__ == "__main__":
    main()
