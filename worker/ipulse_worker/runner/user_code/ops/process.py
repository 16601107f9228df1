"""The client of the sandboxed process that runs a custom op."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Sequence, Tuple, TypeVar

import numpy as np

from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.sandbox.process import ProcessEnded
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code import budget
from ipulse_worker.runner.user_code.failure import ProgramFailure, excess, printable
from ipulse_worker.runner.user_code.ops.server import RESULT
from ipulse_worker.runner.user_code.process import UserProcess
from ipulse_worker.runner.user_code.protocol import BadMessage

_NEEDS_PROCESSES = (
    f"reached its limit of {budget.OP.processes} processes and threads: let it use fewer threads"
)
T = TypeVar("T")
Shape = Tuple[int, ...]
Arrays = Sequence[np.ndarray]


class OpProcess:
    """Calls an op; one call at a time, from any thread.

    The first error stays: TensorFlow reports the errors of its functions as texts, so that the
    attempt asks for `failure` after one.
    """

    def __init__(self, name: str, process: UserProcess, limits: SandboxLimits) -> None:
        """Take the process, which has its files.

        Args:
            name: of the op, for messages.
            process: in its sandbox.
            limits: of the process, for messages.
        """
        self._name = name
        self._process = process
        self._limits = limits
        self._lock = threading.Lock()
        self.failure: Optional[BaseException] = None

    def begin(self, files: Dict[str, Any]) -> None:
        """Name the files of the op, before anything else."""
        with self._failures("load"):
            self._process.request("op", files, has_answer=False)

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
        made = self._request("forward", layer, attributes, arrays, [result])[0]
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
        return self._request("backward", layer, attributes, arrays, results)

    def profile(self, layer: int, attributes: str) -> Dict[str, Any]:
        """Return the profile of the op's program for a layer.

        Raises ProgramFailure; the op still runs if it has only no profile.
        """
        text = self._asked("profile", layer, attributes, [], [], self._text)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict):
            return document
        why = f": {printable(document)}" if isinstance(document, str) else ""
        message = f"The op {self._name} returned no profile{why}."
        raise ProgramFailure(Reason.PROGRAM_FAILED, message)

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _request(
        self, call: str, layer: int, attributes: str, arrays: Arrays, results: Sequence[Shape]
    ) -> List[np.ndarray]:
        """Return the arrays of the shapes `results`."""

        def receive(size: int) -> List[np.ndarray]:
            made = [np.empty(shape, np.float32) for shape in results]
            due = sum(array.nbytes for array in made)
            if size != due:
                self._fail(
                    Reason.PROGRAM_FAILED, f"returned {size:,} bytes from {call}, not {due:,}"
                )
            for array in made:
                self._process.fill(_bytes(array))
            return made

        shapes = [list(shape) for shape in results]
        return self._asked(call, layer, attributes, arrays, shapes, receive)

    def _text(self, size: int) -> bytes:
        if size > budget.MAX_PROFILE_BYTES:
            self._fail(Reason.PROGRAM_FAILED, f"returned a profile of {size:,} bytes")
        return bytes(self._process.read(size))

    def _asked(
        self,
        call: str,
        layer: int,
        attributes: str,
        arrays: Arrays,
        results: Sequence[List[int]],
        receive: Callable[[int], T],
    ) -> T:
        """Return the result of `receive`, which reads the answer and gets its number of bytes."""
        fields = {
            "layer": layer,
            "attributes": attributes,
            "arrays": [list(array.shape) for array in arrays],
            "results": results,
        }
        parts = [_bytes(np.ascontiguousarray(array, np.float32)) for array in arrays]
        with self._failures(call):
            self._process.request(call, fields, parts)
            answer = self._process.message()
            if answer.kind == RESULT:
                return receive(answer.size)
            message = printable(answer.fields.get("message", ""))
            if message.startswith(MemoryError.__name__):
                raise self._excess("memory", call)
            self._fail(Reason.PROGRAM_FAILED, f"failed in {call}: {message}")

    @contextmanager
    def _failures(self, call: str) -> Iterator[None]:
        """Keep the first error of a call; raise ProgramFailure for that of the process."""
        with self._lock:
            if self.failure is not None:
                raise self.failure
            try:
                yield
            except ProcessEnded as ended:
                self.failure = self._end(ended, call)
                raise self.failure from ended
            except BadMessage as error:
                self._fail(Reason.PROGRAM_FAILED, f"answered {call} with no answer: {error}")
            except BaseException as error:
                if self.failure is None:
                    self.failure = error
                raise

    def _end(self, ended: ProcessEnded, call: str) -> ProgramFailure:
        if ended.exceeded:
            return self._excess(ended.exceeded, call)
        more = f", having {_NEEDS_PROCESSES}" if ended.lacked_processes else ""
        message = f"The op {self._name} ended its process in {call}{more}."
        return ProgramFailure(Reason.PROGRAM_FAILED, message)

    def _excess(self, exceeded: str, call: str) -> ProgramFailure:
        late = f"did not return from {call} within {budget.ANSWER_SECONDS:g} s"
        failure = excess(f"The op {self._name}", exceeded, self._limits, late)
        assert failure is not None  # noqa: S101 - it exceeded one of both
        return failure

    def _fail(self, reason: Reason, what: str) -> NoReturn:
        failure = ProgramFailure(reason, f"The op {self._name} {what}.")
        self.failure = self.failure or failure
        raise failure


def _bytes(array: np.ndarray) -> memoryview:
    """Return the memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data
