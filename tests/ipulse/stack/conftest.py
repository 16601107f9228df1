"""A guarded process that sleeps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ipulse.stack.guarded_process import GuardedProcess

from .guarded import line_of, start


@pytest.fixture
def sleeper() -> Iterator[GuardedProcess]:
    with start("import time; print('up', flush=True); time.sleep(600)") as process:
        line_of(process)
        yield process
