"""Builds the emulator's image and puts a project through it, as a job of a CI would.

sudo python -m tests.container.images.emulator
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.container.images.buildah import Buildah, say
from tests.container.images.examples import EXAMPLES

PROGRAMS = ("buildah", "debootstrap")
NAME = "poplar-emulator"
# A program, its codelets and codelets that popc refuses.
FILES = ("matrix_vector.cpp", "leaky_codelets.cpp")
MAKEFILE = """\
matrix_vector: matrix_vector.cpp
\tg++ -std=c++17 $^ -lpopops -lpoplin -lpoputil -lpoplar -o $@
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.18)
project(matrix_vector CXX)
find_package(poplar REQUIRED)
add_executable(by_cmake matrix_vector.cpp)
target_link_libraries(by_cmake poplar popops poplin poputil)
"""
REFUSED = """\
#include <poplar/Vertex.hpp>
class Wrong : public poplar::Vertex {
public:
  bool compute() { return missing; }
};
"""
# What a project runs, the exit status, and a text of the output.
RUNS = (
    ("popc --check --junit=passed.xml leaky_codelets.cpp", 0, ""),
    ("popc --check --junit=refused.xml leaky_codelets.cpp refused.cpp", 1, "refused.cpp"),
    ("make && ./matrix_vector", 0, "library agrees"),
    ("cmake -S . -B build && cmake --build build && build/by_cmake", 0, "library agrees"),
    ("poplar-emulator matrix_vector.cpp --gate 'cycles>0'", 0, "Total cycles:"),
    ("poplar-emulator matrix_vector.cpp --no-profile --gate 'cycles<1'", 3, "cycles"),
    ("python3 -c 'import pva; print(pva.openReport.__name__)'", 0, "open_report"),
)


def main() -> int:
    """Build the image, run `RUNS` in it, and return how many differ from what they must do."""
    if os.geteuid() != 0:
        sys.exit("must run as root, because it makes root file systems")
    wrong = 0
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ipulse-emulator.")))
        for name in FILES:
            shutil.copy(EXAMPLES / "poplar" / name, folder)
        (folder / "Makefile").write_text(MAKEFILE)
        (folder / "CMakeLists.txt").write_text(CMAKE)
        (folder / "refused.cpp").write_text(REFUSED)
        buildah = Buildah(stack)
        buildah.make_base()
        buildah.build_stage(NAME, "emulator/Dockerfile")
        container = buildah("from", f"ipulse-{NAME}")
        say("run a project in it")
        place = ["--isolation", "chroot", "--volume", f"{folder}:/work", container, "sh", "-c"]
        for command, status, text in RUNS:
            begin = time.monotonic()
            done = subprocess.run(
                [*buildah.command, "run", *place, command],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            passed = done.returncode == status and text in done.stdout
            passed = passed and "building the emulator" not in done.stdout  # the image contains it
            print(f"{'passed' if passed else 'FAILED'} {time.monotonic() - begin:.1f} s: {command}")
            if not passed:
                wrong += 1
                print(f"status {done.returncode}:\n{done.stdout[-4000:]}")
        reports = {name: (folder / f"{name}.xml").read_text() for name in ("passed", "refused")}
        if "<failure" in reports["passed"] or "<failure" not in reports["refused"]:
            wrong += 1
            print(f"FAILED: the reports for a CI: {reports}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
