"""Documents, page and reports use the words of the glossary, and not those that it replaced."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = (
    "README.md",
    "docs/*.md",
    "service/ipulse_service/http/web/static/*.js",
    "worker/ipulse_worker/runner/report/*.py",
    "worker/ipulse_worker/runner/report/*.html",
)
REPLACED = {
    r"dearest": "most expensive",
    r"gradient (set|share)\b": "active-gradient fraction",
    r"(dropped|lost|without) (a )?slots?\b": "dropped spikes",
    r"slots? dropped": "dropped spikes",
    r"the judge of": "the reference implementation",
    r"\bcure\b": "hint",
    r"\bruns? table\b": "jobs table",
}


def test_no_text_has_a_word_that_the_glossary_replaced() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *PLACES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    assert len(files) > len(PLACES)
    found = [
        f"{path.relative_to(ROOT)}:{number}: say {better!r}: {line.strip()[:80]}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for word, better in REPLACED.items()
        if re.search(word, line, re.IGNORECASE)
    ]
    assert found == []
