"""Run a measured system as a child process that is stopped between questions."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
PR_SET_PDEATHSIG = 1  # linux/prctl.h


class OverBudget(RuntimeError):
    """The process gave no answer in time."""


class Ended(RuntimeError):
    """The process ended by itself; the message is the last line of its log."""


class PeerProcess:
    """A process of benchmarks.training.child, pinned to `threads` CPUs.

    It is stopped between questions, so that its threads take nothing from the other systems.
    Raises OverBudget if it is not ready within `ready_seconds`, Ended if it fails.
    """

    def __init__(
        self,
        name: str,
        python: Path,
        workload: Path,
        config: str,
        threads: int,
        log: Path,
        ready_seconds: float = 300.0,
    ) -> None:
        self.name = name
        self._log = log
        cpus = sorted(os.sched_getaffinity(0))[:threads]
        libc = ctypes.CDLL(None)

        def prepare() -> None:
            # Set before the first thread starts, so that every thread inherits it.
            os.sched_setaffinity(0, cpus)
            # Otherwise a stopped process would outlive a parent that is killed.
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [python, "-m", "benchmarks.training.child", name, workload, config, str(threads)],
                cwd=ROOT,
                env=_environment(threads),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                preexec_fn=prepare,
            )
        self.pid = self._process.pid
        self._answers = b""
        try:
            # The versions of its packages, and libraries_mib: the memory that importing them takes.
            self.built: dict[str, Any] = self._answer(ready_seconds)
        except BaseException:
            self.close()
            raise
        self._process.send_signal(signal.SIGSTOP)

    def __enter__(self) -> PeerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, command: str, seconds: float) -> dict[str, Any]:
        """Send a command of benchmarks.training.child and return its answer.

        Raises OverBudget, Ended.
        """
        self._process.send_signal(signal.SIGCONT)
        try:
            _pipe(self._process.stdin).write(command.encode() + b"\n")
        except BrokenPipeError:
            raise Ended(self._last_line()) from None
        answer = self._answer(seconds)
        self._process.send_signal(signal.SIGSTOP)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        _pipe(self._process.stdin).close()
        _pipe(self._process.stdout).close()

    def _answer(self, seconds: float) -> dict[str, Any]:
        out = _pipe(self._process.stdout)
        end = time.monotonic() + seconds
        while b"\n" not in self._answers:
            ready, _, _ = select.select([out], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise OverBudget(f"no answer within {seconds:.0f} s")
            received = os.read(out.fileno(), 65536)
            if not received:
                raise Ended(self._last_line())
            self._answers += received
        line, self._answers = self._answers.split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_line(self) -> str:
        self._process.wait()
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self._process.returncode}, no output"


def our_python() -> Path:
    """Return the interpreter of this process, in which our network runs."""
    return Path(sys.executable)


def _pipe(end: IO[bytes] | None) -> IO[bytes]:
    assert end is not None
    return end


def _environment(threads: int) -> dict[str, str]:
    return {
        **os.environ,
        **dict.fromkeys(
            ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads)
        ),
        "PYTHONPATH": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        # A cache on disk would hide the cost of compiling; its helper processes would spin on.
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
