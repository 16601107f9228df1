"""Builds a custom op in the sandbox, once per package and compiler, into the build cache.

The cache is written by this process alone: what compiles in the sandbox returns files, and the code
of an op sees only the build of its own package, read-only.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import IO, Callable, List, NamedTuple, Optional

from ipulse_core.build_cache.build_once import Steps, build_once
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.op_builds import OpBuilds, hold, limits_of_op_builds
from ipulse_core.build_cache.progress import ProgressCallback
from ipulse_core.build_cache.toolchain import compiler, version_of
from ipulse_core.build_cache.unused_builds import mark_used
from ipulse_core.op_manifest.manifest import OpManifest
from ipulse_core.sandbox.sandbox import Sandbox
from ipulse_core.spec.custom_ops import OpReference
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code.compilation import PACKAGE, FirstError, compile_in_sandbox
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.tools import ProgramTools
from poplar_emulator.op_project.project import (
    KERNEL_FLAGS,
    LIBRARY_FLAGS,
    codelets_command,
    kernel_command,
    library_command,
)

KERNEL, LIBRARY, CODELETS = "kernel.so", "library.so", "codelets.gp"
_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


class HeldBuild(NamedTuple):
    """A build that stays in the cache until `lock` is closed."""

    path: Path
    lock: Optional[IO[str]]


def build_kernel(
    sandbox: Sandbox,
    reference: OpReference,
    manifest: OpManifest,
    errors: FirstError,
    report: ProgressCallback,
) -> HeldBuild:
    """Return the folder with the kernel of an op, built unless it is cached.

    Raises ProgramFailure with the compiler's first error, and what the sandbox raises.
    """

    def make(complete: Path, scratch: Path, steps: Steps) -> None:
        steps.begin(1)
        command = kernel_command(manifest, sandbox.place(PACKAGE), KERNEL)
        what = ", ".join(manifest.kernel)
        compile_in_sandbox(sandbox, command, _ENVIRONMENT, complete, what, errors)
        _require(complete / KERNEL)

    return _built("kernel", reference, [*KERNEL_FLAGS], KERNEL, make, report)


def build_poplar(
    sandbox: Sandbox,
    reference: OpReference,
    manifest: OpManifest,
    tools: ProgramTools,
    made_with: str,
    errors: FirstError,
    report: ProgressCallback,
) -> HeldBuild:
    """Return the folder with the library and the codelets of an op.

    tools: of the emulator or of an SDK, which the sandbox shows at the same places.
    made_with: the version of the tools, for which the build is cached.
    Raises what `build_kernel` raises.
    """

    def make(complete: Path, scratch: Path, steps: Steps) -> None:
        steps.begin(1)
        package, environment = sandbox.place(PACKAGE), tools.environment
        if manifest.codelets:
            command = codelets_command(manifest, package, tools.popc, CODELETS)
            what = ", ".join(manifest.codelets)
            compile_in_sandbox(sandbox, command, environment, complete, what, errors)
            _require(complete / CODELETS)
        command = library_command(manifest, package, tools.flags, LIBRARY)
        what = ", ".join(manifest.sources)
        compile_in_sandbox(sandbox, command, environment, complete, what, errors)
        _require(complete / LIBRARY)

    return _built("poplar", reference, [*LIBRARY_FLAGS, made_with], LIBRARY, make, report)


def _built(
    part: str,
    reference: OpReference,
    flags: List[str],
    main_file: str,
    make: Callable[[Path, Path, Steps], None],
    report: ProgressCallback,
) -> HeldBuild:
    command = compiler()
    key = "\0".join([part, reference.digest, *command, version_of(command), *flags])
    name = hashlib.sha256(key.encode()).hexdigest()
    directory = cache_directory() / f"op-{name[:16]}-{name[16:32]}"

    def make_readable(complete: Path, scratch: Path, steps: Steps) -> None:
        make(complete, scratch, steps)
        # Before others see it: an agent that runs as root gives ops a user of their own.
        for path in (complete, *complete.rglob("*")):
            path.chmod(0o755)

    while True:
        is_new = not (mark_used(directory) and (directory / main_file).exists())
        if is_new:
            what = f"the op {reference.name}"
            build_once(what, "op", directory, main_file, make_readable, report)
        lock = hold(directory)
        if lock is None or (directory / main_file).exists():
            break
        lock.close()  # it was removed before
    if is_new:
        OpBuilds().prune(limits_of_op_builds())
    return HeldBuild(directory, lock)


def _require(path: Path) -> None:
    if not path.is_file():
        raise ProgramFailure(Reason.BUILD_FAILED, f"The compiler wrote no {path.name}.")
