"""Documents speak of files and commands that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/evidence/reliability.md"]
MADE_LATER = {"demo-output/", ".venv", ".venv38"}


def text(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


@pytest.mark.parametrize("document", DOCUMENTS)
class TestDocuments:
    def test_every_file_named_in_passing_exists(self, document: str) -> None:
        named = set(
            re.findall(r"`([\w./-]+\.(?:py|toml|yml|md|in|inc)|[\w./-]+/)`", text(document))
        )
        named -= MADE_LATER
        assert [name for name in sorted(named) if not (ROOT / name).exists()] == []

    def test_every_make_command_is_one(self, document: str) -> None:
        targets = re.findall(r"^([a-z]+):", text("Makefile"), re.MULTILINE)
        named = re.findall(r"(?:^    |`)make ([a-z]+)", text(document), re.MULTILINE)
        assert set(named) <= set(targets)


def test_the_readmes_picture_is_there() -> None:
    (picture,) = re.findall(r'<img src="([^"]+)"', text("README.md"))
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")
