"""Codelets that do not end or write outside of their fields, and libraries that are none."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable, Dict

import pytest


@pytest.mark.sample(1)
@pytest.mark.parametrize("tiles", ["1", "32"])  # in the program's thread, and in others
def test_a_vertex_that_does_not_end_is_named(run_program: Callable, tiles: str) -> None:
    limit = (("IPULSE_EMULATOR_VERTEX_SECONDS", "0.2"), ("IPULSE_EMULATOR_THREADS", "2"))
    done = run_program("faulty_codelets", "Endless", tiles, "false", more=limit)
    assert done.returncode == 0, done.stderr
    for part in ("'Endless'", "on tile ", "'layer/step'", "did not end", "0.2 s"):
        assert part in done.stdout


def test_a_vertex_that_ends_in_time_runs(run_program: Callable) -> None:
    limit = (("IPULSE_EMULATOR_VERTEX_SECONDS", "0.2"),)
    assert run_program("faulty_codelets", "Within", "32", "false", more=limit).stdout == "sum 192\n"


def test_a_limit_that_is_no_number_is_refused(run_program: Callable) -> None:
    limit = (("IPULSE_EMULATOR_VERTEX_SECONDS", "soon"),)
    done = run_program("faulty_codelets", "Within", "1", "false", more=limit)
    assert done.returncode != 0
    assert "IPULSE_EMULATOR_VERTEX_SECONDS is 'soon'" in done.stderr


class TestBounds:
    @pytest.mark.parametrize(
        ("vertex", "field", "where"),
        [
            ("Behind", "out", "0 bytes after the end of its 24 bytes"),
            ("Copies", "out", "bytes after the end of its 24 bytes"),
            ("Before", "out", "bytes before the begin of its 24 bytes"),
            ("Around", "rows", "0 bytes after the end of its 12 bytes"),
        ],
    )
    def test_a_write_outside_of_a_field_names_vertex_and_field(
        self, run_program: Callable, vertex: str, field: str, where: str
    ) -> None:
        done = run_program("faulty_codelets", vertex, "2", "true")
        assert done.returncode == 0, done.stderr
        for part in (f"'{vertex}'", "on tile 0", f"field '{field}'", where):
            assert part in done.stdout

    def test_a_run_after_an_error_is_checked_anew(self, run_program: Callable) -> None:
        caught, after = run_program("faulty_codelets", "Once", "1", "true").stdout.splitlines()
        assert caught.startswith("caught vertex 'Once' on tile 0")
        assert after == "sum 6"

    def test_results_are_the_same_with_the_check(self, run_program: Callable) -> None:
        for check in ("true", "false"):
            assert run_program("faulty_codelets", "Within", "2", check).stdout == "sum 12\n"


class TestLibraries:
    @pytest.fixture
    def library(self, prefix: Path, tmp_path: Path, environment: Dict[str, str]) -> Path:
        source = tmp_path / "codelet.cpp"
        source.write_text(
            "#include <poplar/Vertex.hpp>\n"
            "class One : public poplar::Vertex {\npublic:\n  poplar::Output<float> out;\n"
            "  bool compute() { *out = 1; return true; }\n};\n"
        )
        out = tmp_path / "codelet.gp"
        command = [str(prefix / "bin" / "popc"), str(source), "-o", str(out)]
        subprocess.run(command, env=environment, check=True)
        return out

    @pytest.mark.verify
    def test_every_cut_of_a_library_is_an_error(
        self, run_program: Callable, library: Path, tmp_path: Path
    ) -> None:
        content = library.read_bytes()
        assert "no error" in run_program("foreign_library", str(library)).stdout
        for kept in (0, 3, 64, len(content) // 3, len(content) // 2, len(content) - 1):
            cut = tmp_path / f"cut{kept}.gp"
            cut.write_bytes(content[:kept])
            done = run_program("foreign_library", str(cut))
            assert done.returncode == 0, (kept, done.stderr)
            assert done.stdout.startswith("poplar_error: "), (kept, done.stdout)
            assert cut.name in done.stdout

    @pytest.mark.parametrize("content", [b"text, not code\n", b"\x7fELF" + bytes(3000), b"PK\3\4"])
    def test_foreign_files_are_errors(
        self, run_program: Callable, tmp_path: Path, content: bytes
    ) -> None:
        foreign = tmp_path / "foreign.gp"
        foreign.write_bytes(content)
        done = run_program("foreign_library", str(foreign))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("poplar_error: ")
        assert "foreign.gp" in done.stdout

    def test_a_library_of_another_format_is_an_error(
        self, run_program: Callable, library: Path, tmp_path: Path
    ) -> None:
        """Codelets of an older popc write to more counters than there are now."""
        older = tmp_path / "older.gp"
        content = library.read_bytes()
        older.write_bytes(content.replace(b"popc_format_", b"popc_farmot_"))
        assert older.read_bytes() != content
        done = run_program("foreign_library", str(older))
        assert done.stdout.startswith("poplar_error: ")
        assert "compile its codelets again" in done.stdout

    def test_a_library_of_something_else_is_an_error(
        self, run_program: Callable, prefix: Path, tmp_path: Path
    ) -> None:
        other = tmp_path / "other.gp"
        other.write_bytes((prefix / "lib" / "libpoplar.so").read_bytes())
        assert "poplar_error: " in run_program("foreign_library", str(other)).stdout
