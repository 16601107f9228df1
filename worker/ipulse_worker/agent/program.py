"""The agent as a program: it takes jobs until a signal stops it."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable

from ipulse import json_log
from ipulse.stack.program_log import CANNOT_START
from ipulse_core.errors import IPUlseError
from ipulse_core.worker_faults import fault_of
from ipulse_worker.agent import niceness
from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.polling import EXIT_FAILED, poll_for_work
from ipulse_worker.agent.settings import AgentSettings

EXIT_USAGE = 2

_log = logging.getLogger("ipulse_worker.agent")


def main() -> int:
    """Run an agent with the settings of the environment; return the exit code."""
    # These loggers report every request and message; the agent logs the important ones itself.
    json_log.configure(json_log.JSONLines(), ("httpx", "httpcore", "celery", "kombu"))
    # Celery prints a farewell to standard output, which may be the same log file.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        settings = AgentSettings.from_environment(os.environ)
    except IPUlseError as error:
        _log.error(CANNOT_START, extra={"error": " ".join(str(error).split())})
        return EXIT_USAGE
    niceness.add(settings.nice)
    run = _way_of_waking(settings)
    gc.freeze()  # the modules stay, so the collector need not scan them
    agent = Agent(settings)
    try:
        try:
            agent.start()
        except (OSError, RuntimeError) as error:  # its work directory, its descriptors, its threads
            fault = fault_of(error, settings.work_dir)
            why = fault.message if fault else f"{settings.work_dir}: {error}"
            _log.error(CANNOT_START, extra={"error": why})
            return EXIT_FAILED
        _log.info("agent_started", extra={"agent": settings.name, "kinds": settings.device_kinds})
        return run(settings, agent)
    finally:
        agent.close()
        _log.info("agent_stopped", extra={"agent": settings.name})


def _way_of_waking(settings: AgentSettings) -> Callable[[AgentSettings, Agent], int]:
    """Return the function that runs the agent: woken by the broker, or by polling without one."""
    if not settings.broker_url:
        return lambda settings, agent: poll_for_work(agent)
    # Imported only when needed: Celery takes most of the agent's start.
    from ipulse_worker.agent.celery_app import run_worker

    return lambda settings, agent: run_worker(settings, agent.run_job, agent.stop, agent.quarantine)
