"""Runs the code blocks of the documentation and of the README, with Sybil.

Every block in Python or for the shell runs, in the order of its page, unless a comment `skip: next`
gives a reason. `tests/test_docs.py` refuses blocks in other forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reader import Reader
from sybil import Example, Sybil
from sybil.integration.pytest import pytest_integration as integration
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

DOCS = Path(__file__).parent
README = DOCS.parent / "README.md"
# Pages that use a service and do not start it.
ONLINE = [
    "tutorial/2-results.md",
    "guides/own-loss.md",
    "guides/own-neuron.md",
    "guides/own-op.md",
    "guides/own_data.md",
    "guides/program.md",
    "guides/python.md",
    "guides/quotas.md",
    "guides/sweeps.md",
    "guides/regression.md",
    "guides/tokens.md",
]


# Pages with many jobs, which `make verify` runs.
LONG = ["guides/continue.md", "guides/own-op.md", "guides/python.md"]
# Guides that `make test` runs with the README and the tutorial.
ALWAYS = [
    "guides/emulate.md",
    "guides/own_data.md",
    "guides/quotas.md",
    "guides/sign-in.md",
    "guides/sweeps.md",
    "guides/tokens.md",
]


@pytest.hookimpl(tryfirst=True)  # before tests/conftest.py and pytest select by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave long pages to `make verify`, and all guides but a few to the rotation of `.ci/run`."""
    long = {DOCS / page for page in LONG}
    always = {DOCS / page for page in ALWAYS}
    for item in items:
        if item.path in long:
            item.add_marker(pytest.mark.verify)
        elif item.path.is_relative_to(DOCS / "guides") and item.path not in always:
            item.add_marker(pytest.mark.sample(0))


@pytest.fixture(scope="session")
def everyones_reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """The reader of all pages; its stack runs on from page to page."""
    reader = Reader(tmp_path_factory.mktemp("home"))
    yield reader
    reader.stop()


@pytest.fixture(scope="module")
def reader(everyones_reader: Reader) -> Iterator[Reader]:
    """The reader at the begin of a page; Python code runs in the checkout and home of theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(everyones_reader.folder)
        for name in ("HOME", "IPULSE_CACHE"):
            patch.setenv(name, everyones_reader.environment[name])
        yield everyones_reader
        everyones_reader.leave_page()


@pytest.fixture(scope="module")
def stack(reader: Reader) -> None:
    """A running stack that the client finds by itself."""
    reader.start()


def run_in_shell(example: Example) -> None:
    """Run a shell block as the page's reader."""
    example.namespace["reader"].read(str(example.parsed), example.namespace.get("folder"))


parsers = [PythonCodeBlockParser(), CodeBlockParser("sh", run_in_shell), SkipParser()]
offline = Sybil(parsers, patterns=["*.md"], excludes=ONLINE, fixtures=["reader"])
online = Sybil(parsers, patterns=ONLINE, fixtures=["reader", "stack"])
readme = Sybil(parsers, path="..", patterns=["README.md"], fixtures=["reader", "stack"])
_collect = integration(offline, online, readme)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    """Collect a page; the README, which is outside this folder, in the place of the index."""
    return _collect(README if file_path == DOCS / "index.md" else file_path, parent)
