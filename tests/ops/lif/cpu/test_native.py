"""Building the kernels on first use, and keeping them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from platform import machine
from typing import List

import pytest

from ipulse_core.build_cache.progress import BuildProgress
from ipulse_core.build_cache.shared_library import ALIGNED_JUMPS
from ipulse_ops.lif.cpu import libraries, native


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def compiler_that_is(script: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a shell script the compiler; `$REAL` in it is the machine's own."""
    path = directory / "compiler"
    path.write_text(f"#!/bin/sh\nREAL={native.compiler()[0]}\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))


class TestBuild:
    @pytest.mark.slow
    def test_concurrent_processes_build_once(
        self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = tmp_path / "log"
        compiler_that_is(f'echo "$@" >> {log}\nexec $REAL "$@"', tmp_path, monkeypatch)
        sources = tmp_path / "sources"  # a small one for all of the kernels
        sources.mkdir()
        (sources / "one.cc").write_text("int one() { return 1; }\n")
        monkeypatch.setattr(libraries, "SOURCES", sources)
        code = f"""
from pathlib import Path
from ipulse_ops.lif.cpu import libraries, native
libraries.SOURCES = Path({str(sources)!r})
print(native.build_kernels())
"""
        command = [sys.executable, "-c", code]
        started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
        paths = {process.communicate()[0].decode().strip() for process in started}
        assert [process.returncode for process in started] == [0, 0, 0]
        (path,) = paths
        assert Path(path).is_file()
        links = [line for line in log.read_text().splitlines() if "-shared" in line]
        assert len(links) == 1
        # A build leaves its directory, its lock and its duration.
        assert sorted(entry.suffix for entry in cache.iterdir()) == ["", ".json", ".lock"]
        # Another process with the same sources and compiler builds nothing and prints nothing.
        reports: List[BuildProgress] = []
        assert str(native.build_kernels(reports.append)) == path
        assert reports == []

    def test_another_compiler_is_another_build(
        self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = '[ "$1" = --version ] && echo odd compiler && exit 0\nexit 1'
        compiler_that_is(script, tmp_path, monkeypatch)
        reports: List[BuildProgress] = []
        with pytest.raises(native.BuildFailed):
            native.build_kernels(reports.append)
        assert [(report.what, report.done) for report in reports] == [("liblif.so", 0)]
        assert reports[0].total > 1
        # No incomplete library is at a library's path.
        assert not list(cache.glob("kernels-*/**/liblif.so"))

    def test_a_compile_error_shows_the_first_lines_of_the_compiler(
        self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = (
            '[ "$1" = --version ] && echo 1 && exit 0\necho warming up\necho lif.cc:7: error: no'
        )
        compiler_that_is(script + "\nexit 1", tmp_path, monkeypatch)
        with pytest.raises(native.BuildFailed, match=r"CXX\). Its first error:\nlif.cc:7: error"):
            native.build_kernels()

    @pytest.mark.parametrize("known", [True, False])
    def test_jumps_are_aligned_where_the_compiler_can(
        self, known: bool, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sources, log = tmp_path / "sources", tmp_path / "log"
        sources.mkdir()
        (sources / "x86_avx2.cc").write_text("int one() { return 1; }\n")
        monkeypatch.setattr(libraries, "SOURCES", sources)
        refusal = "" if known else f'case "$*" in *{ALIGNED_JUMPS}*) exit 1; esac\n'
        script = f'{refusal}echo "$@" >> {log}\nexec $REAL "$@"'
        compiler_that_is(script, tmp_path, monkeypatch)
        assert native.build_kernels().is_file()
        compiled = [line for line in log.read_text().splitlines() if "x86_avx2.cc" in line]
        assert [ALIGNED_JUMPS in line for line in compiled] == [known and machine() == "x86_64"]


class TestCompiler:
    def test_none_is_an_error_that_names_the_hint(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CXX", raising=False)
        monkeypatch.setenv("PATH", "")
        with pytest.raises(native.MissingCompiler, match=r"apt-get install g\+\+") as caught:
            native.compiler()
        assert caught.value.code == "missing_compiler"

    def test_cxx_that_is_no_command_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CXX", "no-such-compiler -O3")
        with pytest.raises(native.MissingCompiler, match="no-such-compiler -O3"):
            native.compiler()

    def test_cxx_may_carry_arguments(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CXX", f"{sys.executable} -x")
        assert native.compiler() == (sys.executable, "-x")


class TestLibrary:
    def test_description_names_kernel_and_threads(self) -> None:
        best = native.description()
        assert best["cpu_mask"] == native.supported_arch()
        assert best["threads"] == len(os.sched_getaffinity(0))
        assert native.description(arch=0, threads=3) == {
            "kernel": "scalar",
            "cpu_mask": 0,
            "threads": 3,
        }
