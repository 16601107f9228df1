"""The log of an attempt stays within its limits."""

from __future__ import annotations

from ipulse_core.events import LogEvent
from ipulse_worker.agent.supervision.log_limits import LINE_OVERHEAD_BYTES, LogQuota, LogRate


class TestQuota:
    def test_the_quota_ends_with_one_notice(self) -> None:
        quota = LogQuota(10 * (LINE_OVERHEAD_BYTES + 1))
        admitted = [out for _ in range(50) for out in quota.admit(LogEvent(message="x"))]
        assert [event.message for event in admitted[:10]] == ["x"] * 10
        assert len(admitted) == 11
        assert "quota" in admitted[10].message
        assert admitted[10].stream == "agent"

    def test_empty_lines_use_it_up_too(self) -> None:
        quota = LogQuota(1000)
        admitted = [out for _ in range(100) for out in quota.admit(LogEvent(message=""))]
        assert len(admitted) < 20
        assert quota.is_spent


class TestRate:
    def test_a_burst_passes_and_the_rest_is_counted_in_one_notice(self) -> None:
        now = 0.0
        rate = LogRate(2.0, clock=lambda: now)
        line = LogEvent(message="x")
        assert len([out for _ in range(100) for out in rate.admit(line)]) == 20
        now = 1.0
        messages = [out.message for _ in range(5) for out in rate.admit(line)]
        assert messages == [
            "80 lines were dropped here: a job may write 2 lines per second.",
            "x",
            "x",
        ]
        assert [out.message for out in rate.end()] == [
            "3 lines were dropped here: a job may write 2 lines per second."
        ]
        assert list(rate.end()) == []
