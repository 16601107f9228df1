"""What `ipulse emulate` says of a program that does not compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from poplar_emulator import emulate


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#include <boost/no_part_of_boost.hpp>", "apt-get install libboost-dev"),
        ("#include <popsparse/MatMul.hpp>", "the emulator has no popsparse/MatMul.hpp"),
        (
            "namespace boost { namespace program_options { void f(); } }\n"
            "int main() { boost::program_options::f(); }",
            "--flag=-lboost_program_options",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, words: str
) -> None:
    """A prefix without headers and libraries will do: the compiler and linker are the real ones."""
    source = tmp_path / "program.cpp"
    source.write_text(f"{line}\n")
    monkeypatch.setattr(emulate, "build", lambda progress=None: tmp_path)
    monkeypatch.setattr(emulate, "program_flags", lambda prefix: ())
    with pytest.raises(emulate.CompileFailed, match=words):
        emulate.compile_program([str(source)], tmp_path / "program")


def test_other_errors_are_left_to_the_compiler_s_words() -> None:
    assert emulate.hint("wrong.cpp:3:11: error: 'Graf' is not a member of 'poplar'") == ""
