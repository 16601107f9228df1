"""How many Poplar programs compile: `python -m poplar_emulator.census FOLDER`.

Every C++ file under the folder that includes a header of Poplar or its libraries, also through
headers of the folder, is compiled against the emulator: a file with vertices by popc, any other by
the host's compiler. The command prints the first error of each file that fails, the most frequent
first, and the totals. A header that neither the emulator nor the folder has is replaced by an empty
one. Files that need its content are listed apart and do not count. With `--run` it runs programs of
one file that check themselves.
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
INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", re.MULTILINE)
MISSING = re.compile(r"^([^:\s]+): No such file")
MAX_STAND_INS = 32  # empty headers of a file
MAIN = re.compile(r"\bint\s+main\s*\(")
# A program with one of these tells by its exit status whether its results are right.
CHECKS = re.compile(r"\bassert\s*\(|\bEXIT_FAILURE\b|\breturn\s+1\s*;|\bexit\s*\(\s*1\s*\)")
RUN_SECONDS = 60.0
PASSED = "passed"  # the outcome of a program whose checks hold
ERROR = re.compile(r"^(.*?):\d+:\d+: (?:fatal )?error: (.*)$", re.MULTILINE)


class FileResult(NamedTuple):
    """A file, whether it is codelets, and its first error unless it compiles.

    stand_ins: headers of other libraries that were replaced by empty ones.
    outcome: of a run; None if the file was not run.
    """

    path: Path
    is_codelet: bool
    error: Optional[str]
    stand_ins: int = 0
    outcome: Optional[str] = None

    @property
    def is_foreign(self) -> bool:
        """Return whether it needs a header of another library."""
        error = self.error or ""
        return ": No such file" in error and not re.match(HEADER, error)


def find_files(folder: Path, includes: Sequence[Path] = ()) -> List[Path]:
    """Return the C++ files that include a header of Poplar, themselves or by others, in order."""
    found = (path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    return sorted(path for path in found if POPLAR.search(_with_headers(path, folder, includes)))


def _with_headers(path: Path, folder: Path, includes: Sequence[Path]) -> str:
    """Return the text of a file with those of the folder's headers that it includes."""
    texts: Dict[Path, str] = {}
    waiting = [path]
    while waiting:
        at = waiting.pop()
        texts[at] = at.read_text(errors="replace")
        places = [*_above(at, folder), *_above(path, folder), *includes]
        for name in INCLUDE.findall(texts[at]):
            match = next((place / name for place in places if (place / name).is_file()), None)
            if match is not None and match.resolve() not in {each.resolve() for each in texts}:
                waiting.append(match)
    return "\n".join(texts.values())


def _above(path: Path, folder: Path) -> List[Path]:
    """Return the folders of a file, up to the folder of the census."""
    if folder not in path.parents:
        return []
    return list(path.parents)[: len(path.relative_to(folder).parents)]


def compile_file(
    path: Path, folder: Path, includes: Sequence[Path], prefix: Path, runs: bool = False
) -> FileResult:
    """Compile a file. Headers are searched in `includes` and above the file.

    runs: run the file, too, if it is a program of its own that checks itself.
    """
    text = path.read_text(errors="replace")
    if not VERTEX.search(text) and not HOST.search(text):
        text = _with_headers(path, folder, includes)
    is_codelet = bool(VERTEX.search(text)) and not HOST.search(text)
    own = [f"-I{place}" for place in dict.fromkeys((*_above(path, folder), *includes))]
    with tempfile.TemporaryDirectory(prefix="poplar-census-") as scratch:
        empty = Path(scratch) / "stand-ins"
        own.append(f"-I{empty}")  # searched last
        first = error = _compile(path, is_codelet, own, prefix, Path(scratch))
        stand_ins = 0
        while error is not None and stand_ins < MAX_STAND_INS:
            missing = MISSING.match(error)
            if missing is None or re.match(HEADER, error) or ".." in missing[1]:
                break
            header = empty / missing[1].lstrip("/")
            if header.exists():
                break
            header.parent.mkdir(parents=True, exist_ok=True)
            header.touch()
            stand_ins += 1
            error = _compile(path, is_codelet, own, prefix, Path(scratch))
        if error is not None:
            return FileResult(path, is_codelet, first)
        outcome = None
        if runs and not is_codelet and MAIN.search(text) and CHECKS.search(text):
            outcome = _outcome(path, own, prefix, Path(scratch))
    return FileResult(path, is_codelet, None, stand_ins, outcome)


def _compile(
    path: Path, is_codelet: bool, own: Sequence[str], prefix: Path, scratch: Path
) -> Optional[str]:
    """Compile a file; return its first error."""
    if is_codelet:
        done = _run([str(prefix / POPC), *own, str(path), "-o", str(scratch / "codelets.gp")])
    else:
        headers = [flag for flag in program_flags(prefix) if not flag.startswith("-l")]
        command = [*compiler(), "-fsyntax-only", "-w", *own, *headers, str(path)]
        done = _run(command)
        if done[0] != 0 and _run([*command, "-std=c++20"])[0] == 0:
            done = (0, "")
    return None if done[0] == 0 else first_error(done[1])


def _outcome(path: Path, own: Sequence[str], prefix: Path, scratch: Path) -> Optional[str]:
    """Run a program in its folder, without arguments; return how it ended.

    Returns None if it cannot be linked: it needs other files.
    """
    program = scratch / "program"
    linked = [*compiler(), "-w", "-O1", *own, str(path), "-o", str(program)]
    if _run([*linked, *program_flags(prefix)])[0] != 0:
        return None
    try:
        done = subprocess.run(  # noqa: S603 (the user asked for it)
            [str(program)],
            cwd=str(path.parent),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=RUN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"ran longer than {RUN_SECONDS:g} s"
    return PASSED if done.returncode == 0 else f"exit status {done.returncode}"


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
    replaced = sum(1 for result in counted if result.stand_ins)
    if replaced:
        lines.append(f"{replaced} of them with empty headers in place of other libraries'")
    ran = [result for result in counted if result.outcome is not None]
    for result in ran:
        if result.outcome != PASSED:
            lines.append(f"         {result.path.relative_to(folder)}: {result.outcome}")
    if ran:
        passed = sum(1 for result in ran if result.outcome == PASSED)
        lines.append(f"{passed} of {len(ran)} programs that check themselves pass")
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
    parser.add_argument(
        "--run",
        action="store_true",
        help="run programs of one file that check themselves, with your rights, in their folders",
    )
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    if not folder.is_dir():
        parser.error(f"{folder}: no such folder")
    includes = sorted(path for path in folder.rglob("include") if path.is_dir())
    files = find_files(folder, includes)
    if not files:
        parser.error(f"{folder}: no C++ file includes a header of Poplar")
    try:
        prefix = build()
    except NativeError as error:
        sys.stderr.write(f"the emulator cannot be built: {error}\n")
        return 1
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        compiled = pool.map(
            lambda path: compile_file(path, folder, includes, prefix, options.run), files
        )
        results = list(compiled)
    sys.stdout.write(table(results, folder) + "\n")
    return int(any(result.error and not result.is_foreign for result in results))


def _run(command: Sequence[str]) -> Tuple[int, str]:
    done = subprocess.run(  # noqa: S603 (the compiler, without a shell)
        command, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


if __name__ == "__main__":
    sys.exit(main())
