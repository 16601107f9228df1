"""`make lint` finds words that the project has replaced by those of its field."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "replaced-words"


@pytest.mark.parametrize(
    ("text", "code"),
    [("The dearest step.", 1), ("Two slots\nwere dropped.", 0), ("3 slots dropped.", 1)],
)
def test_a_replaced_word_is_found(tmp_path: Path, text: str, code: int) -> None:
    page = tmp_path / "docs" / "guides" / "page.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"# Page\n\n{text}\n")
    for words in (["git", "init", "-q"], ["git", "add", "docs"]):
        subprocess.run(words, cwd=tmp_path, check=True)
    script = shutil.copy(SCRIPT, tmp_path)
    ran = subprocess.run([script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (code, "")
    assert ("docs/guides/page.md:3:" in ran.stdout) == bool(code)
