from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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
