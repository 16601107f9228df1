"""Builds the C++ kernels and the TensorFlow op on first use, and loads them.

What is built lies under `$IPULSE_CACHE`, else `~/.cache/ipulse`, in a directory named after the
hashes of everything it was built from: sources, flags and TensorFlow, then the compiler. It is
built under another name and renamed when complete, by one process at a time. Where there is no
compiler, as in a container, what another machine built from the same sources is used.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import subprocess  # runs the compiler
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

SOURCES = Path(__file__).resolve().parent
Progress = Callable[[str], None]

# -ffp-contract=off: products and sums of the forward pass are rounded one by one, so that every
# instruction set gives the same bits (lif.h). Where a fused multiply-add is wanted, it is written.
COMMON_FLAGS = (
    *("-O3", "-fPIC", "-pthread", "-fvisibility=hidden", "-ffp-contract=off"),
    *("-Wall", "-Wextra", "-Werror"),
)
AVX2_FLAGS = ("-mavx2", "-mfma", "-mbmi2", "-mpopcnt")
# Flags by the end of a file's name: what a kernel may use that dispatch has asked for.
ARCH_FLAGS: Dict[str, Tuple[str, ...]] = {
    "_avx2": AVX2_FLAGS,
    "_avx512": (*AVX2_FLAGS, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"),
}
COMPILERS = ("c++", "g++", "clang++")
COMPILER_FILE = "compiler.txt"  # beside each library: what its compiler said of its version


class NativeError(RuntimeError):
    """The kernels cannot be built or loaded."""

    code = "native"


class MissingCompiler(NativeError):
    """No C++ compiler was found."""

    code = "missing_compiler"


class BuildFailed(NativeError):
    """The compiler refused the sources."""

    code = "build_failed"


def cache_directory() -> Path:
    """Where builds lie: `$IPULSE_CACHE`, else `~/.cache/ipulse`."""
    named = os.environ.get("IPULSE_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "ipulse"


def compiler() -> Tuple[str, ...]:
    """The command of the C++ compiler: `$CXX`, which may carry arguments, else the first of c++,
    g++ and clang++ on PATH.

    Raises MissingCompiler.
    """
    named = os.environ.get("CXX")
    if named:
        command = tuple(shlex.split(named))
        if command and shutil.which(command[0]):
            return command
        raise MissingCompiler(f"CXX is {named!r}, which is no command; unset it or correct it")
    for name in COMPILERS:
        if shutil.which(name):
            return (name,)
    raise MissingCompiler(
        f"the CPU kernels need a C++17 compiler and none of {', '.join(COMPILERS)} is on PATH; "
        "install one (Debian: apt-get install g++) or set CXX to its path"
    )


def build_kernels(progress: Optional[Progress] = None) -> Path:
    """The path of liblif.so, built if it is not in the cache.

    progress: called with one line before a build and one after it.
    Raises MissingCompiler, BuildFailed.
    """
    sources = [path for path in sorted(SOURCES.glob("*.cc")) if path.stem != "tensorflow_op"]
    return _cached("kernels", "liblif.so", sources, ("-std=c++17",), (), progress)


def build_tensorflow_op(progress: Optional[Progress] = None) -> Path:
    """The path of the TensorFlow op library, built if it is not in the cache.

    It is built for the installed TensorFlow and finds liblif.so beside its own directory.
    Raises MissingCompiler, BuildFailed; ImportError without TensorFlow.
    """
    import tensorflow as tf

    kernels = build_kernels(progress)
    compile_flags: List[str] = tf.sysconfig.get_compile_flags()
    # Older releases name no standard and were built as C++14.
    named = any(flag.lstrip("-").startswith("std=") for flag in compile_flags)
    # As system headers, TensorFlow's own warnings are none of ours.
    includes = [flag.replace("-I", "-isystem", 1) for flag in compile_flags]
    flags = (*(() if named else ("-std=c++14",)), *includes)
    link = (
        *tf.sysconfig.get_link_flags(),
        f"-L{kernels.parent}",
        "-llif",
        f"-Wl,-rpath,$ORIGIN/../{kernels.parent.name}",
    )
    sources = [SOURCES / "tensorflow_op.cc"]
    name = f"tensorflow-{tf.__version__}"
    return _cached(name, "libliftf.so", sources, flags, link, progress)


@lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """liblif.so with the types of its functions declared; built if need be.

    Raises MissingCompiler, BuildFailed.
    """
    lib = ctypes.CDLL(str(build_kernels()))
    lib.lif_bits_words.restype = ctypes.c_size_t
    lib.lif_timings.restype = Timings
    lib.lif_supported_arch.restype = ctypes.c_uint64
    lib.lif_kernel_name.restype = ctypes.c_char_p
    lib.lif_kernel_name.argtypes = [ctypes.c_uint64]
    lib.lif_kernel_at.restype = ctypes.c_char_p
    lib.lif_kernel_at.argtypes = [ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64)]
    return lib


class Timings(ctypes.Structure):
    """LifTimings of lif.h."""

    _fields_ = (
        ("forward_seconds", ctypes.c_double),
        ("backward_seconds", ctypes.c_double),
        ("forward_calls", ctypes.c_int64),
        ("backward_calls", ctypes.c_int64),
    )


def built_by() -> str:
    """The version line of the compiler that built liblif.so, which need not be here any more.

    Raises MissingCompiler, BuildFailed.
    """
    return (build_kernels().parent / COMPILER_FILE).read_text("utf-8").splitlines()[0]


def timings() -> Dict[str, float]:
    """Seconds in the kernels and calls of them, by this process since it loaded them or since
    `reset_timings`: forward, backward, forward_calls, backward_calls."""
    now = library().lif_timings()
    return {
        "forward": now.forward_seconds,
        "backward": now.backward_seconds,
        "forward_calls": now.forward_calls,
        "backward_calls": now.backward_calls,
    }


def reset_timings() -> None:
    """Start `timings` again from zero."""
    library().lif_reset_timings()


def description(arch: Optional[int] = None, threads: int = 0) -> Dict[str, Any]:
    """What a call runs on: kernel (its name), cpu_mask, threads.

    arch: the CPU features it may use, None for all of this machine's.
    threads: as passed to the op; 0 becomes the number that it stands for.
    """
    lib = library()
    mask = supported_arch() if arch is None else arch & supported_arch()
    return {
        "kernel": lib.lif_kernel_name(mask).decode(),
        "cpu_mask": mask,
        "threads": threads or lib.lif_default_threads(),
    }


def supported_arch() -> int:
    """The CPU features of this machine that the kernels know, as the mask of arch.h."""
    return int(library().lif_supported_arch())


def kernels() -> Dict[str, int]:
    """Every kernel in kernels.inc and the CPU features it needs, whether or not they are here."""
    lib = library()
    found: Dict[str, int] = {}
    for index in range(lib.lif_kernel_count()):
        arch = ctypes.c_uint64()
        name = lib.lif_kernel_at(index, ctypes.byref(arch)).decode()
        found[name] = arch.value
    return found


def _cached(
    name: str,
    file: str,
    sources: Sequence[Path],
    flags: Sequence[str],
    link: Sequence[str],
    progress: Optional[Progress],
) -> Path:
    made_from = _hash(sources, (*flags, *link))
    try:
        command = compiler()
    except MissingCompiler:
        for built in sorted(cache_directory().glob(f"{name}-{made_from}-*/{file}")):
            return built
        raise
    version = _run([*command, "--version"])
    made_by = hashlib.sha256(repr((command, version)).encode()).hexdigest()[:16]
    directory = cache_directory() / f"{name}-{made_from}-{made_by}"
    built = directory / file
    if built.exists():
        return built
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _locked(directory.with_suffix(".lock")):
        if built.exists():  # by another process, while this one waited
            return built
        say = progress or (lambda line: None)
        say(f"building {file} with {' '.join(command)} (once; kept in {directory})")
        start = time.monotonic()
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f"{name}-") as scratch:
            complete = Path(scratch) / "complete"
            complete.mkdir()
            _build(command, sources, flags, link, complete / file, Path(scratch))
            (complete / COMPILER_FILE).write_text(version, "utf-8")
            shutil.rmtree(directory, ignore_errors=True)  # of a crash between mkdir and rename
            complete.rename(directory)
        say(f"built {file} in {time.monotonic() - start:.1f} s")
    return built


def _hash(sources: Sequence[Path], flags: Sequence[str]) -> str:
    digest = hashlib.sha256()
    headers = [path for path in sorted(SOURCES.iterdir()) if path.suffix in (".h", ".inc")]
    for path in (*headers, *sources):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(repr((platform.machine(), COMMON_FLAGS, ARCH_FLAGS, *flags)).encode())
    return digest.hexdigest()[:16]


def _build(
    command: Sequence[str],
    sources: Sequence[Path],
    flags: Sequence[str],
    link: Sequence[str],
    target: Path,
    scratch: Path,
) -> None:
    def compile_one(source: Path) -> str:
        arch = next((ARCH_FLAGS[end] for end in ARCH_FLAGS if source.stem.endswith(end)), ())
        if arch and platform.machine() != "x86_64":
            arch = ()  # the file is empty there
        out = str(scratch / f"{source.stem}.o")
        _run([*command, *flags, *COMMON_FLAGS, *arch, "-c", str(source), "-o", out])
        return out

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(pool.map(compile_one, sources))
    _run([*command, "-shared", "-pthread", "-o", str(target), *objects, *link])


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(  # noqa: S603 (the user's own compiler, without a shell)
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    output = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        lines = output.splitlines()
        first = next((i for i, line in enumerate(lines) if "error" in line), 0)
        raise BuildFailed(
            f"{command[0]} failed; it must be a C++17 compiler that works (another can be named "
            "in CXX). Its first words:\n" + "\n".join(lines[first : first + 8])
        )
    return output


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, also by a crash
        yield
