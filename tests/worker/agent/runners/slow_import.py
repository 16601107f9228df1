"""A runner that takes longer to import than it may do nothing, then runs a job as usual."""

import time

from tests.worker.agent.runners import scripted

USED_SECONDS = 2.4  # of processor time, which a loaded machine stretches

while time.process_time() < USED_SECONDS:
    pass
scripted.main()
