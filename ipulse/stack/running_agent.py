"""Runs the agent of a home, as a child process, until a signal or the service ends it."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Mapping

from ipulse.install_hint import require_modules
from ipulse.stack.agent_home import AgentHome
from ipulse.stack.agent_process import EXIT_REFUSED, AgentProcess
from ipulse.stack.managed_process import ended_badly, inherited_environment
from ipulse.stack.stack import AGENT_STOP_SECONDS
from ipulse.stack.supervisor import Part, Say, Supervisor, stop_signals
from ipulse_core.errors import NotPermitted


def require_agent() -> None:
    """Raise MissingDependency if the agent or something that it needs is not installed."""
    require_modules(("ipulse_worker", "httpx", "psutil"), "an agent")


def run_agent(
    home: AgentHome, more: Mapping[str, str], on_ready: Callable[[], None], say: Say
) -> None:
    """Run the agent of an open home until SIGINT or SIGTERM; `more` are variables for it.

    `on_ready` is called once the service has answered the agent. From then on the agent is
    restarted if it ends, and `say` receives a sentence about that. Only the main thread can call
    this. Raises NotPermitted if the service refuses the agent's token, and Unavailable, with the
    end of its log, if the agent ends before it is ready.
    """
    agent = AgentProcess("agent", home)
    environment = {
        **inherited_environment(),
        **more,
        "IPULSE_MEMBERSHIP_FILE": str(home.membership_file),
        "IPULSE_WORK_DIR": str(home.work),
        "IPULSE_DEVICES": str(home.devices),
    }
    with stop_signals(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as stopped:
        ready_pipe = agent.start_with_pipe(environment)
        try:
            if _is_ready(agent, ready_pipe, stopped):
                on_ready()
                part = Part(agent, lambda: agent.relaunch(environment), final_exit=EXIT_REFUSED)
                if Supervisor([part], say).run(stopped):
                    raise _refused(agent)
        finally:
            os.close(ready_pipe)
            agent.stop(AGENT_STOP_SECONDS)


def _is_ready(agent: AgentProcess, ready_pipe: int, stopped: int) -> bool:
    """Wait until the agent is ready; return False if a signal came before."""
    process = agent.process
    assert process is not None  # noqa: S101 - it was started
    waiting = select.poll()
    for descriptor in (ready_pipe, stopped, process.fileno()):
        waiting.register(descriptor, select.POLLIN)
    while True:
        events = {descriptor for descriptor, _ in waiting.poll()}
        if stopped in events:
            return False
        if process.fileno() in events:
            exit_code = process.wait()
            if exit_code == EXIT_REFUSED:
                raise _refused(agent)
            raise ended_badly(agent.name, exit_code, agent.log)
        if ready_pipe in events:
            if os.read(ready_pipe, 16):
                return True
            waiting.unregister(ready_pipe)  # it ends


def _refused(agent: AgentProcess) -> NotPermitted:
    error = ended_badly(agent.name, EXIT_REFUSED, agent.log)
    return NotPermitted(
        "the service refuses this agent's token: the agent was removed or replaced. "
        f"Join again with a token of `ipulse agent token`.\n{error.message}"
    )
