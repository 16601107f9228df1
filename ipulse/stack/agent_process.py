"""An agent of a stack: it is started, and reports through a pipe that it is ready."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from ipulse.stack.home import Home
from ipulse.stack.managed_process import START_SECONDS, ManagedProcess

EXIT_REFUSED = 4  # of an agent: the service refuses its token


class AgentProcess(ManagedProcess):
    """An agent, which writes to a pipe when it is ready."""

    def __init__(self, name: str, home: Home) -> None:
        super().__init__(name, "ipulse_worker.agent", home.log(name))
        self._home = home

    def start_with_pipe(self, environment: Mapping[str, str]) -> int:
        """Start the agent with a pipe; return the end that becomes readable when it is ready."""
        ready_pipe, write_end = os.pipe()
        variables = {**environment, "IPULSE_READY_FD": str(write_end)}
        try:
            self.start(variables, self._home.path, [write_end])
        except BaseException:
            os.close(ready_pipe)
            raise
        finally:
            os.close(write_end)
        return ready_pipe

    def relaunch(self, environment: Mapping[str, str]) -> None:
        """Start the agent again, without waiting until it is ready."""
        self.stop(0)
        self.start(environment, self._home.path)

    def await_ready(self, ready_pipe: int) -> None:
        """Return once the agent is ready.

        Raises Unavailable, with the end of its log, if it ends or is not ready in time.
        """
        ready, _, _ = select.select([ready_pipe], [], [], START_SECONDS)
        if not ready:
            raise self.not_ready()
        if not os.read(ready_pipe, 16):
            if self.process:
                self.process.wait()
            self.check_alive()


@contextmanager
def starting_agents(
    agents: Sequence[AgentProcess], environment_of: Callable[[AgentProcess], Mapping[str, str]]
) -> Iterator[None]:
    """Start agents in parallel and, at the end of the context, wait until all are ready.

    They become ready without the service. Raises Unavailable.
    """
    with ExitStack() as closing:
        started: list[tuple[AgentProcess, int]] = []
        for agent in agents:
            ready_pipe = agent.start_with_pipe(environment_of(agent))
            closing.callback(os.close, ready_pipe)
            started.append((agent, ready_pipe))
        yield
        for agent, ready_pipe in started:
            agent.await_ready(ready_pipe)
