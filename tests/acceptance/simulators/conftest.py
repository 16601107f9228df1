"""The simulators are installed once."""

from __future__ import annotations

import pytest

from .environment import Simulators


@pytest.fixture(scope="session")
def simulators() -> Simulators:
    found = Simulators()
    found.install()
    return found
