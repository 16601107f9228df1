"""A clean environment for every test: none of the caller's settings leak in."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from hypothesis import settings

from .case_sample import outside_sample
from .ops.repeated import examples

# How long an example takes says how busy the machine is. What fails prints how to see it again.
# `IPULSE_EXAMPLES=2000 make test ARGS="tests/ops"` looks longer for a counterexample.
EXAMPLES = int(os.environ.get("IPULSE_EXAMPLES", "100"))
settings.register_profile(
    "ipulse",
    examples(EXAMPLES),
    deadline=None,
    print_blob=True,
    derandomize="CI" in os.environ,
)
settings.load_profile("ipulse")


def pytest_configure() -> None:
    """Started in the background, a run ignores Ctrl-C, and so would every program it starts."""
    os.environ["IPULSE_NICE"] = "0"  # several runs at once would starve the agents of each other
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by `-m` and `-k`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave some cases of tests with many to `make verify`. With ALL_CASES=1 all run.

    Python 3.8 repeats what it or its TensorFlow and NumPy have a part in.
    """
    if sys.version_info >= (3, 11):
        if os.environ.get("ALL_CASES", "0") == "0":
            candidates = [item for item in items if not item.get_closest_marker("verify")]
            for item in outside_sample(candidates):
                item.add_marker(pytest.mark.verify)
    else:
        kept = [item for item in items if not item.get_closest_marker("same_on_every_python")]
        if os.environ.get("ALL_CASES", "0") == "0":
            kept = _one_case_of_each(kept)
        ids = {item.nodeid for item in kept}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in ids])
        items[:] = kept


def _one_case_of_each(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the middle case of each test: the first and the last are often the edges."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    ids = {of[len(of) // 2].nodeid for of in cases.values()}
    return [item for item in items if item.nodeid in ids]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Says with each captured record all that it holds: the cause of a warning is not its name."""
    if sys.version_info < (3, 10):
        return  # no code that logs such records is tested there
    from ipulse.json_log import JSONLines

    logs = session.config.pluginmanager.get_plugin("logging-plugin")
    logs.report_handler.setFormatter(JSONLines())


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("IPULSE_") and name not in ("IPULSE_CACHE", "IPULSE_NICE"):
            monkeypatch.delenv(name)
