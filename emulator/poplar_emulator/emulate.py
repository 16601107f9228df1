"""Compiles a Poplar host program against the emulator and becomes it: `ipulse emulate`.

`python -m poplar_emulator.emulate REQUEST` takes one JSON object: `sources` and `codelets` (paths
of
C++ files), `flags` of the compiler, `arguments` of the program, and the directory `scratch`, into
which the program and, as .gp files, the codelets are compiled. A failure before the program starts
is left as `failure.json` there: `code`, `message` and the compiler's `output`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess  # runs the compiler
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence

from ipulse_core.build_cache.toolchain import NativeError, compiler
from poplar_emulator.build import LIBRARIES, build, program_flags

_MISSING_HEADER = re.compile(r"fatal error: '?([\w/.-]+)'?(?:: No such file| file not found)")
_BOOST_SYMBOL = re.compile(r"undefined reference to `boost::(\w+)")


class CompileFailed(NativeError):
    """The compiler refused the program."""

    code = "compile_failed"

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


def compile_program(sources: Sequence[str], out: Path, flags: Sequence[str] = ()) -> None:
    """The host program of these sources. Raises MissingCompiler, BuildFailed, CompileFailed."""
    prefix = build()
    command = [*compiler(), "-O1", *sources, "-o", str(out), *flags, *program_flags(prefix)]
    _compile(command, f"{', '.join(sources)}: does not compile")


def compile_codelets(source: str, directory: Path) -> Path:
    """The .gp file of a codelet source, under the source's name. Raises as `compile_program`."""
    out = directory / f"{Path(source).stem}.gp"
    popc = build() / "bin" / "popc"
    _compile([str(popc), "-O3", source, "-o", str(out)], f"{source}: does not compile")
    return out


def environment_of(sources: Sequence[str], scratch: Path) -> Dict[str, str]:
    """Where the program finds its codelets beside its working directory, and popc."""
    places = [str(scratch), *dict.fromkeys(str(Path(one).resolve().parent) for one in sources)]
    path = f"{build() / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**os.environ, "IPULSE_EMULATOR_CODELETS": ":".join(places), "PATH": path}


def main(request: Dict[str, Any]) -> None:
    """Compiles and, unless that fails, does not return: this process is the program then."""
    scratch = Path(request["scratch"])
    program = scratch / Path(request["sources"][0]).stem
    try:
        for source in request["codelets"]:
            compile_codelets(source, scratch)
        compile_program(request["sources"], program, request["flags"])
        environment = environment_of(request["sources"], scratch)
        os.execve(program, [str(program), *request["arguments"]], environment)  # noqa: S606 (no shell)
    except NativeError as error:
        output = getattr(error, "output", "")
        failure = {"code": error.code, "message": str(error), "output": output}
        (scratch / "failure.json").write_text(json.dumps(failure))
        sys.exit(1)
    except KeyboardInterrupt:  # the command that started this hears it too, and says so
        sys.exit(130)


def cure(output: str) -> str:
    """What helps against the compiler's words, to be said after them; else empty."""
    header = _MISSING_HEADER.search(output)
    if header and header[1].startswith("boost/"):
        part = Path(header[1]).stem.replace("_", "-")
        return (
            f"; Boost's headers are not installed: apt-get install libboost-dev, and for parts "
            f"that are libraries those, as libboost-{part}-dev"
        )
    if header and header[1].partition("/")[0] in ("poplar", *LIBRARIES):
        return f"; the emulator has no {header[1]}: docs/explanation/emulator.md lists what it has"
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
        raise CompileFailed(message + cure(output), output)
    sys.stderr.write(output)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
