"""`python -m ipulse_worker.runner --events-fd N`: one attempt at one job, then the end of the
process."""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
from typing import List, NoReturn, Optional


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ipulse_worker.runner", description=__doc__)
    parser.add_argument(
        "--events-fd",
        type=int,
        required=True,
        metavar="N",
        help="file descriptor, inherited, on which events are written as JSON lines",
    )
    descriptor = parser.parse_args(arguments).events_fd

    # Read when TensorFlow is imported, so set before: no banner in every job's log, and no
    # oneDNN kernels, which choose their order of summation by themselves.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

    from ipulse_worker.runner.cancellation import Cancellation
    from ipulse_worker.runner.clock import Clock
    from ipulse_worker.runner.event_writer import EventWriter

    startup = Clock()
    cancellation = Cancellation()

    from ipulse_worker.runner.session import serve

    serve(sys.stdin.buffer, EventWriter(descriptor), cancellation, startup)
    return 0


def end(exit_code: int) -> NoReturn:
    """Ends the process with all that was printed, also by C++, and without taking Python and
    TensorFlow apart: somebody waits for the end, and the kernel does it in a tenth of the time."""
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit(exit_code)


if __name__ == "__main__":
    end(main())
