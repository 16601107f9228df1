"""The Celery application of an agent: its queues, and the messages that it refuses."""

from __future__ import annotations

import pytest
from celery import Celery

from ipulse_core import messages
from ipulse_worker.agent.celery_app import make_application


@pytest.fixture
def application() -> Celery:
    return make_application("redis+socket:///nowhere/redis.sock", ["cpu", "emulator"])


def test_tasks_of_celery_are_removed(application: Celery) -> None:
    """They would run any other task, or many at once, for anybody who can write to the broker."""
    assert set(application.tasks) == set()


def test_it_reads_json_and_nothing_else(application: Celery) -> None:
    assert application.conf.accept_content == ["json"]
    assert application.conf.result_backend is None


def test_it_consumes_the_queues_that_the_service_publishes_to(application: Celery) -> None:
    queues = {messages.queue_of(kind) for kind in ("cpu", "emulator")}
    assert set(application.amqp.queues.consume_from) == queues


def test_it_does_not_become_the_default_application(application: Celery) -> None:
    """A library that uses Celery in this process must not publish with these settings."""
    from celery import current_app

    assert current_app._get_current_object() is not application
