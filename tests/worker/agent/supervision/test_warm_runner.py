"""A runner that was started before its attempt."""

from __future__ import annotations

import pytest

from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.runner_process import RunnerProcess
from ipulse_worker.agent.supervision.warm_runner_pool import WarmRunnerPool
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.offspring import Offspring


class Starts:
    """Makes runners and records them."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self.runners: list[RunnerProcess] = []

    def __call__(self) -> RunnerProcess:
        self.runners.append(RunnerProcess(self._settings))
        return self.runners[-1]


@pytest.fixture
def starts(settings: AgentSettings) -> Starts:
    return Starts(settings)


class TestWarmRunner:
    def test_is_ready_before_it_is_taken(self, starts: Starts) -> None:
        warm = WarmRunnerPool(starts, is_enabled=True)
        warm.prepare()
        runner = warm.take()
        assert runner is not None
        assert runner.ready.wait(DEADLINE)
        runner.kill()
        assert runner.ended.wait(DEADLINE)

    def test_several_calls_prepare_one_runner(self, starts: Starts) -> None:
        warm = WarmRunnerPool(starts, is_enabled=True)
        for _ in range(5):
            warm.prepare()
        first = warm.take()
        assert warm.take() is None
        assert [first] == starts.runners, "taking one must not start another beside the job"
        warm.prepare()
        warm.close()
        assert len(starts.runners) == 2
        starts.runners[0].kill()
        assert all(runner.ended.wait(DEADLINE) for runner in starts.runners)

    def test_a_dead_one_is_not_handed_out(
        self, starts: Starts, caplog: pytest.LogCaptureFixture
    ) -> None:
        warm = WarmRunnerPool(starts, is_enabled=True)
        warm.prepare()
        while not starts.runners:
            warm.prepare()
        starts.runners[0].kill()
        assert starts.runners[0].ended.wait(DEADLINE)
        assert warm.take() is None
        assert "warm_runner_died" in caplog.messages

    def test_when_disabled_there_is_none(self, starts: Starts) -> None:
        warm = WarmRunnerPool(starts, is_enabled=False)
        warm.prepare()
        assert warm.take() is None
        warm.close()
        (waiting,) = starts.runners
        assert waiting.pid == 0, "only what guards it may be there ahead of the job"

    def test_when_disabled_a_cold_one_is_started_by_what_waits_for_it(self, starts: Starts) -> None:
        warm = WarmRunnerPool(starts, is_enabled=False)
        warm.prepare()
        runner = warm.start_new({})
        assert runner is starts.runners[0]
        assert runner.ready.wait(DEADLINE)
        runner.kill()
        assert runner.ended.wait(DEADLINE)
        assert warm.start_new({}) is starts.runners[1], (
            "the next is there before this one has ended"
        )
        starts.runners[1].kill()
        warm.close()

    def test_when_disabled_a_waiting_runner_may_die_without_losing_a_job(
        self, offspring: Offspring, starts: Starts
    ) -> None:
        warm = WarmRunnerPool(starts, is_enabled=False)
        warm.prepare()
        while not starts.runners:
            warm.prepare()
        for guardian in offspring.alive():
            guardian.kill()
        runner = warm.start_new({})
        assert runner.ready.wait(DEADLINE)
        runner.kill()
        assert runner.ended.wait(DEADLINE)
        warm.close()

    def test_one_that_cannot_start_is_no_error(
        self, settings: AgentSettings, caplog: pytest.LogCaptureFixture
    ) -> None:
        warm = WarmRunnerPool(
            Starts(settings.model_copy(update={"runner_python": "/no/python"})), is_enabled=True
        )
        warm.prepare()
        assert warm.take() is None
        assert "warm_runner_not_started" in caplog.messages

    def test_closing_ends_it_and_starts_no_other(
        self, offspring: Offspring, starts: Starts
    ) -> None:
        warm = WarmRunnerPool(starts, is_enabled=True)
        warm.prepare()
        warm.close()
        warm.prepare()
        assert warm.take() is None
        assert all(runner.ended.wait(DEADLINE) for runner in starts.runners)
        assert offspring.alive() == []
