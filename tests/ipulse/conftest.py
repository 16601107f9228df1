"""On the runner's Python only the core is tested: it is all of `ipulse` that runs there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .live_service import LiveService

# On the runner's Python only the spec is there.
if sys.version_info < (3, 11):
    collect_ignore = [
        path.name
        for path in Path(__file__).parent.iterdir()
        if path.name != "spec" and (path.is_dir() or path.name.startswith("test_"))
    ]
    collect_ignore.append("spec/test_file.py")


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """The real service, shared by the tests of a run: each has its own jobs."""
    from .live_service import LiveService  # not there on the runner's Python

    with LiveService(tmp_path_factory.mktemp("home")) as live:
        yield live
