"""The process in the sandbox: one training with code of users, for the runner outside.

Its folder, its cache and what it writes are its own and are gone with it; the builds that others
made are links to read-only folders.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import IO, Sequence

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
ORDERS = {b"cancel": signal.SIGTERM, b"finish": signal.SIGUSR1}


def main(arguments: Sequence[str]) -> None:
    """Run the training.

    Arguments: JSON with `builds` (read-only folders) and `links` (files in its folder by name), and
    the descriptors of the two pipes. The first line that arrives is the assignment; others are
    orders.
    """
    files, reads, writes = arguments
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)  # if the runner ends first
    given = json.loads(files)
    cache = Path(os.environ["IPULSE_CACHE"])
    cache.mkdir(parents=True)
    for build in given["builds"]:
        (cache / Path(build).name).symlink_to(build)
    requests = os.fdopen(int(reads), "rb")
    line = requests.readline()
    work_dir = Path(json.loads(line)["work_dir"])
    work_dir.mkdir(exist_ok=True)
    for name, target in given["links"].items():
        (work_dir / name).symlink_to(target)
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

    # TensorFlow reads the variables above on import.
    from ipulse_worker.runner.cancellation import Cancellation
    from ipulse_worker.runner.clock import Clock, Timeline
    from ipulse_worker.runner.runner_start import RunnerStart
    from ipulse_worker.runner.session import run_attempt, warm_up
    from ipulse_worker.runner.user_code.trainings.messages import FileSendingWriter

    cancellation = Cancellation()
    cancellation.defer()
    threading.Thread(target=_follow, args=(requests,), name="orders", daemon=True).start()
    warm_up()
    events = FileSendingWriter(int(writes), work_dir)
    events.write(run_attempt(line, events, cancellation, Timeline(Clock()), RunnerStart()))


def _follow(requests: IO[bytes]) -> None:
    """Pass on the orders of the runner; end with it."""
    for line in requests:
        number = ORDERS.get(line.strip())
        if number is not None:
            os.kill(os.getpid(), number)
    os._exit(1)  # sys.exit would only end this thread


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the regular shutdown of TensorFlow takes long
