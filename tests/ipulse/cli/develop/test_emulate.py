"""emulate: Poplar programs from their sources, as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ipulse_core.pva.band import band_of
from tests.ipulse.cli.conftest import Ran, Run, finished
from tests.ipulse.live_service import ROOT

EXAMPLES = ROOT / "examples" / "poplar"
PROGRAMS = [EXAMPLES / f"{name}.cpp" for name in ("leaky_neurons", "save_and_load")]
SECTIONS = ("Target:", "Graph:", "Memory Usage:", "By Data Type:", "Execution (emulated cycles):")

# Ends as its argument says.
ENDS = """\
#include <iostream>
#include <string>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
using namespace poplar;
int main(int, char **argv) {
  std::cout << "before the end" << std::endl;
  IPUModel model;
  model.tilesPerIPU = 2;
  Device device = model.createDevice();
  Graph graph(device);
  graph.addCodelets("nothing.gp");
  const bool much = argv[1] == std::string("much");
  Tensor t = graph.addVariable(FLOAT, {much ? 200000u : 2u}, "wide");
  graph.setTileMapping(t, 1);
  Engine first(graph, program::WriteUndef(t)), second(graph, program::WriteUndef(t));
  first.load(device);
  first.run();
  std::exit(7);
}
"""
NOTHING = """\
#include <poplar/Vertex.hpp>
class Nothing : public poplar::Vertex { public: bool compute() { return true; } };
"""


@pytest.fixture
def ends(tmp_path: Path) -> Path:
    (tmp_path / "nothing.cpp").write_text(NOTHING)
    (tmp_path / "ends.cpp").write_text(ENDS)
    return tmp_path / "ends.cpp"


def emulate(source: Path, *arguments: str, **more: str) -> Ran:
    return finished("emulate", str(source), *arguments, **more)


@pytest.mark.sample(1)
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_runs_and_shows_its_profile(source: Path, tmp_path: Path) -> None:
    # Run from another directory: the codelets are in the folder of the source.
    kept = tmp_path / "kept"
    ran = emulate(source, "--profile", str(kept), "--", str(tmp_path / "file"))
    assert ran.code == 0, ran.err
    at = [ran.out.index(section) for section in SECTIONS]
    assert at == sorted(at)
    assert "emulated, not measured on an IPU" in ran.out
    profile = json.loads((kept / "profile.json").read_text())
    assert profile["emulated"] is True
    total = profile["execution"]["totalCycles"]["total"]
    assert f"{total:,}" in ran.out
    assert band_of(total).text in ran.out
    assert (kept / "summary.txt").read_text().rstrip() in ran.out


@pytest.mark.sample(0)
def test_its_end_is_the_program_s_and_every_engine_is_reported(ends: Path) -> None:
    ran = emulate(ends, f"--codelets={ends.parent / 'nothing.cpp'}", "--json", "--", "soon")
    assert ran.code == 7
    assert "before the end" in ran.err
    assert (ran.json["exit_status"], ran.json["exception"]) == (7, None)
    # The engines were alive when the program called exit.
    assert [len(profile["execution"]["runs"]) for profile in ran.json["profiles"]] == [1, 0]


@pytest.mark.sample(0)
def test_out_of_memory_is_named_and_profiled(ends: Path) -> None:
    ran = emulate(ends, f"--codelets={ends.parent / 'nothing.cpp'}", "--", "much")
    assert ran.code == 134
    assert "poplar::graph_memory_allocation_error: Out of memory" in ran.err
    assert "'wide' 800000 bytes" in ran.err
    assert "before the end" in ran.out
    assert "Tiles out of memory:                           1" in ran.out


def test_compile_errors_have_their_places(tmp_path: Path) -> None:
    source = tmp_path / "wrong.cpp"
    source.write_text("#include <poplar/Graph.hpp>\nint main() {\n  poplar::Graf graph;\n}\n")
    ran = emulate(source, "--json")
    assert ran.code == 2
    (problem,) = ran.json["error"]["problems"]
    assert problem["pointer"] == f"{source}:3:11"
    assert "Graf" in problem["detail"]
    assert f"{source}:3:11" in ran.err


def test_a_missing_compiler_has_a_hint(ends: Path) -> None:
    ran = emulate(ends, "--json", CXX="no-such-compiler")
    assert ran.code == 5
    assert ran.json["error"]["code"] == "missing_dependency"
    assert "no-such-compiler" in ran.err


def test_a_file_that_is_not_there_is_wrong_usage(offline: Run, tmp_path: Path) -> None:
    ran = offline("emulate", str(tmp_path / "none.cpp"))
    assert (ran.code, ran.out) == (2, "")
    assert "none.cpp" in ran.err


def test_a_checked_run_finds_a_write_outside_of_a_field() -> None:
    source = ROOT / "tests" / "emulator" / "programs" / "faulty_codelets.cpp"
    arguments = ("--no-profile", "--", "Behind", "1", "false")
    found = emulate(source, "--sanitize", *arguments)
    assert found.code == 0, found.err
    assert "'Behind' on tile 0" in found.out
    assert "0 bytes after the end" in found.out
    assert emulate(source, *arguments).out.startswith("sum ")


def test_a_python_script_gets_its_arguments_and_gives_its_status(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import sys\nprint(sys.argv[1:])\nsys.exit(3)\n")
    ran = emulate(script, "--epochs", "2")
    assert (ran.code, ran.out) == (3, "['--epochs', '2']\n")
    assert "nothing was emulated" in ran.err
    ran = finished("emulate", "--json", str(script))
    assert ran.json == {"exit_status": 3, "report": None}
