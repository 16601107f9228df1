"""A clean environment for every test: none of the caller's settings leak in."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is. What fails prints how to see it again.
settings.register_profile("ipulse", deadline=None, print_blob=True)
settings.load_profile("ipulse")


def pytest_configure() -> None:
    """Started in the background, a run ignores Ctrl-C, and so would every program it starts."""
    os.environ["IPULSE_NICE"] = "0"  # several runs at once would starve the agents of each other
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("IPULSE_") and name not in ("IPULSE_CACHE", "IPULSE_NICE"):
            monkeypatch.delenv(name)
