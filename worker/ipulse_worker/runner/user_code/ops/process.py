"""The client of the sandboxed process that runs a custom op."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

import numpy as np

from ipulse_core import strict_json
from ipulse_core.limits import CONTROL_CHARACTERS
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.sandbox.process import ProcessEnded, SandboxedProcess
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.ops.server import MAX_MESSAGE, MAX_PROFILE_BYTES

CALL_SECONDS = 600.0  # a call of an op for one batch
LIMITS = SandboxLimits(seconds=366 * 86_400, memory_bytes=2**32, disk_bytes=2**28, processes=64)
_NEEDS_MEMORY = f"needs more than {LIMITS.memory_bytes // 2**20:,} MiB of memory"
_NEEDS_PROCESSES = (
    f"reached its limit of {LIMITS.processes} processes and threads: let it use fewer threads"
)
Shape = Tuple[int, ...]
Arrays = Sequence[np.ndarray]


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

    def load(self, layer: int, attributes: str) -> None:
        """Load the op for a layer with these attributes, which shows what is wrong with it."""
        self._request("load", layer, attributes, [], [])

    def forward(
        self, layer: int, attributes: str, spikes: np.ndarray, weights: Arrays, result: Shape
    ) -> np.ndarray:
        """Return the op's output, float32 of the given shape.

        Raises ProgramFailure, also for values that are no spikes.
        """
        arrays = [spikes, *weights]
        made: np.ndarray = self._request("forward", layer, attributes, arrays, [result])[0]
        if not np.all((made == 0) | (made == 1)):
            wrong = made[(made != 0) & (made != 1)].flat[0]
            self._fail(
                Reason.PROGRAM_FAILED,
                f"returned {wrong:g}: the output of a layer is spikes, each 0 or 1",
            )
        return made

    def backward(
        self,
        layer: int,
        attributes: str,
        gradient: np.ndarray,
        spikes: np.ndarray,
        weights: Arrays,
        output: np.ndarray,
        wanted: Sequence[int],
    ) -> List[np.ndarray]:
        """Return gradients; wanted: 0 for that of the spikes, 1 for that of the first weight, ...

        Raises ProgramFailure.
        """
        entering = [spikes, *weights]
        results = [entering[index].shape for index in wanted]
        arrays = [gradient, *entering, output]
        made: List[np.ndarray] = self._request("backward", layer, attributes, arrays, results)
        return made

    def profile(self, layer: int, attributes: str) -> Dict[str, Any]:
        """Return the profile of the op's program for a layer.

        Raises ProgramFailure; the op still runs if it has only no profile.
        """
        text = self._request("profile", layer, attributes, [], [], self._text)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict):
            return document
        why = f": {_printable(document[:MAX_MESSAGE])}" if isinstance(document, str) else ""
        message = f"The op {self._name} returned no profile{why}."
        raise ProgramFailure(Reason.PROGRAM_FAILED, message)

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _request(
        self,
        call: str,
        layer: int,
        attributes: str,
        arrays: Arrays,
        results: Sequence[Shape],
        receive: Optional[Callable[[float], Any]] = None,
    ) -> Any:
        """Return what `receive` does, by default arrays of the shapes `results`."""
        header = {
            "call": call,
            "layer": layer,
            "attributes": attributes,
            "arrays": [list(array.shape) for array in arrays],
            "results": [list(shape) for shape in results],
        }
        with self._lock:
            if self.failure is not None:
                raise self.failure
            try:
                deadline = time.monotonic() + CALL_SECONDS
                self._send(header, arrays, deadline)
                return receive(deadline) if receive else self._arrays(results, deadline)
            except ProcessEnded as ended:
                if ended.exceeded == "memory":
                    self._fail(Reason.OUT_OF_MEMORY, _NEEDS_MEMORY)
                if ended.exceeded:
                    late = f"did not return from {call} within {CALL_SECONDS:g} s"
                    self._fail(Reason.LIMIT_EXCEEDED, late)
                more = f", having {_NEEDS_PROCESSES}" if ended.lacked_processes else ""
                self._fail(Reason.PROGRAM_FAILED, f"ended its process in {call}{more}")
            except BaseException as error:
                if self.failure is None:
                    self.failure = error
                raise

    def _send(self, header: Dict[str, Any], arrays: Arrays, deadline: float) -> None:
        """Send a request, and wait until its results follow."""
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
            self._fail(Reason.PROGRAM_FAILED, f"failed in {header['call']}: {message}")

    def _arrays(self, shapes: Sequence[Shape], deadline: float) -> List[np.ndarray]:
        made = [np.empty(shape, np.float32) for shape in shapes]
        for array in made:
            self._process.receive(_bytes(array), deadline)
        return made

    def _text(self, deadline: float) -> bytes:
        length = bytearray(4)
        self._process.receive(length, deadline)
        size = int.from_bytes(length, "little")
        if size > MAX_PROFILE_BYTES:
            self._fail(Reason.PROGRAM_FAILED, f"returned a profile of {size:,} bytes")
        text = bytearray(size)
        self._process.receive(text, deadline)
        return bytes(text)

    def _message(self, deadline: float) -> str:
        length = bytearray(4)
        self._process.receive(length, deadline)
        text = bytearray(min(int.from_bytes(length, "little"), MAX_MESSAGE))
        self._process.receive(text, deadline)
        return _printable(text.decode("utf-8", "replace"))

    def _fail(self, reason: Reason, what: str) -> NoReturn:
        failure = ProgramFailure(reason, f"The op {self._name} {what}.")
        self.failure = self.failure or failure
        raise failure


def _printable(text: str) -> str:
    return CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text)


def _bytes(array: np.ndarray) -> memoryview:
    """Return the memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data
