"""The emulator stands in for the SDK: enable.sh, CMake, make, and the commands of the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Dict

import pytest

from ipulse_core.build_cache.toolchain import compiler
from poplar_emulator.build import LIBRARIES, build, program_flags

SCRIPTS = Path(sys.executable).parent
PROGRAM = """\
#include <iostream>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Target.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>
int main() {
  poplar::Graph graph(poplar::Target::createCPUTarget());
  popops::addCodelets(graph);
  std::cout << graph.getTarget().getNumTiles() << '\\n';
}
"""
CODELETS = """\
#include <poplar/Vertex.hpp>
class WORKER_ALIGN Twice : public poplar::Vertex {
public:
  poplar::Input<float> in;
  poplar::Output<float> out;
  NO_INSTRUMENT bool compute() { *out = 2 * *in; return true; }
};
"""
MAKEFILE = """\
all: program codelets.gp
program: program.cpp
\t$(CXX) -std=c++17 program.cpp -lpoplar -lpopops -o $@
codelets.gp: codelets.cpp
\tpopc -O3 codelets.cpp -o $@
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.10)
project(program CXX)
find_package(poplar 3.0 REQUIRED)
find_package(popops REQUIRED)
find_package(poplibs REQUIRED)
set(CMAKE_CXX_STANDARD 17)
add_executable(program program.cpp)
target_link_libraries(program popops poplar)
add_custom_command(OUTPUT codelets.gp
  COMMAND popc_bin ${CMAKE_CURRENT_SOURCE_DIR}/codelets.cpp -o codelets.gp DEPENDS codelets.cpp)
add_custom_target(codelets ALL DEPENDS codelets.gp)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "program.cpp": PROGRAM,
        "codelets.cpp": CODELETS,
        "Makefile": MAKEFILE,
        "CMakeLists.txt": CMAKE,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def variables(environment: Dict[str, str]) -> Dict[str, str]:
    """A shell without an SDK, whose make uses the compiler of these tests."""
    names = ("POPLAR_SDK_ENABLED", "CPATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH")
    kept = {name: value for name, value in environment.items() if name not in names}
    return {**kept, "CXX": " ".join(compiler())}


def in_shell(
    commands: str, folder: Path, variables: Dict[str, str], shell: str = "bash"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell, "-c", commands],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_makefile_for_the_sdk_builds(
    project: Path, prefix: Path, variables: Dict[str, str]
) -> None:
    commands = f"source {prefix}/enable.sh && make -s && ./program && which popc"
    done = in_shell(commands, project, variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["1", f"{prefix}/bin/popc"]
    assert (project / "codelets.gp").exists()


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
@pytest.mark.verify
def test_a_cmake_project_for_the_sdk_builds(
    project: Path, prefix: Path, variables: Dict[str, str]
) -> None:
    commands = f"cmake -S . -B b -DCMAKE_PREFIX_PATH={prefix} && cmake --build b && ./b/program"
    done = in_shell(commands, project, variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "1"
    assert (project / "b" / "codelets.gp").exists()
    newer = (project / "CMakeLists.txt").read_text().replace("poplar 3.0", "poplar 4.0")
    (project / "CMakeLists.txt").write_text(newer)
    done = in_shell(f"cmake -S . -B c -DCMAKE_PREFIX_PATH={prefix}", project, variables)
    assert done.returncode != 0
    assert "version: 3.3.0" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh"])
def test_enable_sets_what_the_sdk_sets(
    shell: str, prefix: Path, tmp_path: Path, variables: Dict[str, str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    asked = tmp_path / "poplar-emulator"  # for shells that do not know which file they read
    asked.write_text(f"#!/bin/sh\necho {prefix}\n")
    asked.chmod(0o755)
    path = f"{tmp_path}:{variables['PATH']}"
    given = {**variables, "PATH": path, "CPATH": "/mine"}
    script = f". {prefix}/enable.sh && . {prefix}/enable.sh && env && gc-info --ipu-count"
    done = in_shell(script, tmp_path, given, shell)
    assert (done.returncode, done.stderr) == (0, "")
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert seen["POPLAR_SDK_ENABLED"] == str(prefix)
    assert seen["PATH"] == f"{prefix}/bin:{path}"
    assert seen["CPATH"] == f"{prefix}/include:/mine"
    for name in ("LIBRARY_PATH", "LD_LIBRARY_PATH"):
        assert seen[name] == f"{prefix}/lib"
    assert seen["CMAKE_PREFIX_PATH"] == str(prefix)
    assert done.stdout.splitlines()[-1] == "0"  # no hardware


def test_a_second_sdk_is_refused(prefix: Path, tmp_path: Path, variables: Dict[str, str]) -> None:
    given = {**variables, "POPLAR_SDK_ENABLED": "/opt/poplar"}
    done = in_shell(f". {prefix}/enable.sh; echo $CPATH", tmp_path, given)
    assert "/opt/poplar is enabled" in done.stderr
    assert done.stdout == "\n"


def test_tools_say_that_ipus_are_emulated(prefix: Path, variables: Dict[str, str]) -> None:
    given = {**variables, "IPULSE_EMULATOR_IPUS": "2"}
    listed = in_shell(f"{prefix}/bin/gc-info -l", prefix, given).stdout
    assert "emulated" in listed
    assert listed.count("Id: [") == 2
    assert "emulated" in in_shell(f"{prefix}/bin/gc-monitor", prefix, given).stdout
    assert in_shell(f"{prefix}/bin/gc-info --reset", prefix, given).returncode == 1


def test_the_package_s_commands_are_those_of_the_prefix(
    prefix: Path, tmp_path: Path, environment: Dict[str, str]
) -> None:
    # The prefix is found where the tests' is: the cache of `environment` has none.
    given = {**environment, "IPULSE_CACHE": str(prefix.parent)}
    done = in_shell(f"{SCRIPTS}/poplar-emulator --prefix", tmp_path, given)
    assert Path(done.stdout.strip()) == prefix, done.stderr
    version = in_shell(f"{SCRIPTS}/popc --version", tmp_path, given).stdout
    assert "emulated" in version
    sdk = tmp_path / "sdk" / "bin" / "popc"
    sdk.parent.mkdir(parents=True)
    sdk.write_text("#!/bin/sh\necho the SDK $1\n")
    sdk.chmod(0o755)
    given["POPLAR_SDK_ENABLED"] = str(tmp_path / "sdk")
    assert in_shell(f"{SCRIPTS}/popc --version", tmp_path, given).stdout == "the SDK --version\n"


def test_checked_sources_are_reported_as_junit(
    project: Path, prefix: Path, variables: Dict[str, str]
) -> None:
    wrong = 'class <"V\x1b[0m é'
    (project / "wrong.cpp").write_text(f"#include <poplar/Vertex.hpp>\n{wrong}\n")
    command = f"{prefix}/bin/popc --check --junit=report.xml codelets.cpp wrong.cpp"
    done = in_shell(command, project, variables)
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["ok      codelets.cpp", "failed  wrong.cpp"]
    assert "wrong.cpp:2" in done.stderr
    suite = ET.parse(project / "report.xml").getroot()  # noqa: S314 (written just now)
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    good, bad = suite.findall("testcase")
    assert (good.attrib["name"], good.find("failure")) == ("codelets.cpp", None)
    failure = bad.find("failure")
    assert failure is not None
    assert "wrong.cpp:2" in (failure.text or "")
    assert not list(project.glob("*.gp"))
    assert in_shell(f"{prefix}/bin/popc --check codelets.cpp", project, variables).returncode == 0
    assert in_shell(f"{prefix}/bin/popc --check -o a.gp a.cpp", project, os.environ).returncode == 2


def test_an_enabled_sdk_does_not_change_the_emulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries of the SDK, with the same names, are first in LD_LIBRARY_PATH."""
    sdk, program = tmp_path / "sdk", tmp_path / "program.cpp"
    sdk.mkdir()
    for name in ("poplar", *LIBRARIES):
        (sdk / f"lib{name}.so").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(sdk))
    program.write_text(PROGRAM)
    command = [*compiler(), str(program), "-o", str(tmp_path / "program"), *program_flags(build())]
    subprocess.run(command, check=True)
    load = "from poplar_emulator.custom_op_bindings import library; library()"
    for started in ([str(tmp_path / "program")], [sys.executable, "-c", load]):
        ended = subprocess.run(started, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
