"""The state table: what may follow what, and where reasons lead."""

from __future__ import annotations

import itertools
from typing import Set

import pytest

from ipulse_core.errors import IllegalTransition
from ipulse_core.states import (
    ACTIVE,
    COMPLETE,
    INFRASTRUCTURE,
    OUTCOMES,
    POLICIES,
    RETRIES,
    STATE_OF_PHASE,
    TERMINAL,
    TRANSITIONS,
    JobState,
    Phase,
    Policy,
    Reason,
    check_transition,
)


def reachable_from(start: JobState) -> Set[JobState]:
    seen: Set[JobState] = set()
    waiting = [start]
    while waiting:
        for after in TRANSITIONS[waiting.pop()] - seen:
            seen.add(after)
            waiting.append(after)
    return seen


class TestTransitions:
    def test_every_state_has_its_row(self) -> None:
        assert set(TRANSITIONS) == set(JobState)

    @pytest.mark.parametrize("state", sorted(TERMINAL))
    def test_a_terminal_state_is_final(self, state: JobState) -> None:
        assert TRANSITIONS[state] == frozenset()
        assert state.is_terminal

    @pytest.mark.parametrize("state", sorted(set(JobState) - TERMINAL))
    def test_every_other_state_can_still_end(self, state: JobState) -> None:
        assert not state.is_terminal
        assert reachable_from(state) & TERMINAL

    def test_every_state_is_reached_from_one_of_a_new_job(self) -> None:
        assert reachable_from(JobState.BLOCKED) == set(JobState) - {JobState.BLOCKED}
        assert reachable_from(JobState.QUEUED) == set(JobState) - {JobState.BLOCKED}

    def test_no_state_follows_itself(self) -> None:
        assert all(state not in after for state, after in TRANSITIONS.items())

    @pytest.mark.parametrize("state", sorted(set(JobState) - TERMINAL - {JobState.CANCELLING}))
    def test_a_job_can_be_cancelled_wherever_it_stands(self, state: JobState) -> None:
        assert TRANSITIONS[state] & {JobState.CANCELLED, JobState.CANCELLING}

    @pytest.mark.parametrize("state", sorted(ACTIVE))
    def test_an_attempt_can_be_lost_in_any_phase(self, state: JobState) -> None:
        assert {JobState.RETRY_WAIT, JobState.FAILED} <= TRANSITIONS[state]

    def test_a_cancelled_attempt_is_never_retried(self) -> None:
        assert reachable_from(JobState.CANCELLING) <= TERMINAL

    def test_success_comes_only_after_the_report_or_before_a_cancel_was_received(self) -> None:
        before = {state for state, after in TRANSITIONS.items() if JobState.SUCCEEDED in after}
        assert before == {JobState.REPORTING, JobState.CANCELLING, JobState.PAUSING}

    def test_the_phases_in_order_are_legal(self) -> None:
        states = [JobState.QUEUED, *(STATE_OF_PHASE[phase] for phase in Phase), JobState.SUCCEEDED]
        for before, after in zip(states, states[1:]):
            check_transition(before, after)

    def test_acquire_may_come_before_compile(self) -> None:
        check_transition(JobState.PREPARING, JobState.ACQUIRING)
        check_transition(JobState.ACQUIRING, JobState.COMPILING)
        check_transition(JobState.COMPILING, JobState.RUNNING)

    def test_a_retry_begins_anew_and_only_after_a_failure_or_for_one(self) -> None:
        assert RETRIES[JobState.FAILED] == {JobState.QUEUED, JobState.BLOCKED}
        assert RETRIES[JobState.CANCELLED] == {JobState.QUEUED, JobState.BLOCKED}
        assert set(RETRIES) < TERMINAL

    def test_the_check_agrees_with_the_table_everywhere(self) -> None:
        for before, after in itertools.product(JobState, JobState):
            if after in TRANSITIONS[before] or after in RETRIES.get(before, ()):
                check_transition(before, after)
            else:
                with pytest.raises(IllegalTransition, match=f"{before.value} cannot become"):
                    check_transition(before, after)


class TestReasons:
    def test_every_reason_has_a_terminal_outcome(self) -> None:
        assert set(OUTCOMES) == set(Reason)
        assert set(OUTCOMES.values()) == set(TERMINAL)

    def test_only_a_job_with_complete_results_succeeds(self) -> None:
        succeeded = {r for r, state in OUTCOMES.items() if state is JobState.SUCCEEDED}
        assert succeeded == COMPLETE - {Reason.GATE_FAILED}

    def test_lost_infrastructure_past_the_cap_is_a_failure(self) -> None:
        assert {OUTCOMES[reason] for reason in INFRASTRUCTURE} == {JobState.FAILED}

    def test_every_reason_but_success_has_a_policy_and_every_policy_a_reason(self) -> None:
        assert set(POLICIES) == set(Reason) - COMPLETE
        assert set(POLICIES.values()) == set(Policy)
        assert POLICIES[Reason.CANCELLED_BY_USER] is Policy.FAIL

    def test_every_phase_has_its_own_state(self) -> None:
        assert set(STATE_OF_PHASE) == set(Phase)
        assert len(ACTIVE) == len(Phase)
        assert not ACTIVE & TERMINAL
