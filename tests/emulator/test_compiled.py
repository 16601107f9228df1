from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ipulse_core.build_cache.toolchain import compiler
from poplar_emulator.build import LIBRARIES, program_flags
from tests.emulator.compiled import compile_program, prefix_of


def test_a_kept_program_is_that_of_its_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix_of(False)
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path / "cache"))
    source, header = tmp_path / "program.cpp", tmp_path / "value.h"
    source.write_text('#include <cstdio>\n#include "value.h"\nint main() { puts(VALUE); }\n')

    def output(value: int) -> str:
        header.write_text(f'#define VALUE "{value}"\n')
        compile_program.cache_clear()
        program = str(compile_program(source))
        return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout

    assert [output(1), output(2), output(1)] == ["1\n", "2\n", "1\n"]
    assert len(list((tmp_path / "cache" / "test-programs").iterdir())) == 2


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("library", "header", "call"),
    [
        ("poplar", "poplar/Graph.hpp", "poplar::Graph g(poplar::Target::createCPUTarget());"),
        (
            "poputil",
            "poputil/TileMapping.hpp",
            "poputil::mapTensorLinearly(graph, poplar::Tensor());",
        ),
        ("popops", "popops/codelets.hpp", "popops::addCodelets(graph);"),
        ("poplin", "poplin/codelets.hpp", "poplin::addCodelets(graph);"),
        ("popnn", "popnn/codelets.hpp", "popnn::addCodelets(graph);"),
        ("poprand", "poprand/codelets.hpp", "poprand::addCodelets(graph);"),
        ("popsparse", "popsparse/codelets.hpp", "popsparse::addCodelets(graph);"),
        (
            "popfloat",
            "popfloat/experimental/CastToHalf.hpp",
            "popfloat::experimental::halfToSingle(1);",
        ),
        ("pvti", "pvti/pvti.hpp", 'pvti::TraceChannel channel("none");'),
    ],
)
def test_a_library_that_is_not_named_is_missed(
    library: str, header: str, call: str, tmp_path: Path
) -> None:
    """Each library of the SDK has its own functions, as there: without its -l, linking fails."""
    prefix = prefix_of(False)
    source = tmp_path / "program.cc"
    source.write_text(
        "#include <poplar/Graph.hpp>\n"
        f"#include <{header}>\n"
        f"void use(poplar::Graph &graph) {{ (void)graph; {call} }}\n"
        "int main() {}\n"
    )
    every = [flag for flag in program_flags(prefix) if not flag.startswith("-l")]
    names = ("poplar", *LIBRARIES)
    others = [f"-l{name}" for name in names if name != library]
    command = [*compiler(), str(source), "-o", str(tmp_path / "program"), *every]
    without = subprocess.run([*command, *others], capture_output=True, text=True, check=False)
    assert without.returncode != 0
    assert "undefined reference" in without.stderr or "DSO missing" in without.stderr
    alone = ["-lpoplar", f"-l{library}"]
    subprocess.run([*command, *alone], check=True)
