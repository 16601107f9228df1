"""A clean environment for every test: none of the caller's settings leak in."""

from __future__ import annotations

import gc
import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

from .case_sample import in_slice, outside_sample
from .example_seed import SEED

# `make test` has the same examples for everybody, `make verify` new ones (tests/example_seed.py).
# How long an example takes says how busy the machine is, so that no test fails for its time.
# `IPULSE_EXAMPLES=2000 make verify ARGS="tests/ops"` looks longer for a counterexample.
EXAMPLES = int(os.environ.get("IPULSE_EXAMPLES", "40" if SEED is None else "100"))
settings.register_profile(
    "ipulse",
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=SEED is None,
    database=None,
)
settings.load_profile("ipulse")

KEPT = ("IPULSE_CACHE", "IPULSE_NICE", "IPULSE_REQUESTS_BURST")  # settings in every test


@pytest.hookimpl(tryfirst=True)  # before Hypothesis reads its option
def pytest_configure(config: pytest.Config) -> None:
    """Started in the background, a run ignores Ctrl-C, and so would every program it starts."""
    gc.disable()  # until all modules are imported
    if SEED is not None:
        config.option.hypothesis_seed = str(SEED)
    os.environ["IPULSE_REQUESTS_BURST"] = "1000000"  # tests send more requests than people
    os.environ["IPULSE_NICE"] = "0"  # several runs at once would starve the agents of each other
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by `-m` and `-k`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the cases of a run: the sample of `make test`, a slice of the others, or all.

    Property tests are part of `make verify`, too, where they get new examples. Python 3.8 runs only
    the tests with the marker `old_python`: what it or its TensorFlow and NumPy have a part in.
    """
    if sys.version_info < (3, 10):
        _keep(config, items, [item for item in items if item.get_closest_marker("old_python")])
    if SEED is not None:
        for item in items:
            if draws_examples(item):
                item.add_marker(pytest.mark.verify)
    rotation = os.environ.get("IPULSE_ROTATION")
    if rotation is None and os.environ.get("ALL_CASES", "0") != "0":
        return
    others = outside_sample(item for item in items if not item.get_closest_marker("verify"))
    if rotation is not None:
        _keep(config, items, in_slice(others, rotation))
        return
    for item in others:
        item.add_marker(pytest.mark.verify)


def pytest_collection_finish() -> None:
    """Collects garbage again; `gc.freeze` would hide objects that Hypothesis looks for."""
    gc.enable()


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    ids = {item.nodeid for item in kept}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in ids])
    items[:] = [item for item in items if item.nodeid in ids]


def draws_examples(item: pytest.Item) -> bool:
    """Return whether the seed of a run changes the examples of a test."""
    test = getattr(item, "obj", None)
    return hasattr(test, "is_hypothesis_test") or any(item.iter_markers("seeded"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how to repeat tests that failed with new examples."""
    if SEED is None:
        return
    failed = {report.nodeid.partition("[")[0] for report in terminalreporter.getreports("failed")}
    for test in sorted(failed):
        terminalreporter.write_line(f"again: IPULSE_SEED={SEED} make verify ARGS='{test}'")


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
        if name.startswith("IPULSE_") and name not in KEPT:
            monkeypatch.delenv(name)
