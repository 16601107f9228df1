"""The protocol between agent and runner: ready, one assignment, events, one outcome."""

from __future__ import annotations

import os
import platform
import sys
import traceback
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, Dict, Optional, Union

from ipulse_core import strict_json
from ipulse_core.data_files.errors import LibraryMissing
from ipulse_core.errors import InvalidInput, IPUlseError, MissingDependency, Problem
from ipulse_core.events import PROTOCOL, Assignment, DoneEvent, ReadyEvent
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from ipulse_core.spec.job_kinds import CODE_KINDS
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_core.spec.single_layers import has_several_programs
from ipulse_core.states import Reason
from ipulse_core.worker_faults import fault_of
from ipulse_ops.lif.cpu.native import NativeError
from ipulse_ops.neuron_package.calls import BrokenPackage
from ipulse_ops.neuron_package.loading import PackageUnavailable
from ipulse_worker.runner.attempts.confined import ConfinedAttempt
from ipulse_worker.runner.attempts.program import ProgramAttempt
from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.clock import Clock, Timeline
from ipulse_worker.runner.data import DataUnavailable
from ipulse_worker.runner.data.dataset import DataInvalid, DataTooLarge
from ipulse_worker.runner.devices import poplar_errors
from ipulse_worker.runner.devices.pool import DeviceUnavailable
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.provenance import tensorflow_version
from ipulse_worker.runner.runner_start import RunnerStart
from ipulse_worker.runner.training.divergence import Diverged
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.trainings.rules import must_be_confined

if TYPE_CHECKING:
    from ipulse_worker.runner.attempts.training import AttemptProcess

MESSAGE_LENGTH = 4000  # characters; the limit of DoneEvent is slightly higher

SMALLER = (
    "use a smaller training.batch_size, fewer data.steps or smaller layers, or a worker with more "
    "memory"
)
SMALLER_DATA = "Use fewer samples, fewer events or a worker with more memory."


def serve(
    lines: BinaryIO,
    events: EventWriter,
    cancellation: Cancellation,
    startup: Timeline,
    on_ready: Callable[[], None],
) -> None:
    """Report ready, wait for an assignment and run it; return at the end of the input.

    Args:
        lines: input with one assignment.
        events: output.
        cancellation: of the process.
        startup: a clock that was started with the process.
        on_ready: called when the runner is about to report ready.
    """
    on_ready()
    ready = ReadyEvent(
        python=platform.python_version(),
        tensorflow=tensorflow_version(),
        import_seconds=startup.clock.now(),
    )
    events.write(ready)
    line = lines.readline()
    if not line:
        return
    cancellation.defer()
    events.end_with_reader()
    start = RunnerStart.of(startup, ready.import_seconds)
    timeline = Timeline(Clock())  # a warm runner may have waited for hours
    events.write(run_attempt(line, events, cancellation, timeline, start))


def read_assignment(line: bytes) -> Assignment:
    """Returns the assignment on a line of JSON.

    Raises:
        InvalidInput: The line is not an assignment of this protocol.
    """
    document = strict_json.loads(line)
    try:
        assignment = Assignment(**document)
    except TypeError as error:
        raise InvalidInput([Problem("", "invalid_assignment", str(error))]) from error
    if assignment.protocol != PROTOCOL:
        detail = f"this runner uses protocol {PROTOCOL}; got {assignment.protocol}"
        raise InvalidInput([Problem("/protocol", "wrong_protocol", detail)])
    return assignment


def run_attempt(
    line: bytes,
    events: EventWriter,
    cancellation: Cancellation,
    timeline: Timeline,
    start: RunnerStart,
) -> DoneEvent:
    """Run the assignment on the line and return its outcome; never raise for a failed attempt."""
    directory: Optional[str] = None
    on_one_ipu = False
    try:
        assignment = read_assignment(line)
        directory = assignment.work_dir
        on_one_ipu = is_on_one_ipu(assignment.spec)
        attempt: Union[AttemptProcess, ProgramAttempt, ConfinedAttempt]
        if assignment.spec.get("kind") in CODE_KINDS:
            attempt = ProgramAttempt(assignment, events, cancellation, timeline)
        elif must_be_confined(assignment, os.environ):
            attempt = ConfinedAttempt(assignment, events, cancellation, timeline)
        else:
            # It imports TensorFlow, for which no other attempt waits.
            from ipulse_worker.runner.attempts.training import AttemptProcess

            attempt = AttemptProcess(assignment, events, cancellation, timeline, start)
        summary = attempt.run()
    except BrokenPipeError:
        raise  # the agent has ended, so nobody reads the outcome
    except Exception as error:  # noqa: BLE001 - every error must end the job with a reason
        # Our own errors say what is wrong and where, so they need no traceback.
        if not isinstance(error, (Cancelled, IPUlseError, NativeError, ProgramFailure)):
            traceback.print_exc(file=sys.stderr)
        return outcome_of(error, cancellation.requested, directory, on_one_ipu)
    return DoneEvent(reason=attempt.reason.value, message=attempt.message, summary=summary)


def is_on_one_ipu(document: Dict[str, Any]) -> bool:
    """Returns whether the network of a resolved spec is on one IPU, as its layers want it."""
    network = document.get("network")
    if not isinstance(network, dict) or "readout" not in network:
        return False  # a spec of another kind, or none that was resolved
    return has_several_programs(read_spec({"network": network}).network)


def outcome_of(
    error: Exception,
    cancelled: bool,
    directory: Optional[str] = None,
    on_one_ipu: bool = False,
) -> DoneEvent:
    """Return the outcome of an attempt that an error stopped.

    Args:
        error: the exception.
        directory: the attempt's work directory, for errors of a disk that name no path.
        cancelled: whether the agent cancelled the attempt. Later errors are then a consequence of
            the cancellation (a compiler gets the same signal).
        on_one_ipu: whether the network cannot use several IPUs.
    """
    if cancelled or isinstance(error, Cancelled):
        return _done(Reason.CANCELLED_BY_USER, "Cancelled.")
    if isinstance(error, ProgramFailure):
        return _done(error.reason, error.message)
    if isinstance(error, SandboxUnavailable):
        return _done(Reason.SANDBOX_UNAVAILABLE, error.message)
    if isinstance(error, (MissingDependency, LibraryMissing)):
        return _done(Reason.LIBRARY_UNAVAILABLE, error.message)
    if isinstance(error, PackageUnavailable):
        return _done(Reason.PACKAGE_UNAVAILABLE, error.message)
    if isinstance(error, BrokenPackage):
        return _done(Reason.PROGRAM_FAILED, error.message)
    of_poplar = poplar_errors.find(str(error))
    if of_poplar is not None:
        return _done(of_poplar.reason, of_poplar.message(on_one_ipu))
    fault = fault_of(error, directory)
    if fault is not None:
        return _done(fault.reason, fault.message)
    if isinstance(error, DeviceUnavailable):
        return _done(Reason.DEVICE_UNAVAILABLE, error.message)
    if isinstance(error, DataInvalid):
        return _done(Reason.DATA_INVALID, error.message)
    if isinstance(error, DataUnavailable):
        return _done(Reason.DATA_UNAVAILABLE, error.message)
    if isinstance(error, NativeError):
        return _done(Reason.KERNEL_UNAVAILABLE, str(error))
    if isinstance(error, DataTooLarge):
        return _done(Reason.OUT_OF_MEMORY, f"Memory ran out while loading {error}. {SMALLER_DATA}")
    if isinstance(error, MemoryError) or _is_out_of_memory(error):
        return _done(Reason.OUT_OF_MEMORY, f"The worker does not have enough memory: {SMALLER}.")
    if isinstance(error, Diverged):
        return _done(Reason.DIVERGED, error.message)
    if isinstance(error, InvalidInput):
        places = "; ".join(str(problem) for problem in error.problems)
        return _done(Reason.RUNNER_ERROR, f"{error.message} {places}")
    if isinstance(error, IPUlseError):
        return _done(Reason.RUNNER_ERROR, error.message)
    first = str(error).strip().split("\n")[0]
    text = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return _done(Reason.RUNNER_ERROR, f"{text} (the log contains the traceback)")


def _is_out_of_memory(error: Exception) -> bool:
    """Return whether TensorFlow, if it is imported, ran out of memory."""
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(error, tf.errors.ResourceExhaustedError)


def _done(reason: Reason, message: str) -> DoneEvent:
    return DoneEvent(reason=reason.value, message=message[:MESSAGE_LENGTH])
