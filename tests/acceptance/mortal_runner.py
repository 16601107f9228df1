"""A runner that kills itself with SIGKILL in a phase that the test chooses.

Only the moment is arranged: the processes are real, and find out as always.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ORDERS = Path(os.environ["IPULSE_DEVICES"]).parent / "orders"  # a file by the name of a phase


def main() -> int:
    from ipulse_worker.runner.__main__ import main as run
    from ipulse_worker.runner.attempts.training import AttemptProcess

    lived, saved = AttemptProcess._phase, AttemptProcess._save

    @contextmanager
    def lives(attempt: AttemptProcess, phase: Any) -> Iterator[None]:
        with lived(attempt, phase):
            yield
            _obey(phase.value)

    def save(attempt: AttemptProcess, training: Any) -> None:
        saved(attempt, training)
        _obey("run")  # while it runs, and not when it has run

    AttemptProcess._phase = lives  # type: ignore[method-assign]  # for this process
    AttemptProcess._save = save  # type: ignore[method-assign]  # for this process
    return run()


def _obey(phase: str) -> None:
    order = ORDERS / phase
    if order.exists():
        order.read_text()  # a pipe, if the test has to do something before
        order.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    upload = ORDERS / "upload"
    if phase == "report" and upload.exists():
        # Everything is written; the service takes nothing in until the test has killed the agent.
        os.kill(int(upload.read_text()), signal.SIGSTOP)
        upload.unlink()
        (ORDERS / "stopped").write_text("stopped")  # a pipe; the test waits at its other end


if __name__ == "__main__":
    sys.exit(main())
