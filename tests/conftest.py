"""A clean environment for every test: none of the caller's IPUlse settings leak in."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("IPULSE_") and name not in ("IPULSE_CACHE",):
            monkeypatch.delenv(name)
