"""Libraries with one thing wrong each, and ours with nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import pytest

from ipulse_core.build_cache.toolchain import compiler
from ipulse_ops.check.findings import Finding, check
from ipulse_ops.check.symbols import NotALibrary, exported
from ipulse_ops.lif.poplar.build import build

Library = Callable[[str], Path]
PARAMETERS = "metadata_parameters"
SOURCE = Path(__file__).with_name("op.cc")
# Definitions of a library, and the expected severities, codes and messages.
CASES: Dict[str, Tuple[List[Tuple[str, str]], str]] = {
    "": ([], ""),
    "-DALIASES": ([], ""),
    "-DLEVEL=4": (
        [("error", "api_level"), *[("error", PARAMETERS)] * 2],
        "7 parameters of level 5 in a library of level 4",
    ),
    "-DNO_LEVEL": ([("error", "api_level")], "its API level is 0, expected 5"),
    # An op that moved to SDK 2.3 with its old functions.
    "-DPARAMETERS=6": ([("error", PARAMETERS)] * 2, "6 parameters of level 4"),
    "-DPARAMETERS=6 -DUNTOUCHED": (
        [("warning", PARAMETERS)] * 2,
        "is_stateless arrives as is_elementwise",
    ),
    "-DPARAMETERS=6 -DALIASES": ([("error", PARAMETERS)] * 2, "6 parameters"),
    # Only a function that sets every field proves its level; here the gradient's does.
    "-DPARAMETERS=6 -DQUIET": (
        [
            ("warning", "metadata_unset"),
            ("warning", "not_hashable"),
            ("warning", "allocating_indices"),  # by what it takes for their number
            ("error", PARAMETERS),
        ],
        "6 parameters of level 4",
    ),
    "-DHASHABLE=false": ([("warning", "not_hashable")], "refused under PRE_COMPILE"),
    "-DUNSET": ([("warning", "metadata_unset"), ("warning", "not_hashable")], "is_hashable"),
    "-DNO_ALLOCATOR": ([("error", "missing_symbol")], "Build_allocator is missing"),
    "-DNO_GRAD": ([("note", "no_gradient"), ("error", "missing_symbol")], "no gradient"),
    "-DCRASH": ([("error", "metadata_damage")], "SIGSEGV"),
    "-DFOR_EVER": ([("error", "metadata_damage")], "SIGXCPU"),
    "-DUNDEFINED": ([("error", "not_loaded")], "nobody_defines_this"),
    "-DMANGLED": ([("error", "mangled")], 'extern "C"'),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The one of a case, compiled when it is first asked for."""
    directory = tmp_path_factory.mktemp("libraries")

    @lru_cache(maxsize=None)
    def compiled(case: str) -> Path:
        out = directory / f"{len(list(directory.iterdir()))}.so"
        command = [*compiler(), "-std=c++17", "-O0", "-shared", "-fPIC", *case.split()]
        subprocess.run([*command, str(SOURCE), "-o", str(out)], check=True)
        return out

    return compiled


@pytest.mark.sample(1)
@pytest.mark.parametrize("case", CASES)
def test_each_fault_is_found_and_nothing_else(
    library: Library, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ipulse_ops.check.findings.PROCESSOR_SECONDS", 1)
    expected, words = CASES[case]
    findings = check(library(case))
    # A case that changes Build_metadata alone leaves that of the gradient as it should be.
    assert [(one.severity, one.code) for one in findings] == expected
    assert words in "\n".join(one.message for one in findings)


def test_a_library_of_the_old_level_is_right_for_the_old_tensorflow(
    tmp_path: Path,
) -> None:
    out = tmp_path / "old.so"
    flags = ["-std=c++17", "-shared", "-fPIC", "-DLEVEL=4", "-DPARAMETERS=6"]
    subprocess.run([*compiler(), *flags, str(SOURCE), "-o", str(out)], check=True)
    assert check(out, level=4) == []
    assert [one.code for one in check(out)] == ["api_level"]


def test_an_op_that_cannot_be_kept_is_an_error_where_it_must_be(
    library: Library,
) -> None:
    (finding,) = check(library("-DHASHABLE=false"), pre_compile=True)
    assert (finding.severity, finding.code, finding.op) == ("error", "not_hashable", "Build")


def test_an_op_of_another_name_is_missed(library: Library) -> None:
    findings = check(library(""), ops=["SpikeMatmul"])
    assert (
        Finding("error", "missing_symbol", "SpikeMatmul", "SpikeMatmul is not exported") in findings
    )


@pytest.mark.parametrize("level", [4, 5])
@pytest.mark.sample(1)
def test_our_own_library_passes(level: int) -> None:
    findings = check(build(level).library, level=level, pre_compile=True)
    # The ops that update weights are the only ones without a gradient.
    assert sorted((one.severity, one.code, one.op) for one in findings) == [
        ("note", "no_gradient", "Adam"),
        ("note", "no_gradient", "Train"),
    ]


class TestTheProgram:
    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ipulse_ops.check", *arguments]
        root = Path(__file__).parents[3]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    @pytest.mark.parametrize(("more", "fine"), [(" -DUNTOUCHED", True), ("", False)])
    def test_findings_are_printed_as_json(self, library: Library, more: str, fine: bool) -> None:
        """A function that touches the map overwrites memory; another one only misleads."""
        done = self.run("--json", str(library(f"-DPARAMETERS=6{more}")))
        assert done.returncode == (0 if fine else 1)
        output = json.loads(done.stdout)
        assert output["fine"] is fine
        assert {finding["code"] for finding in output["findings"]} == {PARAMETERS}

    def test_refuses_what_is_no_library(self, tmp_path: Path) -> None:
        text = tmp_path / "op.so"
        text.write_text("int main() {}")
        done = self.run(str(text))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"{text} is no shared library\n"
        gone = self.run(str(tmp_path / "gone.so"))
        assert (gone.returncode, gone.stderr.count("\n")) == (2, 1)


def test_a_library_that_is_cut_short_is_none(tmp_path: Path) -> None:
    cut = tmp_path / "cut.so"
    cut.write_bytes(build().library.read_bytes()[:5000])
    with pytest.raises(NotALibrary, match="cut short"):
        exported(cut)
