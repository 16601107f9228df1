"""What Celery may do here, and nothing beyond it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from celery import Celery

from ipulse_core import messages
from ipulse_worker.agent.celery_app import make_application
from ipulse_worker.agent.settings import AgentSettings


@pytest.fixture
def application(settings: AgentSettings) -> Celery:
    return make_application(
        replace(settings, broker_url="redis+socket:///nowhere/redis.sock"), lambda job_id: None
    )


def test_there_is_one_task(application: Celery) -> None:
    """Celery's own would run any other, or many at once, for whoever can write to the broker."""
    assert set(application.tasks) == {messages.TASK}


def test_it_reads_json_and_nothing_else(application: Celery) -> None:
    assert application.conf.accept_content == ["json"]
    assert application.conf.result_backend is None


def test_it_listens_where_the_service_sends(application: Celery) -> None:
    queues = {messages.queue_of(kind) for kind in ("cpu", "emulator")}
    assert set(application.amqp.queues.consume_from) == queues


def test_it_is_nobody_elses_default(application: Celery) -> None:
    """A library that uses Celery in this process must not publish with our settings."""
    from celery import current_app

    assert current_app._get_current_object() is not application
