"""The protocol between agent and runner: ready, one assignment, events, one verdict."""

from __future__ import annotations

import platform
import sys
import traceback
from contextlib import suppress
from typing import BinaryIO

import tensorflow as tf

from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, IPUlseError, Problem
from ipulse_core.events import Assignment, DoneEvent, ReadyEvent
from ipulse_core.states import Reason
from ipulse_ops.lif.cpu import native, op_library
from ipulse_ops.lif.cpu.native import NativeError
from ipulse_worker.runner.attempt import AttemptProcess
from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.clock import Clock, Timeline
from ipulse_worker.runner.data import DataUnavailable, digits
from ipulse_worker.runner.devices import poplar_errors
from ipulse_worker.runner.devices.pool import DeviceUnavailable
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.training.loop import Diverged

MESSAGE_LENGTH = 4000  # characters of a verdict; DoneEvent allows a little more

SMALLER = (
    "use a smaller training.batch_size, fewer data.steps or smaller layers, or a worker with more "
    "memory"
)


def serve(
    lines: BinaryIO,
    events: EventWriter,
    cancellation: Cancellation,
    startup: Clock,
) -> None:
    """Says ready, waits for an assignment and sees it through; returns without one at EOF.

    `startup`: began when the process did.
    """
    warm_up()
    ready = ReadyEvent(
        python=platform.python_version(),
        tensorflow=tf.__version__,
        import_seconds=startup.now(),
    )
    events.write(ready)
    line = lines.readline()
    if not line:
        return
    cancellation.defer()
    events.end_with_reader()
    timeline = Timeline(Clock())  # a warm runner may have waited for hours
    events.write(see_through(line, events, cancellation, timeline, ready.import_seconds))


def warm_up() -> None:
    """Imports, reads and loads what an assignment is likely to need, but builds nothing: that takes
    long, and a job says how far it is.

    Whether it is there is nobody's business yet: the phase that needs it says so, with the cure.
    """
    with suppress(ImportError):
        __import__("nir")
    with suppress(DataUnavailable):
        digits.scans()
    with suppress(NativeError, OSError, tf.errors.OpError):
        if native.is_tensorflow_op_built():
            native.library()
            op_library.library()


def read_assignment(line: bytes) -> Assignment:
    """Returns the assignment on a line of JSON.

    Raises:
        InvalidInput: The line is not an assignment.
    """
    document = strict_json.loads(line)
    try:
        return Assignment(**document)
    except TypeError as error:
        raise InvalidInput([Problem("", "invalid_assignment", str(error))]) from error


def see_through(
    line: bytes,
    events: EventWriter,
    cancellation: Cancellation,
    timeline: Timeline,
    import_seconds: float,
) -> DoneEvent:
    """Does what the assignment on the line asks, and says how it ended, whatever happens."""
    try:
        assignment = read_assignment(line)
        attempt = AttemptProcess(assignment, events, cancellation, timeline, import_seconds)
        summary = attempt.run()
    except BrokenPipeError:
        raise  # the agent is gone, and so is everybody who could be told
    except Exception as error:  # noqa: BLE001 - whatever it is, the job must learn how it ended
        # Those of ours say what is wrong, and where; no user has to read our code for it.
        if not isinstance(error, (Cancelled, IPUlseError, NativeError)):
            traceback.print_exc(file=sys.stderr)
        return verdict_of(error, cancellation.requested)
    return DoneEvent(reason=Reason.COMPLETED.value, message=attempt.message, summary=summary)


def verdict_of(error: Exception, cancelled: bool) -> DoneEvent:
    """How an attempt ended that this error stopped.

    cancelled: the agent asked for the end, so whatever broke afterwards broke because of it (a
    compiler gets the same signal).
    """
    if cancelled or isinstance(error, Cancelled):
        return _done(Reason.CANCELLED_BY_USER, "Cancelled.")
    of_poplar = poplar_errors.find(str(error))
    if of_poplar is not None:
        return _done(of_poplar.reason, of_poplar.message)
    if isinstance(error, DeviceUnavailable):
        return _done(Reason.DEVICE_UNAVAILABLE, error.message)
    if isinstance(error, DataUnavailable):
        return _done(Reason.DATA_UNAVAILABLE, error.message)
    if isinstance(error, NativeError):
        return _done(Reason.KERNEL_UNAVAILABLE, str(error))
    if isinstance(error, (tf.errors.ResourceExhaustedError, MemoryError)):
        return _done(Reason.OUT_OF_MEMORY, f"The worker's memory is not enough: {SMALLER}.")
    if isinstance(error, Diverged):
        return _done(Reason.DIVERGED, error.message)
    if isinstance(error, InvalidInput):
        places = "; ".join(str(problem) for problem in error.problems)
        return _done(Reason.RUNNER_ERROR, f"{error.message} {places}")
    if isinstance(error, IPUlseError):
        return _done(Reason.RUNNER_ERROR, error.message)
    first = str(error).strip().split("\n")[0]
    said = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return _done(Reason.RUNNER_ERROR, f"{said} (the log has the traceback)")


def _done(reason: Reason, message: str) -> DoneEvent:
    return DoneEvent(reason=reason.value, message=message[:MESSAGE_LENGTH])
