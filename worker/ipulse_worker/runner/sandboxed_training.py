"""One training in a sandbox, for the runner outside.

Its folder and its cache are its own; the builds that others made are links to read-only folders.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any, Mapping

from ipulse_core import strict_json
from ipulse_worker.runner.user_code.protocol import Incoming, Outgoing

ORDERS = {"cancel": signal.SIGTERM, "finish": signal.SIGUSR1}


def run(incoming: Incoming, outgoing: Outgoing, given: Mapping[str, Any]) -> None:
    """Run the training.

    Args:
        incoming: orders.
        outgoing: receives events and files.
        given: `builds` (read-only folders), `links` (files in its folder by name) and the
            `assignment`.
    """
    cache = Path(os.environ["IPULSE_CACHE"])
    cache.mkdir(parents=True)
    for build in given["builds"]:
        (cache / Path(build).name).symlink_to(build)
    work_dir = Path(given["assignment"]["work_dir"])
    work_dir.mkdir(exist_ok=True)
    for name, target in given["links"].items():
        (work_dir / name).symlink_to(target)
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

    # TensorFlow reads the variables above on import.
    from ipulse_worker.runner.cancellation import Cancellation
    from ipulse_worker.runner.clock import Clock, Timeline
    from ipulse_worker.runner.runner_start import RunnerStart
    from ipulse_worker.runner.session import run_attempt
    from ipulse_worker.runner.user_code.trainings.messages import SentEvents
    from ipulse_worker.runner.warm_up import warm_up

    cancellation = Cancellation()
    cancellation.defer()
    threading.Thread(target=_follow, args=(incoming,), name="orders", daemon=True).start()
    warm_up()
    events = SentEvents(outgoing, work_dir)
    line = strict_json.dumps(given["assignment"]).encode()
    events.write(run_attempt(line, events, cancellation, Timeline(Clock()), RunnerStart()))


def _follow(incoming: Incoming) -> None:
    """Pass on the orders of the runner; end with it."""
    try:
        while True:
            number = ORDERS.get(incoming.message().kind)
            if number is not None:
                os.kill(os.getpid(), number)
    finally:
        os._exit(1)  # sys.exit would only end this thread
