"""The states of a job, the phases of an attempt, and the reasons why they ended.

`TRANSITIONS` defines which state may follow which, `RETRIES` those that follow an end when a user
retries the job, `OUTCOMES` the state that a reason leads to, and `POLICIES` whether and where
another attempt follows. No other module decides any of this.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, FrozenSet, Mapping

from ipulse_core.errors import IllegalTransition


class Phase(str, Enum):
    """The phase of an attempt: the same five names in code, events and logs."""

    PREPARE = "prepare"  # dataset to arrays, seeds, shapes
    COMPILE = "compile"  # build ops and graph
    ACQUIRE = "acquire"  # wait for a device
    RUN = "run"  # train
    REPORT = "report"  # write artifacts and profile, the manifest last


class JobState(str, Enum):
    """The state of a job."""

    QUEUED = "queued"  # accepted, waiting for a worker
    PREPARING = "preparing"
    COMPILING = "compiling"
    ACQUIRING = "acquiring"
    RUNNING = "running"
    REPORTING = "reporting"
    CANCELLING = (
        "cancelling"  # the runner was asked to stop; it may still write a checkpoint and logs
    )
    PAUSING = "pausing"  # likewise, to continue later
    PAUSED = "paused"  # continues from its last checkpoint when it is resumed
    RETRY_WAIT = "retry_wait"  # an attempt was lost; the next one starts soon
    BLOCKED = "blocked"  # waits for other jobs to end before it is queued
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Return whether the job has ended."""
        return self in TERMINAL


class Reason(str, Enum):
    """The reason for the state of a job or the end of an attempt."""

    COMPLETED = "completed"
    FINISHED_EARLY = "finished_early"  # the user asked for the results so far
    PRUNED = "pruned"  # likewise the sweep of the job, which stops its weak trials
    CANCELLED_BY_USER = "cancelled_by_user"
    PAUSED_BY_USER = "paused_by_user"  # the end of an attempt of a paused job
    DEPENDENCY_FAILED = "dependency_failed"  # a job that it waited for ended otherwise
    DEADLINE_EXCEEDED = "deadline_exceeded"  # waited or ran longer than its user allowed
    DATA_UNAVAILABLE = "data_unavailable"  # the data set cannot be read on the worker
    DATA_INVALID = "data_invalid"  # a file of the data set has another format, or nothing to learn
    KERNEL_UNAVAILABLE = "kernel_unavailable"  # no compiler, or the ops did not build
    OUT_OF_MEMORY = "out_of_memory"
    DEVICE_UNAVAILABLE = "device_unavailable"  # no such device, or none free in time
    DEVICE_OUT_OF_MEMORY = "device_out_of_memory"  # the program does not fit into the tiles
    GRAPH_REFUSED = "graph_refused"  # Poplar refused the program while it was compiled
    APPLICATION_ERROR = "application_error"  # a tile stopped because of an error in the program
    IPU_RESET = "ipu_reset"  # a system error that a reset of the IPU clears
    PARTITION_RESET = "partition_reset"  # ... that a reset of the partition and its links clears
    FULL_RESET = "full_reset"  # ... that a power cycle clears
    UNRECOVERABLE = "unrecoverable"  # a system error that no known reset clears
    GATE_FAILED = "gate_failed"  # the profile does not meet a condition of the spec
    BUILD_FAILED = "build_failed"  # the compiler refused the user's program
    PROGRAM_FAILED = "program_failed"  # the user's program ended with an error
    LIMIT_EXCEEDED = "limit_exceeded"  # it ran longer than its spec allows
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"  # this worker cannot run code of users
    LIBRARY_UNAVAILABLE = "library_unavailable"  # this worker lacks a Python package
    PACKAGE_UNAVAILABLE = "package_unavailable"  # this worker may not run a package of neurons
    DIVERGED = "diverged"  # the loss is no longer a finite number
    RUNNER_ERROR = "runner_error"  # an unexpected error; the log shows it
    ARTIFACT_STORE = "artifact_store"  # results could not be stored
    RUNNER_LOST = "runner_lost"  # the runner process ended without reporting an outcome
    WORKER_LOST = "worker_lost"  # the agent's lease expired
    WORKER_STOPPED = "worker_stopped"  # the agent stopped it: shut down, drained or cut off
    PREEMPTED = "preempted"  # it made room for a job that comes before it
    WORKER_DISK_FULL = "worker_disk_full"  # no room or no inodes on a disk of the worker
    WORKER_DISK_FAILED = "worker_disk_failed"  # a disk of the worker is read-only or has errors
    WORKER_LIMIT = "worker_limit"  # no file descriptors, processes or threads left on the worker


STATE_OF_PHASE: Mapping[Phase, JobState] = {
    Phase.PREPARE: JobState.PREPARING,
    Phase.COMPILE: JobState.COMPILING,
    Phase.ACQUIRE: JobState.ACQUIRING,
    Phase.RUN: JobState.RUNNING,
    Phase.REPORT: JobState.REPORTING,
}

TERMINAL: FrozenSet[JobState] = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
ACTIVE: FrozenSet[JobState] = frozenset(STATE_OF_PHASE.values())  # an attempt is running
# No attempt holds the job.
IDLE: FrozenSet[JobState] = frozenset(
    {JobState.QUEUED, JobState.RETRY_WAIT, JobState.PAUSED, JobState.BLOCKED}
)
# An attempt is still running and was asked to stop.
STOPPING: FrozenSet[JobState] = frozenset({JobState.CANCELLING, JobState.PAUSING})


# The attempt left all its results.
COMPLETE: FrozenSet[Reason] = frozenset(
    {Reason.COMPLETED, Reason.FINISHED_EARLY, Reason.PRUNED, Reason.GATE_FAILED}
)


class Policy(str, Enum):
    """The reaction to an attempt that was not completed."""

    FAIL = "fail"  # end the job: another attempt would end the same way
    RETRY_HERE = "retry_here"  # another attempt on any worker, also this one at once
    RETRY_ELSEWHERE = "retry_elsewhere"  # ... this worker does not use the device for a while
    RETRY_ON_ANOTHER = "retry_on_another"  # ... this worker takes no job until the cause is gone
    RETRY_WHERE_PRESENT = "retry_where_present"  # ... on one that has what this one lacks
    QUARANTINE = "quarantine"  # ... this worker does not use the device until it restarts


POLICIES: Mapping[Reason, Policy] = {
    **{reason: Policy.FAIL for reason in Reason if reason not in COMPLETE},
    Reason.RUNNER_LOST: Policy.RETRY_HERE,
    Reason.WORKER_LOST: Policy.RETRY_HERE,
    Reason.WORKER_STOPPED: Policy.RETRY_HERE,
    Reason.PREEMPTED: Policy.RETRY_HERE,
    Reason.WORKER_DISK_FULL: Policy.RETRY_ON_ANOTHER,
    Reason.WORKER_DISK_FAILED: Policy.RETRY_ON_ANOTHER,
    Reason.WORKER_LIMIT: Policy.RETRY_ON_ANOTHER,
    Reason.KERNEL_UNAVAILABLE: Policy.RETRY_WHERE_PRESENT,
    Reason.SANDBOX_UNAVAILABLE: Policy.RETRY_WHERE_PRESENT,
    Reason.LIBRARY_UNAVAILABLE: Policy.RETRY_WHERE_PRESENT,
    Reason.PACKAGE_UNAVAILABLE: Policy.RETRY_WHERE_PRESENT,
    Reason.IPU_RESET: Policy.RETRY_HERE,
    Reason.PARTITION_RESET: Policy.RETRY_ELSEWHERE,
    Reason.FULL_RESET: Policy.QUARANTINE,
    Reason.UNRECOVERABLE: Policy.QUARANTINE,
}

# Failures of the infrastructure, not of the job: the next attempt resumes from the last checkpoint,
# up to the service's limit of attempts.
INFRASTRUCTURE: FrozenSet[Reason] = frozenset(
    reason for reason, policy in POLICIES.items() if policy is not Policy.FAIL
)

# Losses that count up to that limit. An agent stops an attempt when somebody shuts it down or
# drains it, when it cannot reach the service, or for another job: the job is never the cause.
COUNTED: FrozenSet[Reason] = INFRASTRUCTURE - {Reason.WORKER_STOPPED, Reason.PREEMPTED}

# The user asked to stop. A job that was paused is over only if it is cancelled, too.
STOPPED: FrozenSet[Reason] = frozenset({Reason.CANCELLED_BY_USER, Reason.PAUSED_BY_USER})

OUTCOMES: Mapping[Reason, JobState] = {
    **dict.fromkeys(COMPLETE - {Reason.GATE_FAILED}, JobState.SUCCEEDED),
    Reason.GATE_FAILED: JobState.FAILED,
    **dict.fromkeys(STOPPED, JobState.CANCELLED),
    **{reason: JobState.FAILED for reason in Reason if reason not in COMPLETE | STOPPED},
    Reason.DEPENDENCY_FAILED: JobState.CANCELLED,
}

_ORDER = tuple(STATE_OF_PHASE.values())


def _transitions() -> Dict[JobState, FrozenSet[JobState]]:
    leave_active = {
        JobState.CANCELLING,
        JobState.PAUSING,
        JobState.RETRY_WAIT,
        JobState.FAILED,
    }
    idle = {JobState.CANCELLED, JobState.FAILED}  # no attempt is running, so it ends at once
    table = {
        JobState.QUEUED: {JobState.PREPARING, JobState.PAUSED, *idle},
        JobState.RETRY_WAIT: {JobState.QUEUED, JobState.PAUSED, *idle},
        JobState.PAUSED: {JobState.QUEUED, *idle},
        JobState.BLOCKED: {JobState.QUEUED, *idle},
        # A result that was complete before the cancellation arrived still counts. A deadline also
        # stops the runner, and is a failure.
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
    table[JobState.ACQUIRING].add(JobState.COMPILING)  # connection ALWAYS swaps these phases
    table[JobState.REPORTING].add(JobState.SUCCEEDED)
    for state in TERMINAL:
        table[state] = set()
    return {state: frozenset(after) for state, after in table.items()}


TRANSITIONS: Mapping[JobState, FrozenSet[JobState]] = _transitions()

# The states in which these requests change a job.
CANCELLABLE: FrozenSet[JobState] = frozenset(JobState) - TERMINAL - {JobState.CANCELLING}
PAUSABLE: FrozenSet[JobState] = frozenset(
    before
    for before, after in TRANSITIONS.items()
    if after & {JobState.PAUSED, JobState.PAUSING} and before is not JobState.PAUSING
)

# A retry queues a failed job again, or blocks it while it waits for other jobs; and it blocks those
# again that were cancelled because of the failure. Such a job can be retried itself later.
RETRIES: Mapping[JobState, FrozenSet[JobState]] = {
    JobState.FAILED: frozenset({JobState.QUEUED, JobState.BLOCKED}),
    JobState.CANCELLED: frozenset({JobState.QUEUED, JobState.BLOCKED}),
}


def check_transition(before: JobState, after: JobState) -> None:
    """Checks that a state may follow another.

    Raises:
        IllegalTransition: `after` may not follow `before`.
    """
    if after not in TRANSITIONS[before] | RETRIES.get(before, frozenset()):
        raise IllegalTransition(f"a job that is {before.value} cannot become {after.value}")
