"""The process in a sandbox that runs an op or a training, as the runner sees it."""

from __future__ import annotations

import math
import sys
import time
from typing import Any, Callable, Iterator, Mapping, Sequence

from ipulse_core.sandbox.device_access import NO_DEVICES, DeviceAccess
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.sandbox.sandbox import Sandbox
from ipulse_worker.runner.user_code import budget
from ipulse_worker.runner.user_code.protocol import Data, Incoming, Message, encoded

MODULE = "ipulse_worker.runner.sandboxed_process"
ISOLATED = ("-I", "-u", "-m", MODULE)  # arguments of Python: it needs nothing of its environment
WITH_PATH = ("-s", "-u", "-m", MODULE)  # it needs modules of an SDK, which PYTHONPATH names


class UserProcess:
    """Starts the process, sends it requests and reads its answers."""

    def __init__(
        self,
        sandbox: Sandbox,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        limits: SandboxLimits,
        devices: DeviceAccess = NO_DEVICES,
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the process, which waits for its first message.

        Args:
            sandbox: that shows what it needs.
            arguments: of Python.
            environment: its only variables.
            limits: of all its processes together.
            devices: of this machine.
            idle: called several times a second while an answer is waited for or arrives.
        """
        self._process = sandbox.start([sys.executable, *arguments], environment, limits, devices)
        self._idle = idle
        self._deadline = math.inf  # of the present answer
        self._incoming = Incoming(self._receive)

    def request(
        self,
        kind: str,
        fields: Mapping[str, Any],
        parts: Sequence[Data] = (),
        has_answer: bool = True,
    ) -> None:
        """Send a message with the bytes that follow it. Its answer must be there in time.

        Without an answer of its own, messages may take their time. Raises ProcessEnded.
        """
        deadline = time.monotonic() + budget.ANSWER_SECONDS
        self._deadline = deadline if has_answer else math.inf
        size = sum(memoryview(part).nbytes for part in parts)
        for data in (encoded(kind, fields, size), *parts):
            self._process.send(data, deadline)

    def message(self) -> Message:
        """Return the next message. Raises BadMessage and ProcessEnded."""
        return self._incoming.message()

    def fill(self, view: memoryview) -> None:
        """Fill a buffer with bytes that follow a message. Raises ProcessEnded."""
        self._incoming.fill(view)

    def read(self, size: int) -> bytearray:
        """Return bytes that follow a message. Raises ProcessEnded."""
        return self._incoming.read(size)

    def chunks(self, size: int) -> Iterator[Data]:
        """Yield bytes that follow a message. Raises ProcessEnded."""
        return self._incoming.chunks(size)

    def close(self) -> None:
        """End the process and everything that it started."""
        self._process.close()

    def _receive(self, view: memoryview) -> int:
        return self._process.receive(view, self._deadline, self._idle)
