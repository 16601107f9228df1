"""`python -m poplar_emulator` compiles a program, runs it and prints its profile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from poplar_emulator import __main__ as command

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "poplar"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "poplar_emulator", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_program_runs_and_its_profile_follows() -> None:
    done = run(EXAMPLES / "leaky_neurons.cpp", "--codelets", EXAMPLES / "leaky_codelets.cpp")
    assert done.returncode == 0, done.stderr
    output, profile = done.stdout.split("Profile (emulated, not measured on an IPU)", 1)
    assert "spikes by step:" in output
    assert "Total cycles:" in profile
    assert "expected on an IPU" in profile


def test_a_gate_that_breaks_fails_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    program = (str(EXAMPLES / "variables.cpp"), "--no-profile")
    gates = ("--gate=max_tile_memory<600KiB", "--gate=total_memory<2")
    assert command.main([*program, *gates]) == command.BROKEN_GATE
    [line] = capfd.readouterr().err.splitlines()
    assert "total_memory<2 (it is " in line


def test_a_gate_needs_a_profile_and_a_known_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "program.cpp"
    source.write_text("int main() {}\n")
    assert command.main([str(source), "--gate", "cycles<5"]) == command.BROKEN_GATE
    assert "cycles<5 (the profile does not have it)" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        command.main([str(source), "--gate", "speed<5"])
    assert stopped.value.code == 2
    assert "'speed' is not a figure of a profile" in capsys.readouterr().err


def test_arguments_and_exit_status_pass_through(tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text(
        "#include <cstdio>\n#include <cstdlib>\n"
        "int main(int, char **argv) { std::puts(argv[2]); return std::atoi(argv[1]); }\n"
    )
    done = run(source, "--no-profile", "--", "7", "--flag")
    assert (done.returncode, done.stdout) == (7, "--flag\n")


@pytest.mark.old_python
def test_an_error_names_the_place_and_the_program(tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text("int main() { return missing; }\n")
    done = run(source)
    assert done.returncode == 1
    assert f"{source}:1:21: error" in done.stderr
    assert f"cannot run {source}: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_compiler_is_an_error_with_a_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", os.devnull)
    assert command.main([str(EXAMPLES / "variables.cpp")]) == 1
    assert "apt-get install g++" in capsys.readouterr().err


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["no-such-file.cpp"])
    assert stopped.value.code == 2
    assert "no-such-file.cpp: no such file" in capsys.readouterr().err


def test_an_uncaught_exception_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "throws.cpp"
    program.write_text(
        "#include <poplar/Graph.hpp>\n"
        "#include <poplar/Target.hpp>\n"
        "int main() {\n"
        "  poplar::Graph graph(poplar::Target::createCPUTarget());\n"
        '  graph.addCodelets("missing.gp");\n'
        "}\n"
    )
    done = run(program)
    assert done.returncode == 134
    assert "file_load_error" in done.stderr
    assert "missing.gp" in done.stderr
