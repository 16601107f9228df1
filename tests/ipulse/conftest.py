"""Fixtures of the tests of specs, client, command line and stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .live_service import LiveService


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """The real service, shared by the tests of a run: each has its own jobs."""
    from .live_service import LiveService

    with LiveService(tmp_path_factory.mktemp("home")) as live:
        yield live
