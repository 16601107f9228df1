"""Compiles a Poplar host program against the emulator and replaces this process by it.

`python -m poplar_emulator.emulate REQUEST` is the back end of `ipulse emulate`. REQUEST is one JSON
object: `sources` and `codelets` (paths of C++ files), `flags` of the compiler, `arguments` of the
program, `sanitize`, and the directory `scratch` for the program and the compiled codelets (.gp).
If the program cannot be compiled, `failure.json` in `scratch` has `code`, `message` and the
compiler's `output`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess  # runs the compiler
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence

from ipulse_core.build_cache.toolchain import NativeError, compiler
from poplar_emulator.build import LIBRARIES, POPC, SANITIZE_VARIABLE, build, program_flags

_MISSING_HEADER = re.compile(r"fatal error: '?([\w/.-]+)'?(?:: No such file| file not found)")
_BOOST_SYMBOL = re.compile(r"undefined reference to `boost::(\w+)")


class CompileFailed(NativeError):
    """The compiler refused the program."""

    code = "compile_failed"

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


def compile_program(sources: Sequence[str], out: Path, flags: Sequence[str] = ()) -> None:
    """Compile a host program. Raises MissingCompiler, BuildFailed, CompileFailed."""
    prefix = build()
    command = [*compiler(), "-O1", *sources, "-o", str(out), *flags, *program_flags(prefix)]
    _compile(command, f"{', '.join(sources)}: does not compile")


def compile_codelets(source: str, directory: Path) -> Path:
    """Compile a codelet source to a .gp file of the same stem and return its path.

    Raises MissingCompiler, BuildFailed, CompileFailed.
    """
    out = directory / f"{Path(source).stem}.gp"
    _compile([str(build() / POPC), "-O3", source, "-o", str(out)], f"{source}: does not compile")
    return out


# Engine options of a checked run: a write outside of a field is an error, and an output that no
# vertex writes is NaN.
SANITIZE = {"debug.checkBounds": "true", "debug.poisonOutputs": "true"}


def environment_of(sources: Sequence[str], scratch: Path, sanitize: bool = False) -> Dict[str, str]:
    """Return the environment in which a program finds its codelets and popc.

    sanitize: adds SANITIZE_VARIABLE, and SANITIZE to the engine options of the environment.
    """
    places = [str(scratch), *dict.fromkeys(str(Path(path).resolve().parent) for path in sources)]
    path = f"{build() / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {
        **os.environ,
        "IPULSE_EMULATOR_CODELETS": ":".join(places),
        "PATH": path,
        "CXX": shlex.join(compiler()),  # of popc
        **(_sanitized_options() if sanitize else {}),
    }


def _sanitized_options() -> Dict[str, str]:
    given = os.environ.get("POPLAR_ENGINE_OPTIONS") or "{}"
    try:
        options = {**json.loads(given), **SANITIZE}
    except (ValueError, TypeError) as error:
        raise CompileFailed(f"POPLAR_ENGINE_OPTIONS is not a JSON object: {error}", "") from error
    return {"POPLAR_ENGINE_OPTIONS": json.dumps(options), SANITIZE_VARIABLE: "1"}


def main(request: Dict[str, Any]) -> None:
    """Compile the program and replace this process by it; this returns only by an error."""
    scratch = Path(request["scratch"])
    program = scratch / Path(request["sources"][0]).stem
    if request.get("sanitize", False):
        os.environ[SANITIZE_VARIABLE] = "1"  # of popc
    try:
        for source in request["codelets"]:
            compile_codelets(source, scratch)
        compile_program(request["sources"], program, request["flags"])
        environment = environment_of(request["sources"], scratch, request.get("sanitize", False))
        os.execve(program, [str(program), *request["arguments"]], environment)  # noqa: S606 (no shell)
    except NativeError as error:
        output = getattr(error, "output", "")
        failure = {"code": error.code, "message": str(error), "output": output}
        (scratch / "failure.json").write_text(json.dumps(failure))
        sys.exit(1)
    except KeyboardInterrupt:  # reported by the command that started this process
        sys.exit(130)


def hint(output: str) -> str:
    """Return advice for known errors in a compiler's output, or an empty string."""
    header = _MISSING_HEADER.search(output)
    if header and header[1].startswith("boost/"):
        part = Path(header[1]).stem.replace("_", "-")
        return (
            f"; Boost's headers are not installed: apt-get install libboost-dev, and for parts "
            f"that are libraries those, as libboost-{part}-dev"
        )
    if header and header[1].partition("/")[0] in ("poplar", *LIBRARIES):
        return f"; the emulator has no {header[1]}: docs/reference/poplar_api.md lists what it has"
    symbol = _BOOST_SYMBOL.search(output)
    if symbol:
        return f"; link Boost's library: --flag=-lboost_{symbol[1]}"
    return ""


def _compile(command: List[str], message: str) -> None:
    done = subprocess.run(  # noqa: S603 (the user's own compiler, without a shell)
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    output = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise CompileFailed(message + hint(output), output)
    sys.stderr.write(output)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
