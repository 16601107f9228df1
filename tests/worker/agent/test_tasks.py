"""A message is one job id; anything else is dropped and logged."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse_worker.agent.celery_app import look_at_job


@pytest.fixture
def looked_at() -> list[str]:
    return []


def test_a_job_id_is_claimed(looked_at: list[str]) -> None:
    look_at_job(looked_at.append)("job_0123456789abcdef01234567")
    assert looked_at == ["job_0123456789abcdef01234567"]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        (("job_1", "job_2"), {}),
        (("job_1",), {"countdown": 3}),
        ((), {"job_id": "job_1"}),
        ((7,), {}),
        ((None,), {}),
        ((["job_1"],), {}),
        (({"id": "job_1"},), {}),
        (("",), {}),
        (("../../etc/passwd",), {}),
        (("job 1",), {}),
        (("job_1\n",), {}),
        (("j" * 1_000_000,), {}),
    ],
)
def test_anything_else_is_dropped_and_logged(
    looked_at: list[str],
    caplog: pytest.LogCaptureFixture,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    look_at_job(looked_at.append)(*args, **kwargs)
    assert looked_at == []
    assert caplog.messages == ["message_rejected"]
    assert all(len(str(vars(record))) < 5_000 for record in caplog.records)
