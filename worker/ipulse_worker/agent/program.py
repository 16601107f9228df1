"""The agent as a program: takes jobs until it is told to stop."""

from __future__ import annotations

import gc
import logging
import os

from ipulse import json_log
from ipulse_core.errors import IPUlseError
from ipulse_worker.agent import niceness
from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.celery_app import run_worker
from ipulse_worker.agent.settings import Settings

EXIT_USAGE = 2

_log = logging.getLogger("ipulse_worker.agent")


def main() -> int:
    # They narrate every request and message; what matters of those the agent says itself.
    json_log.configure(json_log.JSONLines(), ("httpx", "httpcore", "celery", "kombu"))
    # Celery says its farewell on standard output, which may lead into the same log.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        settings = Settings.from_environment(os.environ)
    except IPUlseError as error:
        _log.error("agent_not_started", extra={"why": str(error)})
        return EXIT_USAGE
    niceness.add(settings.nice)
    gc.freeze()  # modules stay; looking through them again only holds jobs up
    gc.enable()
    agent = Agent(settings)
    try:
        agent.start()
        _log.info("agent_started", extra={"agent": settings.name, "kinds": settings.device_kinds})
        return run_worker(settings, agent.look_at, agent.stop, agent.quarantine)
    finally:
        agent.close()
        _log.info("agent_stopped", extra={"agent": settings.name})
