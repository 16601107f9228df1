"""The client of the sandboxed process that runs a custom op."""

from __future__ import annotations

import threading
import time
from typing import Callable, List, NoReturn, Optional, Sequence, Tuple

import numpy as np

from ipulse_core import strict_json
from ipulse_core.limits import CONTROL_CHARACTERS
from ipulse_core.states import Reason
from ipulse_worker.runner.op.server import MAX_MESSAGE
from ipulse_worker.runner.program.failure import ProgramFailure
from ipulse_worker.runner.sandbox.limits import SandboxLimits
from ipulse_worker.runner.sandbox.process import ProcessEnded, SandboxedProcess

CALL_SECONDS = 600.0  # a call of an op for one batch
LIMITS = SandboxLimits(seconds=366 * 86_400, memory_bytes=2**32, disk_bytes=2**28, processes=64)
_NEEDS_MEMORY = f"needs more than {LIMITS.memory_bytes // 2**20:,} MiB of memory"
Shape = Tuple[int, ...]


class OpProcess:
    """Calls an op; one call at a time, from any thread.

    The first error stays: TensorFlow reports the errors of its functions as texts, so that the
    attempt asks for `failure` after one.
    """

    def __init__(self, name: str, start: Callable[[], SandboxedProcess]) -> None:
        """Start the process.

        Args:
            name: of the op, for messages.
            start: starts it in its sandbox.
        """
        self._name = name
        self._lock = threading.Lock()
        self.failure: Optional[BaseException] = None
        self._process = start()

    def load(self, attributes: str) -> None:
        """Load the op with these attributes, which shows what is wrong with it."""
        self._request("load", attributes, [], [])

    def forward(self, attributes: str, spikes: np.ndarray, result: Shape) -> np.ndarray:
        """Return the op's output, float32 of the given shape.

        Raises ProgramFailure, also for values that are no spikes.
        """
        (made,) = self._request("forward", attributes, [spikes], [result])
        if not np.all((made == 0) | (made == 1)):
            wrong = made[(made != 0) & (made != 1)].flat[0]
            self._fail(
                Reason.PROGRAM_FAILED,
                f"returned {wrong:g}: the output of a layer is spikes, each 0 or 1",
            )
        return made

    def backward(
        self, attributes: str, gradient: np.ndarray, spikes: np.ndarray, output: np.ndarray
    ) -> np.ndarray:
        """Return the gradient of the op's input. Raises ProgramFailure."""
        arrays = [gradient, spikes, output]
        (made,) = self._request("backward", attributes, arrays, [spikes.shape])
        return made

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _request(
        self, call: str, attributes: str, arrays: Sequence[np.ndarray], results: Sequence[Shape]
    ) -> List[np.ndarray]:
        with self._lock:
            if self.failure is not None:
                raise self.failure
            try:
                return self._exchange(call, attributes, arrays, results)
            except ProcessEnded as ended:
                if ended.exceeded == "memory":
                    self._fail(Reason.OUT_OF_MEMORY, _NEEDS_MEMORY)
                if ended.exceeded:
                    late = f"did not return from {call} within {CALL_SECONDS:g} s"
                    self._fail(Reason.LIMIT_EXCEEDED, late)
                self._fail(Reason.PROGRAM_FAILED, f"ended its process in {call}")
            except BaseException as error:
                if self.failure is None:
                    self.failure = error
                raise

    def _exchange(
        self, call: str, attributes: str, arrays: Sequence[np.ndarray], results: Sequence[Shape]
    ) -> List[np.ndarray]:
        deadline = time.monotonic() + CALL_SECONDS
        header = {
            "call": call,
            "attributes": attributes,
            "arrays": [list(array.shape) for array in arrays],
            "results": [list(shape) for shape in results],
        }
        process = self._process
        process.send((strict_json.dumps(header) + "\n").encode(), deadline)
        for array in arrays:
            sent = np.ascontiguousarray(array, np.float32)
            process.send(_bytes(sent), deadline)
        status = bytearray(1)
        process.receive(status, deadline)
        if status != b"\0":
            message = self._message(deadline)
            if message.startswith(MemoryError.__name__):
                self._fail(Reason.OUT_OF_MEMORY, _NEEDS_MEMORY)
            self._fail(Reason.PROGRAM_FAILED, f"failed in {call}: {message}")
        made = [np.empty(shape, np.float32) for shape in results]
        for array in made:
            process.receive(_bytes(array), deadline)
        return made

    def _message(self, deadline: float) -> str:
        length = bytearray(4)
        self._process.receive(length, deadline)
        text = bytearray(min(int.from_bytes(length, "little"), MAX_MESSAGE))
        self._process.receive(text, deadline)
        return CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text.decode("utf-8", "replace"))

    def _fail(self, reason: Reason, what: str) -> NoReturn:
        failure = ProgramFailure(reason, f"The op {self._name} {what}.")
        self.failure = self.failure or failure
        raise failure


def _bytes(array: np.ndarray) -> memoryview:
    """Return the memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data
