"""Error messages of `ipulse emulate` for programs that do not compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from poplar_emulator import emulate


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#include <boost/no_part_of_boost.hpp>", "apt-get install libboost-dev"),
        ("#include <popsparse/Embedding.hpp>", "the emulator has no popsparse/Embedding.hpp"),
        (
            "namespace boost { namespace program_options { void f(); } }\n"
            "int main() { boost::program_options::f(); }",
            "--flag=-lboost_program_options",
        ),
    ],
)
def test_a_missing_dependency_is_named_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, words: str
) -> None:
    """The prefix is empty, but the compiler and the linker are real."""
    source = tmp_path / "program.cpp"
    source.write_text(f"{line}\n")
    monkeypatch.setattr(emulate, "build", lambda progress=None: tmp_path)
    monkeypatch.setattr(emulate, "program_flags", lambda prefix: ())
    with pytest.raises(emulate.CompileFailed, match=words):
        emulate.compile_program([str(source)], tmp_path / "program")


def test_other_compiler_errors_have_no_hint() -> None:
    assert emulate.hint("wrong.cpp:3:11: error: 'Graf' is not a member of 'poplar'") == ""
