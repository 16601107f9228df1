"""The outcome that the agent derives from a runner's report, exit code and stop cause."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from ipulse_core.events import DoneEvent
from ipulse_core.states import Reason
from ipulse_worker.agent.supervision.runner_exit import RunnerExit, StopCause, oom_kills, outcome_of

COMPLETED = DoneEvent(reason="completed", summary={"test_accuracy": 0.9})
CANCELLED = DoneEvent(reason="cancelled_by_user")
DIVERGED = DoneEvent(reason="diverged", message="NaN")
STOPS = [None, *StopCause]


@pytest.mark.parametrize("stop", [None, StopCause.CANCELLED, StopCause.WORKER_STOPPED])
@pytest.mark.parametrize("exit_code", [0, 1, -9])
def test_a_complete_result_is_complete_whenever_it_came(
    stop: StopCause | None, exit_code: int
) -> None:
    outcome = outcome_of(RunnerExit(COMPLETED, exit_code, has_manifest=True, stop=stop))
    assert outcome.reason is Reason.COMPLETED
    assert outcome.summary == {"test_accuracy": 0.9}


def test_results_that_miss_a_gate_are_complete_and_kept() -> None:
    done = DoneEvent(reason="gate_failed", message="cycles<1", summary={"test_accuracy": 0.9})
    outcome = outcome_of(RunnerExit(done, 0, has_manifest=True))
    assert (outcome.reason, outcome.message) == (Reason.GATE_FAILED, "cycles<1")
    assert outcome.summary == {"test_accuracy": 0.9}
    assert outcome_of(RunnerExit(done, 0)).reason is Reason.RUNNER_ERROR


@pytest.mark.parametrize("stop", STOPS)
def test_without_a_manifest_nothing_is_complete(stop: StopCause | None) -> None:
    assert outcome_of(RunnerExit(COMPLETED, 0, stop=stop)).reason is not Reason.COMPLETED


@pytest.mark.parametrize("done", [None, CANCELLED, DIVERGED])
@pytest.mark.parametrize("exit_code", [0, 1, -15, -9])
@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (StopCause.CANCELLED, Reason.CANCELLED_BY_USER),
        (StopCause.WORKER_STOPPED, Reason.WORKER_STOPPED),
        (StopCause.BROKEN, Reason.RUNNER_ERROR),
    ],
)
def test_the_agents_own_cause_counts(
    done: DoneEvent | None, exit_code: int, stop: StopCause, reason: Reason
) -> None:
    assert outcome_of(RunnerExit(done, exit_code, stop=stop)).reason is reason


def test_a_runner_that_ran_out_of_memory_before_a_shutdown_is_lost() -> None:
    """A service manager may stop the agent because of it, again and again."""
    stopped = {"stop": StopCause.WORKER_STOPPED}
    assert outcome_of(RunnerExit(None, -9, oom_kills=1, **stopped)).reason is Reason.RUNNER_LOST
    for spared in (
        RunnerExit(None, -15, oom_kills=1, **stopped),
        RunnerExit(None, -9, **stopped),
        RunnerExit(CANCELLED, -9, oom_kills=1, **stopped),
    ):
        assert outcome_of(spared).reason is Reason.WORKER_STOPPED


def test_a_cancel_outweighs_a_shutdown_and_both_outweigh_a_broken_protocol() -> None:
    assert max(StopCause) is StopCause.CANCELLED
    assert min(StopCause) is StopCause.BROKEN


def test_the_outcome_of_the_runner_stands_unless_it_was_stopped() -> None:
    outcome = outcome_of(RunnerExit(DIVERGED, 0))
    assert (outcome.reason, outcome.message) == (Reason.DIVERGED, "NaN")


@pytest.mark.parametrize("claimed", [Reason.RUNNER_LOST, Reason.WORKER_LOST, Reason.WORKER_STOPPED])
def test_a_runner_cannot_report_reasons_of_the_agent(claimed: Reason) -> None:
    assert outcome_of(RunnerExit(DoneEvent(reason=claimed.value), 0)).reason is Reason.RUNNER_ERROR


def test_an_unknown_reason_is_an_error_that_shows_it() -> None:
    outcome = outcome_of(RunnerExit(DoneEvent(reason="tired"), 0))
    assert outcome.reason is Reason.RUNNER_ERROR
    assert "tired" in outcome.message


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [(0, "code 0"), (3, "code 3"), (-11, "signal 11 (SIGSEGV)"), (-200, "signal 200 (unknown)")],
)
def test_a_missing_outcome_is_a_lost_runner_with_its_exit_code(exit_code: int, words: str) -> None:
    outcome = outcome_of(RunnerExit(None, exit_code))
    assert outcome.reason is Reason.RUNNER_LOST
    assert words in outcome.message


@pytest.mark.parametrize(
    ("exit_code", "kills", "is_hinted"), [(-9, 1, True), (-9, 0, False), (-15, 1, False)]
)
def test_lack_of_memory_is_reported_with_a_hint(
    exit_code: int, kills: int, is_hinted: bool
) -> None:
    outcome = outcome_of(RunnerExit(None, exit_code, oom_kills=kills))
    assert outcome.reason is Reason.RUNNER_LOST
    assert ("training.batch_size" in outcome.message) is is_hinted
    assert ("smaller training.batch_size" in outcome.message) is is_hinted


def test_the_kernels_own_count_is_read(tmp_path: Path) -> None:
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("allocstall_normal 7\noom_kill 12\ndrop_pagecache 0\n")
    assert oom_kills(vmstat) == 12
    assert oom_kills(tmp_path / "of another system") == 0


def test_every_end_has_an_outcome_that_fits_into_the_protocol() -> None:
    dones = [None, *(DoneEvent(reason=reason.value) for reason in Reason)]
    for done, code, manifest, stop in itertools.product(dones, (0, -9), (True, False), STOPS):
        outcome = outcome_of(RunnerExit(done, code, manifest, stop, detail="what was wrong"))
        assert isinstance(outcome.reason, Reason)
        assert outcome.reason is not Reason.WORKER_LOST, "only the service can know that"
