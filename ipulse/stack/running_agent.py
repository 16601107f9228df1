"""Runs the agent of a home, as a child process, until a signal or the service ends it."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from ipulse.install_hint import require_modules
from ipulse.stack.agent_home import AgentHome
from ipulse.stack.agent_process import AgentProcess
from ipulse.stack.managed_process import ended_badly
from ipulse.stack.stack import AGENT_STOP_SECONDS
from ipulse.stack.supervisor import Part, Say, Supervisor
from ipulse_core.checkout import import_paths
from ipulse_core.errors import NotPermitted

EXIT_REFUSED = 4  # the service refuses the agent's token
# Variables for the client, which no agent inherits.
_NOT_INHERITED = ("IPULSE_TOKEN", "IPULSE_TOKEN_FILE", "IPULSE_URL")


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

    def restart() -> None:
        agent.stop(0)
        agent.start(_environment(home, more), home.path)

    with _signals() as stopped:
        ready_pipe = agent.start_with_pipe(lambda ready: _environment(home, more, ready))
        try:
            if _is_ready(agent, ready_pipe, stopped):
                on_ready()
                part = Part(agent, restart, final_exit=EXIT_REFUSED)
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
        "the service refuses this agent's token: it has expired, or the agent was removed or "
        f"replaced. Join again with a token of `ipulse agent token`.\n{error.message}"
    )


@contextmanager
def _signals() -> Iterator[int]:
    """Return a descriptor that is readable once a signal asks for the end."""
    wake, write = os.pipe()

    def on_signal(number: int, frame: FrameType | None) -> None:
        os.write(write, b"\0")

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    former = {
        number: signal.signal(number, on_signal)
        for number in numbers
        if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP  # nohup
    }
    try:
        yield wake
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        os.close(wake)
        os.close(write)


def _environment(
    home: AgentHome, more: Mapping[str, str], ready_fd: int | None = None
) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if k not in _NOT_INHERITED}
    paths = [str(path) for path in import_paths()]
    if paths:
        inherited = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [*paths, inherited]))
    return {
        **environment,
        **more,
        "IPULSE_MEMBERSHIP_FILE": str(home.membership_file),
        "IPULSE_WORK_DIR": str(home.work),
        "IPULSE_DEVICES": str(home.devices),
        **({} if ready_fd is None else {"IPULSE_READY_FD": str(ready_fd)}),
    }
