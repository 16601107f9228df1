"""The table of first errors of the Poplar programs under a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from poplar_emulator.census import FileResult, main, table

CODELET = """
#include <poplar/Vertex.hpp>
class Add : public poplar::Vertex {
public:
  poplar::InOut<float> x;
  bool compute() { x += ADDEND; return true; }
};
"""
HOST = "#include <poplar/Graph.hpp>\npoplar::Tensor t; int n = t.%s;\n"


def test_the_table_counts_errors_but_not_missing_libraries() -> None:
    results = [
        FileResult(Path("/all/good.cpp"), True, None),
        FileResult(Path("/all/one.cpp"), False, "no colour"),
        FileResult(Path("/all/two.cpp"), False, "no colour"),
        FileResult(Path("/all/far.cpp"), False, "nowhere/x.h: No such file or directory"),
        FileResult(Path("/all/near.cpp"), False, "popops/x.hpp: No such file or directory"),
    ]
    lines = [line.strip() for line in table(results, Path("/all")).splitlines()]
    assert lines[0].split() == ["2", "no", "colour"]
    assert lines[1:3] == ["one.cpp", "two.cpp"]
    assert "near.cpp" in lines[4]
    assert lines[-2:] == ["0 of 3 host programs compile", "1 of 1 codelet files compile"]


@pytest.mark.verify
def test_first_errors_and_totals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "addend.h").write_text("#define ADDEND 2\n")
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "deep" / "empty.h").write_text("")
    good = '#include "addend.h"\n#include "deep/empty.h"\n' + CODELET
    (tmp_path / "deep" / "deeper" / "good.cpp").write_text(good)
    (tmp_path / "bad.cpp").write_text(CODELET)
    device = "#ifdef __POPC__\n" + CODELET + "#endif\n"
    newer = "constinit int of_cpp20 = 1;\n"
    (tmp_path / "host.cpp").write_text(HOST % "rank()" + device + newer)
    for name in ("one", "two"):
        (tmp_path / f"{name}.cpp").write_text(HOST % "colour()")
    (tmp_path / "needs.cpp").write_text("#include <nowhere/x.h>\nnowhere y;\n" + HOST % "rank()")
    (tmp_path / "other.cpp").write_text("this is not about the device\n")
    assert main([str(tmp_path)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split()[0] == "2"
    assert "colour" in shown[0]
    assert [line.strip() for line in shown[1:3]] == ["one.cpp", "two.cpp"]
    assert "ADDEND" in shown[3]
    assert any("needs.cpp" in line and "nowhere/x.h" in line for line in shown)
    assert shown[-2:] == ["1 of 3 host programs compile", "1 of 2 codelet files compile"]
    for name in ("bad", "one", "two"):
        (tmp_path / f"{name}.cpp").unlink()
    assert main([str(tmp_path)]) == 0


@pytest.mark.verify
def test_own_headers_other_libraries_and_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.hpp").write_text("#pragma once\n#include <poplar/Graph.hpp>\n")
    program = '#include "mine.hpp"\n#include <boost/unused.hpp>\n#include <cassert>\n'
    program += "int main() { assert(poplar::FLOAT != poplar::INT); return %s; }\n"
    (tmp_path / "right.cpp").write_text(program % 0)
    (tmp_path / "wrong.cpp").write_text(program % 3)
    used = '#include "mine.hpp"\n#include <boost/used.hpp>\nboost::used x;\n'
    (tmp_path / "uses.cpp").write_text(used)
    assert main([str(tmp_path), "--run"]) == 0
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "uses.cpp: boost/used.hpp: No such file or directory" in shown
    assert shown[-4:] == [
        "0 of 0 codelet files compile",
        "2 of them with empty headers in place of other libraries'",
        "wrong.cpp: exit status 3",
        "1 of 2 programs that check themselves pass",
    ]


def test_a_folder_without_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert f"{tmp_path}: no C++ file includes a header of Poplar" in capsys.readouterr().err
