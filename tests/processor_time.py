"""Option `--processor-time`: the processor time of each file's tests and their processes.

Unlike the clock, it is the same on a busy machine.
"""

from __future__ import annotations

import resource
from collections import Counter
from typing import Iterator

import pytest

# Seconds by file. What a process does in the background counts where it ends.
_seconds: Counter[str] = Counter()
_SHOWN = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--processor-time", action="store_true", help="print the processor time of each file"
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = used()
    yield
    _seconds[item.location[0]] += used() - before


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not terminalreporter.config.getoption("--processor-time"):
        return
    terminalreporter.section("processor time")
    for name, seconds in _seconds.most_common(_SHOWN):
        terminalreporter.write_line(f"{seconds:8.1f} s  {name}")
    terminalreporter.write_line(
        f"{used():8.1f} s  the whole run, {sum(_seconds.values()):.1f} s in tests"
    )


def used() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
