"""Run one attempt at one job, then end the process."""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import os
import sys
from typing import List, NoReturn, Optional


def main(arguments: Optional[List[str]] = None) -> int:
    """Read an assignment from standard input and run it."""
    parser = argparse.ArgumentParser(prog="python -m ipulse_worker.runner", description=__doc__)
    parser.add_argument(
        "--events-fd",
        type=int,
        required=True,
        metavar="N",
        help="file descriptor, inherited, on which events are written as JSON lines",
    )
    descriptor = parser.parse_args(arguments).events_fd

    # TensorFlow reads these variables on import. They remove its banner from every job's log and
    # switch off oneDNN kernels: their order of summation varies.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

    from ipulse_core.spec.job_kinds import CODE_ONLY_VARIABLE
    from ipulse_worker.runner.cancellation import Cancellation
    from ipulse_worker.runner.clock import Clock, Timeline
    from ipulse_worker.runner.event_writer import EventWriter
    from ipulse_worker.runner.output_stream import redirect_output
    from ipulse_worker.runner.phase_progress import CODE_START, TRAINING_START, StartProgress
    from ipulse_worker.runner.runner_start import TENSORFLOW_IMPORT

    gc.disable()  # imports leave no garbage
    startup = Timeline(Clock())
    cancellation = Cancellation()
    events = EventWriter(descriptor)
    redirect_output(events)
    # A program of a user needs no TensorFlow, whose import takes seconds.
    is_code = bool(os.environ.pop(CODE_ONLY_VARIABLE, ""))
    progress = StartProgress(events, startup.clock, CODE_START if is_code else TRAINING_START)
    progress.begin_next()
    if not is_code:
        with startup.span("start", TENSORFLOW_IMPORT):
            importlib.import_module("tensorflow")
        progress.begin_next()

    from ipulse_worker.runner.session import serve

    if not is_code:
        from ipulse_worker.runner.warm_up import warm_up

        progress.begin_next()
        warm_up()
    gc.freeze()  # a collection would look at all that TensorFlow has made, for 0.4 s
    gc.enable()
    serve(sys.stdin.buffer, events, cancellation, startup, on_ready=progress.end)
    return 0


def end(exit_code: int) -> NoReturn:
    """Flush all output, also that of C++, and end the process at once.

    The regular shutdown of Python and TensorFlow takes more than ten times as long, and the agent
    waits for it.
    """
    from ipulse_worker.runner.output_stream import end_output

    end_output()
    ctypes.CDLL(None).fflush(None)
    os._exit(exit_code)


if __name__ == "__main__":
    end(main())
