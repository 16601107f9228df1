"""The states of a job, the phases of an attempt, and the reasons why either ended.

State and reason are two enumerations. `TRANSITIONS` says which state may follow which,
`OUTCOMES` says to which state a reason leads, `POLICIES` whether and where another attempt
follows; nothing else in IPUlse decides any of them.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, FrozenSet, Mapping

from ipulse_core.errors import IllegalTransition


class Phase(str, Enum):
    """What an attempt is doing: the same five words in code, events and logs."""

    PREPARE = "prepare"  # dataset to arrays, seeds, shapes
    COMPILE = "compile"  # build ops and graph
    ACQUIRE = "acquire"  # wait for a device
    RUN = "run"  # train
    REPORT = "report"  # artifacts, profile, manifest last


class JobState(str, Enum):
    """Where a job stands."""

    QUEUED = "queued"  # accepted, waits for a worker
    PREPARING = "preparing"
    COMPILING = "compiling"
    ACQUIRING = "acquiring"
    RUNNING = "running"
    REPORTING = "reporting"
    CANCELLING = "cancelling"  # asked to stop; checkpoint and logs may still be written
    PAUSING = "pausing"  # asked to stop for now, likewise
    PAUSED = "paused"  # goes on from its last checkpoint when somebody resumes it
    RETRY_WAIT = "retry_wait"  # an attempt was lost; the next one is due soon
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL


class Reason(str, Enum):
    """Why a job or an attempt is where it is."""

    COMPLETED = "completed"
    CANCELLED_BY_USER = "cancelled_by_user"
    DEADLINE_EXCEEDED = "deadline_exceeded"  # waited, ran or took longer than its user allowed
    DATA_UNAVAILABLE = "data_unavailable"  # the data set cannot be read on the worker
    KERNEL_UNAVAILABLE = "kernel_unavailable"  # no compiler, or the ops did not build
    OUT_OF_MEMORY = "out_of_memory"
    DEVICE_UNAVAILABLE = "device_unavailable"  # the worker has none such, or none was free in time
    DEVICE_OUT_OF_MEMORY = "device_out_of_memory"  # the program does not fit into the tiles
    GRAPH_REFUSED = "graph_refused"  # Poplar refused the program while it was compiled
    APPLICATION_ERROR = "application_error"  # a tile stopped on an error of the program itself
    IPU_RESET = "ipu_reset"  # an error of the system, gone with the reset of the IPU
    PARTITION_RESET = "partition_reset"  # ... with the reset of the partition and its links
    FULL_RESET = "full_reset"  # ... with a power cycle
    UNRECOVERABLE = "unrecoverable"  # an error of the system that no reset is known to cure
    DIVERGED = "diverged"  # the loss is no longer a finite number
    RUNNER_ERROR = "runner_error"  # an error nobody foresaw; the log has it
    ARTIFACT_STORE = "artifact_store"  # results could not be stored
    RUNNER_LOST = "runner_lost"  # the runner process ended without a verdict
    WORKER_LOST = "worker_lost"  # the agent's lease expired
    WORKER_STOPPED = "worker_stopped"  # the agent was shut down


STATE_OF_PHASE: Mapping[Phase, JobState] = {
    Phase.PREPARE: JobState.PREPARING,
    Phase.COMPILE: JobState.COMPILING,
    Phase.ACQUIRE: JobState.ACQUIRING,
    Phase.RUN: JobState.RUNNING,
    Phase.REPORT: JobState.REPORTING,
}

TERMINAL: FrozenSet[JobState] = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
ACTIVE: FrozenSet[JobState] = frozenset(STATE_OF_PHASE.values())  # an attempt holds the job
# An attempt still holds the job, and is to leave it.
STOPPING: FrozenSet[JobState] = frozenset({JobState.CANCELLING, JobState.PAUSING})


class Policy(str, Enum):
    """What follows an attempt that was not completed."""

    FAIL = "fail"  # the job ends: another attempt would end the same way
    RETRY_HERE = "retry_here"  # another attempt, wherever; this worker may go on at once
    RETRY_ELSEWHERE = "retry_elsewhere"  # ... and this worker leaves the device alone for a while
    QUARANTINE = "quarantine"  # ... and this worker leaves it alone until it is started again


POLICIES: Mapping[Reason, Policy] = {
    **{reason: Policy.FAIL for reason in Reason if reason is not Reason.COMPLETED},
    Reason.RUNNER_LOST: Policy.RETRY_HERE,
    Reason.WORKER_LOST: Policy.RETRY_HERE,
    Reason.WORKER_STOPPED: Policy.RETRY_HERE,
    Reason.IPU_RESET: Policy.RETRY_HERE,
    Reason.PARTITION_RESET: Policy.RETRY_ELSEWHERE,
    Reason.FULL_RESET: Policy.QUARANTINE,
    Reason.UNRECOVERABLE: Policy.QUARANTINE,
}

# Lost infrastructure is not the user's failure: the next attempt resumes from the last
# checkpoint, until the service's cap says that the job itself is the poison.
INFRASTRUCTURE: FrozenSet[Reason] = frozenset(
    reason for reason, policy in POLICIES.items() if policy is not Policy.FAIL
)

OUTCOMES: Mapping[Reason, JobState] = {
    Reason.COMPLETED: JobState.SUCCEEDED,
    Reason.CANCELLED_BY_USER: JobState.CANCELLED,
    **{
        reason: JobState.FAILED
        for reason in Reason
        if reason not in (Reason.COMPLETED, Reason.CANCELLED_BY_USER)
    },
}

_ORDER = tuple(STATE_OF_PHASE.values())


def _transitions() -> Dict[JobState, FrozenSet[JobState]]:
    leave_active = {
        JobState.CANCELLING,
        JobState.PAUSING,
        JobState.RETRY_WAIT,
        JobState.FAILED,
    }
    idle = {JobState.CANCELLED, JobState.FAILED}  # nobody holds it, so it ends at once
    table = {
        JobState.QUEUED: {JobState.PREPARING, JobState.PAUSED, *idle},
        JobState.RETRY_WAIT: {JobState.QUEUED, JobState.PAUSED, *idle},
        JobState.PAUSED: {JobState.QUEUED, *idle},
        # A result that was complete before the runner heard of the cancel still counts; a
        # deadline asks for a stop too, and is a failure.
        JobState.CANCELLING: {JobState.CANCELLED, JobState.SUCCEEDED, JobState.FAILED},
        JobState.PAUSING: {
            JobState.PAUSED,
            JobState.CANCELLING,
            JobState.SUCCEEDED,
            JobState.FAILED,
        },
    }
    for index, state in enumerate(_ORDER):
        table[state] = leave_active | set(_ORDER[index + 1 :])
    table[JobState.ACQUIRING].add(JobState.COMPILING)  # connection ALWAYS swaps the two
    table[JobState.REPORTING].add(JobState.SUCCEEDED)
    for state in TERMINAL:
        table[state] = set()
    return {state: frozenset(after) for state, after in table.items()}


TRANSITIONS: Mapping[JobState, FrozenSet[JobState]] = _transitions()


def check_transition(before: JobState, after: JobState) -> None:
    """Raises IllegalTransition unless `after` may follow `before`."""
    if after not in TRANSITIONS[before]:
        raise IllegalTransition(f"a job that is {before.value} cannot become {after.value}")
