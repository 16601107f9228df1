"""Compiles a program and its codelets in the sandbox, against the emulator or an SDK."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ipulse_core.build_cache.toolchain import compiler
from ipulse_core.sandbox.sandbox import Sandbox
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code.compilation import PACKAGE, FirstError, compile_in_sandbox
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.tools import ProgramTools

if TYPE_CHECKING:
    from ipulse.spec import PoplarProgramSpec

BUILD = "/build"  # a place in the sandbox
PROGRAM = "program"  # the file name of the compiled program


def build_program(
    sandbox: Sandbox, spec: PoplarProgramSpec, tools: ProgramTools, out: Path, errors: FirstError
) -> float:
    """Compile all parts into the folder `out` and return the seconds that it took.

    Raises ProgramFailure, whose message has the compiler's first error.
    """
    seconds = 0.0
    package = sandbox.place(PACKAGE)
    for path in spec.codelets:
        name = f"{PurePosixPath(path).stem}.gp"
        command = [tools.popc, "-O3", f"{package}/{path}", "-o", name]
        seconds += compile_in_sandbox(sandbox, command, tools.environment, out, path, errors)
    sources = [f"{package}/{path}" for path in spec.sources]
    command = [*compiler(), "-O1", *sources, "-o", PROGRAM, *spec.flags, f"-I{package}"]
    command += tools.flags
    what = ", ".join(spec.sources)
    seconds += compile_in_sandbox(sandbox, command, tools.environment, out, what, errors)
    program = out / PROGRAM
    if not program.is_file():
        raise ProgramFailure(Reason.BUILD_FAILED, "The compiler wrote no program.")
    program.chmod(0o755)
    return seconds
