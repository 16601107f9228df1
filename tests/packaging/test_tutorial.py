"""The tutorial in an environment of wheels with an empty home: its commands run as it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.acceptance.documented.reader import reader_class

from .conftest import ROOT, Environment

pytestmark = [pytest.mark.verify, pytest.mark.timeout(3600)]

PAGES = sorted(
    (ROOT / "docs" / "tutorial").glob("[1-9]*-*.md"), key=lambda page: int(page.stem.split("-")[0])
)
BLOCK = re.compile(r"(<!--- skip: next[^>]*-->\n\n)?```(\w+)\n(.*?)```", re.DOTALL)
# The examples in PATH/examples are all that a reader has of the checkout.
EXTRAS = ("ipulse[all,tensorboard]", "h5py", "pytest")


class Block(NamedTuple):
    page: str
    language: str
    text: str


def blocks() -> Iterator[Block]:
    for page in PAGES:
        for skipped, language, text in BLOCK.findall(page.read_text("utf-8")):
            if not skipped:
                yield Block(page.stem, language, text)


@pytest.fixture
def reader(environment: Environment) -> Iterator[Any]:
    environment.install(*EXTRAS)
    made = reader_class()(environment.folder / "home", environment.bin)
    yield made
    made.stop()


def test_every_command_prints_what_the_page_shows(reader: Any) -> None:
    programs: dict[str, str] = {}  # the Python code of a page so far
    shown = ""
    for page, language, text in blocks():
        if language == "sh":
            shown = reader.read(text)
        elif language == "python":
            programs[page] = programs.get(page, "") + text
            script: Path = reader.folder / f"{page}.py"
            script.write_text(programs[page])
            shown = reader.read(f"python {script.name}")
        elif language == "text":
            check_shown(text, shown)
        if (page, text.count("digits.yaml --watch")) == ("1-start", 1):
            # "After 20 epochs the test accuracy is between 95 and 98 %."
            [accuracy] = re.findall(r"test accuracy ([0-9.]+) %", shown)[-1:]
            assert 95 <= float(accuracy) <= 98


def check_shown(text: str, shown: str) -> None:
    """Each line of a page's example begins as a line of what was printed."""
    printed = shown.splitlines()
    for line in text.strip().splitlines():
        head = line.split("  ")[0].partition("http")[0]
        assert any(one.startswith(head) for one in printed), (head, shown)
