from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from .driven_runner import DrivenRunner
from .forked_runner import start_server

with warnings.catch_warnings():
    # TensorFlow 2.6 imports what Python 3.8 calls deprecated, and TensorFlow is not under test.
    warnings.simplefilter("ignore", DeprecationWarning)
    import tensorflow  # noqa: F401

Start = Callable[..., DrivenRunner]

# Small, and long enough to be interrupted: 40 epochs of 5 steps.
SPEC: Dict[str, Any] = {
    "version": 1,
    "name": "small <digits> & more",
    "seed": 7,
    "data": {"kind": "digits", "samples": 200},
    "network": {
        "layers": [
            {"neurons": 32, "second_threshold": 0.5},
            {"neurons": 24, "second_threshold": 0.5, "capacity": 6},
        ],
        "initial_membrane_std": 0.5,
    },
    "training": {
        "epochs": 40,
        "batch_size": 32,
        "optimizer": {"kind": "adam", "learning_rate": 0.005},
    },
    "metadata": {"lab": "<script>alert(1)</script>"},
}


@pytest.fixture
def threads_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """For an attempt in the test's own process: TensorFlow's threads are started, and are kept."""
    from ipulse_worker.runner.backends import cpu, emulator

    for module in (cpu, emulator):
        monkeypatch.setattr(module, "configure_tensorflow", lambda threads, seed: None)


@pytest.fixture(scope="session")
def start_runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts a runner: a fork, or with an environment, if only an empty one, a program."""
    logs = tmp_path_factory.mktemp("runner-logs")
    started: List[DrivenRunner] = []
    start_server()

    def start(environment: Optional[Dict[str, str]] = None) -> DrivenRunner:
        runner = DrivenRunner(logs / f"{len(started)}.log", environment)
        started.append(runner)
        return runner

    yield start
    for runner in started:
        runner.close()


@pytest.fixture(scope="session")
def finished(start_runner: Start, tmp_path_factory: pytest.TempPathFactory) -> DrivenRunner:
    """A runner that has done SPEC, undisturbed; its files are in `finished_dir`."""
    runner = start_runner({})
    runner.until_kind("ready")  # an agent assigns no earlier
    runner.assign(tmp_path_factory.getbasetemp() / "finished", SPEC)
    code = runner.finish()
    assert code == 0, runner.printed()
    return runner


@pytest.fixture(scope="session")
def finished_dir(finished: DrivenRunner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp() / "finished"
