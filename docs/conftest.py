"""Runs the Python code blocks of the documentation, with Sybil."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

from ipulse.stack.stack import Stack

DOCS = Path(__file__).parent
# Pages with blocks that use a service.
ONLINE = ["tutorial/2-results.md"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working directory with the examples, as in a checkout; the demo's training is short."""
    folder = tmp_path_factory.mktemp("workspace")
    shutil.copytree(DOCS.parent / "examples", folder / "examples")
    (folder / "DIR").mkdir()  # stands for a directory that the reader chooses
    digits = folder / "examples" / "digits.yaml"
    digits.write_text(digits.read_text().replace("epochs: 20", "epochs: 1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def stack(workspace: Path) -> Iterator[Stack]:
    """A running stack that the client finds by itself."""
    home = workspace / "home"
    cache = os.environ.get("IPULSE_CACHE", str(Path.home() / ".cache" / "ipulse"))
    running = Stack(home, port=0, environment={"IPULSE_CACHE": cache})
    with running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPULSE_HOME", str(home))
        yield running


parsers = [PythonCodeBlockParser(), SkipParser()]
offline = Sybil(parsers, patterns=["*.md"], excludes=ONLINE, fixtures=["workspace"])
online = Sybil(parsers, patterns=ONLINE, fixtures=["stack"])
pytest_collect_file = (offline + online).pytest()
