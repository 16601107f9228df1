"""The process in a sandbox that runs code of users: one op for a training outside, or a training.

Its arguments are the descriptors of two pipes. The first message says which: `op` with its files,
or `training` with the assignment. What it writes is its own and is gone with it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Sequence

from ipulse_worker.runner.user_code.protocol import ends_of

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def main(arguments: Sequence[str]) -> None:
    """Answer the runner until it closes its end."""
    reads, writes = map(int, arguments)
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)  # if the runner ends first
    incoming, outgoing = ends_of(reads, writes)
    first = incoming.message()
    # An op needs no TensorFlow, and a training no emulator: each takes seconds to import.
    if first.kind == "op":
        from ipulse_worker.runner.user_code.ops.server import serve

        serve(incoming, outgoing, first.fields)
    else:
        from ipulse_worker.runner.sandboxed_training import run

        run(incoming, outgoing, first.fields)


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the regular shutdown of TensorFlow takes long
