"""popc compiles codelets, as a command and as part of a graph."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable, Dict

import pytest

from tests.emulator.compiled import PROGRAMS, compile_program


@pytest.fixture
def popc(prefix: Path, environment: Dict[str, str]) -> Callable:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(prefix / "bin" / "popc"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


def test_compiles_with_the_flags_of_the_device_s_popc(popc: Callable, tmp_path: Path) -> None:
    out = tmp_path / "codelets.gp"
    flags = ["-O3", "-g", "--target=ipu2,cpu", "-target=ipu2", "-DUNUSED=1", "-I", str(tmp_path)]
    flags += ["-mllvm", "-inline-threshold=9", "-Xclang", "-fno-pch-timestamp"]
    done = popc(*flags, str(PROGRAMS / "codelets.cpp"), "-o", str(out))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert out.stat().st_size > 0


def test_links_several_sources_into_one_file(
    popc: Callable, tmp_path: Path, prefix: Path, environment: Dict[str, str]
) -> None:
    """All kinds of declarations in codelets; no vertex is listed twice."""
    header = "#include <poplar/Vertex.hpp>\nusing namespace poplar;\n"
    first = tmp_path / "a.cpp"
    first.write_text(
        header
        + "#define FIELD(name) Input<Vector<float>> name\n"
        + "struct Shared : public Vertex { FIELD(in), more; };\n"
        + "namespace x { inline namespace v1 { struct A final : Shared {\n"
        + "  const unsigned n = 3, m{4}; static const int none = 1; enum E { P };\n"
        + "  A(); template <class T> T f(T t) const { return t; }\n"
        + "  bool operator()(int i) const { return i < 3; }\n"
        + "  // Output<float> no;\n"
        + '  const char *text() { return R"(struct B : Vertex {)"; }\n'
        + "  bool compute() { return in.size() > n; } }; } }\n"
    )
    second = tmp_path / "b.cpp"
    second.write_text(
        header
        + "namespace { template <class T, unsigned N, VectorLayout L> struct B : MultiVertex {\n"
        + "  Vector<InOut<Vector<T, L, N>>, VectorLayout::ONE_PTR, 4> out;\n"
        + "  void compute(unsigned w) { out[0][w] = T(w); } };\n"
        + "template struct B<half, 8, VectorLayout::ONE_PTR>; }\n"
    )
    out = tmp_path / "both.gp"
    assert popc(str(first), str(second), "-o", str(out)).stderr.endswith(": A.n, A.m\n")
    third, more = tmp_path / "c.cpp", tmp_path / "more.gp"
    third.write_text(header + "struct C : Vertex { bool compute() { return true; } };\n")
    assert popc(str(out), str(third), "-o", str(more)).stderr == ""
    program = tmp_path / "list.cpp"
    program.write_text(
        "#include <cstdio>\n#include <dlfcn.h>\n#include <poplar/Graph.hpp>\n"
        "#include <poplar/VertexTable.hpp>\nusing namespace poplar;\n"
        'int main(int, char **argv) { Graph g(Target::createIPUTarget(1, 2, "ipu2"));\n'
        'g.addCodelets(argv[2]); printf("%d%d%d\\n", g.hasCodelet("C"),\n'
        'g.hasCodelet("x::A"), g.hasCodelet("x::v1::A"));\n'
        "void *h = dlopen(argv[1], RTLD_NOW); std::vector<poplar::field::VertexTable> t;\n"
        '((void (*)(decltype(t) &))dlsym(h, "popc_describe"))(t);\n'
        'for (size_t i = 0; i < t.size(); ++i) { printf("%s %d:", t[i].name, '
        'int(t[i].kind)); for (unsigned k = 0; k < t[i].numFields; ++k) printf(" %s", '
        't[i].fields[k].name); printf(" %d\\n", t[i].codeBytes > 0); } }\n'
    )
    binary = compile_program(program)
    done = subprocess.run(
        [str(binary), str(out), str(more)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "101",
        "x::v1::A 0: in more n m 1",
        "B<half,8,poplar::VectorLayout::ONE_PTR> 1: out 1",
    ]


def test_warns_of_fields_whose_values_no_constructor_sets(popc: Callable, tmp_path: Path) -> None:
    source = tmp_path / "scaled.cpp"
    source.write_text(
        "#include <poplar/Vertex.hpp>\nusing namespace poplar;\n"
        "struct Pair { int first = 1; };\n"
        "struct Scaled : Vertex {\n"
        "  Output<float> out; const float low = -1.5f; int n{7}; bool set;\n"
        "  static constexpr float step = 0.5f; static const int most = 3;\n"
        "  bool compute() { int local = 2; *out = low * step + local * n; return set; }\n"
        "};\n"
    )
    done = popc(str(source), "-o", str(tmp_path / "scaled.gp"))
    assert done.returncode == 0, done.stderr
    assert "Scaled.low, Scaled.n\n" in done.stderr
    assert "setInitialValue" in done.stderr


def test_warns_of_const_fields_without_a_constructor(popc: Callable, tmp_path: Path) -> None:
    source = tmp_path / "sized.cpp"
    source.write_text(
        "#include <poplar/Vertex.hpp>\nusing namespace poplar;\n"
        "struct Sized : Vertex { const unsigned n; bool compute() { return n; } };\n"
        "template <class T> struct Many : Vertex { Output<T> o; const T n, m;\n"
        "  bool compute() { *o = n + m; return true; } };\ntemplate struct Many<int>;\n"
        "struct Declared : Vertex { Declared(); const int n; bool compute() { return n; } };\n"
        "struct Free : Vertex { int n; Input<Vector<const int>> i;\n"
        "  bool compute() { return n; } };\n"
    )
    done = popc(str(source), "-o", str(tmp_path / "sized.gp"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("without a body: Sized();, Many();\n")


def test_errors_include_the_compiler_s_output(popc: Callable, tmp_path: Path) -> None:
    source = tmp_path / "wrong.cpp"
    source.write_text("#include <poplar/Vertex.hpp>\nint x = y;\n")
    done = popc(str(source), "-o", str(tmp_path / "wrong.gp"))
    assert done.returncode == 1
    assert "wrong.cpp:2" in done.stderr
    source.write_text("#include <poplar/Vertex.hpp>\n#include <no_such_header.h>\n")
    words = popc(str(source), "-o", str(tmp_path / "wrong.gp")).stderr
    assert "no_such_header.h" in words
    assert "namespace" not in words  # nothing of what was preprocessed until there
    assert not (tmp_path / "wrong.gp").exists()


def test_errors_of_both_passes(popc: Callable, tmp_path: Path) -> None:
    source = tmp_path / "halves.cpp"
    source.write_text(
        "#include <poplar/Vertex.hpp>\n#ifdef __IPU__\n#include <no_such_header.h>\n#endif\n"
        "int x = of_no_such_header;\n"
    )
    words = popc(str(source), "-o", str(tmp_path / "halves.gp")).stderr
    assert "of_no_such_header" in words
    assert words.index("of_no_such_header") < words.index("no_such_header.h")


@pytest.mark.parametrize(
    ("name", "hint"), [("sum.S", "between #ifdef __IPU__ and #else"), ("sum.gp", "does not exist")]
)
def test_rejects_sources_it_cannot_compile(
    popc: Callable, tmp_path: Path, name: str, hint: str
) -> None:
    done = popc(str(PROGRAMS / "codelets.cpp"), name, "-o", str(tmp_path / "all.gp"))
    assert done.returncode == 1
    assert name in done.stderr
    assert hint in done.stderr
    assert not (tmp_path / "all.gp").exists()


def test_without_an_output_it_prints_its_usage(popc: Callable) -> None:
    done = popc(str(PROGRAMS / "codelets.cpp"))
    assert done.returncode == 2
    assert "usage: popc" in done.stderr
