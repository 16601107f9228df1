"""A pool whose only worker another project has reserved from a little later on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta

from ipulse.client import Connection
from ipulse_core.errors import Conflict

from .live_service import Agent, LiveService

POOL = "soon-reserved"


@contextmanager
def reserved_pool(service: LiveService, agent: Agent) -> Iterator[str]:
    """Registers the agent and yields the name of its pool, which is reserved in an hour."""
    with Connection(service.url, service.token) as admin, ExitStack() as closing:
        with suppress(Conflict):  # of another test
            admin.create_project("reserves")
        admin.create_pool(POOL, agents=[agent.name])
        closing.callback(admin.delete_pool, POOL)
        agent.register()
        closing.callback(admin.remove_agent, agent.name)  # other tests submit for devices it lacks
        closing.callback(agent.sign_off)
        begin = datetime.now(UTC) + timedelta(hours=1)
        reserved = admin.reserve(
            POOL, "reserves", 1, starts_at=begin, ends_at=begin + timedelta(hours=1)
        )
        closing.callback(admin.end_reservation, reserved.id)
        yield POOL
