"""A runner that is forked where TensorFlow lies imported, which takes a process of its own seconds.

What it does is a runner's: the process, its session, its pipes, its signals and its end.
"""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing import forkserver, get_context, reduction
from pathlib import Path
from typing import Any, Optional

import pytest

from ipulse_worker.runner.__main__ import main

SOURCE = Path(__file__).resolve().parents[3]
RUNNER = "ipulse_worker.runner"
IMPORTED = ["pytest", f"{RUNNER}.session", f"{RUNNER}.warm_up", "sklearn.datasets", "nir"]


def start_server() -> None:
    """Start the server of forks once per test run; runners inherit its imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SOURCE))
        patch.setenv(
            "TF_CPP_MIN_LOG_LEVEL", "2"
        )  # both as worker/ipulse_worker/runner/__main__.py sets them
        patch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
        forkserver.set_forkserver_preload(IMPORTED)
        forkserver.ensure_running()


class Descriptor:
    """A descriptor of an open file, which is sent to a forked process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return _received, (reduction.DupFd(self.number),)


def _received(duplicate: Any) -> Descriptor:
    return Descriptor(duplicate.detach())


class ForkedRunner:
    """The part of subprocess.Popen that tests of runners use."""

    def __init__(self, output: int, events: int) -> None:
        reader, writer = os.pipe()
        files = [Descriptor(number) for number in (reader, output, events)]
        self._process = get_context("forkserver").Process(target=_run, args=files)
        self._process.start()
        os.close(reader)
        self.stdin = os.fdopen(writer, "wb")

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> Optional[int]:
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        code = self.poll()
        assert code is not None, f"runner {self.pid} is still there after {timeout} s"
        return code


def _run(stdin: Descriptor, output: Descriptor, events: Descriptor) -> None:
    assert "tensorflow" in sys.modules, "nothing was imported ahead"
    os.setsid()
    os.chdir(SOURCE)
    for standard in (1, 2):
        os.dup2(output.number, standard)
    sys.stdin = os.fdopen(stdin.number)
    sys.exit(main(["--events-fd", str(events.number)]))
