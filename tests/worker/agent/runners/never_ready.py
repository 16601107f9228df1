"""A runner that is never ready: its import does not end."""

import os
import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b"importing\n")
time.sleep(600)
