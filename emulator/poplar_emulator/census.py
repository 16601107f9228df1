"""How many Poplar programs compile: `python -m poplar_emulator.census FOLDER`.

Every C++ file under the folder that includes a header of Poplar or its libraries is compiled
against the emulator: a file with vertices by popc, any other by the host's compiler. The command
prints the first error of each file that fails, the most frequent first, and the totals. Files that
need a header which neither the emulator nor the folder has are listed apart and do not count.
"""

from __future__ import annotations

import argparse
import re
import subprocess  # runs the compiler and popc
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from ipulse_core.build_cache.toolchain import NativeError, compiler
from poplar_emulator.build import LIBRARIES, POPC, build, program_flags

SUFFIXES = {".cpp", ".cc", ".cxx", ".C"}
# Headers of Poplar, by the beginnings of their paths.
HEADER = f"(?:{'|'.join(('poplar', *LIBRARIES))})/|ipu_|ipudef|ipuvector"
POPLAR = re.compile(rf"^\s*#\s*include\s*[<\"](?:{HEADER})", re.MULTILINE)
# A file that includes one of these is a host program, also if the same file has vertices.
HOST = re.compile(r"^\s*#\s*include\s*[<\"]poplar/(?:Engine|Graph)\.hpp", re.MULTILINE)
VERTEX = re.compile(r"\b(?:class|struct)\s+[^;{]*:[^;{]*\b(?:Multi|Supervisor)?Vertex(?:If)?\b")
ERROR = re.compile(r"^(.*?):\d+:\d+: (?:fatal )?error: (.*)$", re.MULTILINE)


class FileResult(NamedTuple):
    """A file, whether it is codelets, and its first error unless it compiles."""

    path: Path
    is_codelet: bool
    error: Optional[str]

    @property
    def is_foreign(self) -> bool:
        """Return whether it needs a header of another library."""
        error = self.error or ""
        return ": No such file" in error and not re.match(HEADER, error)


def find_files(folder: Path) -> List[Path]:
    """Return the C++ files that include a header of Poplar, in order."""
    found = (path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    return sorted(path for path in found if POPLAR.search(path.read_text(errors="replace")))


def compile_file(path: Path, folder: Path, includes: Sequence[Path], prefix: Path) -> FileResult:
    """Compile a file without running it. Headers are searched in `includes` and above the file."""
    text = path.read_text(errors="replace")
    is_codelet = bool(VERTEX.search(text)) and not HOST.search(text)
    above = list(path.parents)[: len(path.relative_to(folder).parents)]  # up to the folder
    own = [f"-I{directory}" for directory in dict.fromkeys((*above, *includes))]
    if is_codelet:
        with tempfile.TemporaryDirectory(prefix="poplar-census-") as scratch:
            out = str(Path(scratch) / "codelets.gp")
            done = _run([str(prefix / POPC), *own, str(path), "-o", out])
    else:
        headers = [flag for flag in program_flags(prefix) if not flag.startswith("-l")]
        command = [*compiler(), "-fsyntax-only", "-w", *own, *headers, str(path)]
        done = _run(command)
        if done[0] != 0 and _run([*command, "-std=c++20"])[0] == 0:
            done = (0, "")
    return FileResult(path, is_codelet, None if done[0] == 0 else first_error(done[1]))


def first_error(output: str) -> str:
    """Return the compiler's first error without its place."""
    found = ERROR.search(output)
    if found is not None:
        return found.group(2)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[0] if lines else "the compiler printed no error"


def table(results: Sequence[FileResult], folder: Path) -> str:
    """Return the first errors, with their files, and the totals."""
    foreign = [result for result in results if result.is_foreign]
    counted = [result for result in results if not result.is_foreign]
    files: Dict[str, List[Path]] = {}
    for result in counted:
        if result.error is not None:
            files.setdefault(result.error, []).append(result.path.relative_to(folder))
    lines = []
    for error in sorted(files, key=lambda e: (-len(files[e]), e)):
        lines.append(f"{len(files[error]):5}  {error}")
        lines += [f"         {path}" for path in files[error]]
    if foreign:
        lines.append("Not counted, because a header of another library is missing:")
        lines += [f"         {file.path.relative_to(folder)}: {file.error}" for file in foreign]
    for what, is_codelet in (("host programs", False), ("codelet files", True)):
        errors = [result.error for result in counted if result.is_codelet == is_codelet]
        lines.append(f"{errors.count(None)} of {len(errors)} {what} compile")
    return "\n".join(lines)


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command and return its exit status: 1 if a counted file does not compile."""
    parser = argparse.ArgumentParser(
        prog="python -m poplar_emulator.census",
        description="Compile every Poplar file under a folder against the emulator and print the "
        "first errors.",
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time (default: 2)")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    if not folder.is_dir():
        parser.error(f"{folder}: no such folder")
    files = find_files(folder)
    if not files:
        parser.error(f"{folder}: no C++ file includes a header of Poplar")
    includes = sorted(path for path in folder.rglob("include") if path.is_dir())
    try:
        prefix = build()
    except NativeError as error:
        sys.stderr.write(f"the emulator cannot be built: {error}\n")
        return 1
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        results = list(pool.map(lambda path: compile_file(path, folder, includes, prefix), files))
    sys.stdout.write(table(results, folder) + "\n")
    return int(any(result.error and not result.is_foreign for result in results))


def _run(command: Sequence[str]) -> Tuple[int, str]:
    done = subprocess.run(  # noqa: S603 (the compiler, without a shell)
        command, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


if __name__ == "__main__":
    sys.exit(main())
