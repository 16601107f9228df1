"""An agent as a part of a stack: started until it says that it waits for jobs."""

from __future__ import annotations

import os
import select
from contextlib import ExitStack, contextmanager
from typing import Callable, Dict, Iterator, List, Sequence, Tuple

from ipulse.stack.home import Home
from ipulse.stack.managed_process import START_SECONDS, Part


class AgentPart(Part):
    """It says that it is ready through a pipe that it is given."""

    def __init__(self, name: str, home: Home) -> None:
        super().__init__(name, "ipulse_worker.agent", home.log(name))
        self._home = home

    def start_announcing(self, environment: Callable[[int], Dict[str, str]]) -> int:
        """Starts it with the environment for the end of a pipe; returns the other end of it."""
        announcement, announce = os.pipe()
        try:
            self.start(environment(announce), self._home.path, [announce])
        except BaseException:
            os.close(announcement)
            raise
        finally:
            os.close(announce)
        return announcement

    def await_word(self, announcement: int) -> None:
        """Returns once it is ready. Raises Unavailable, with the end of its log, if it ends or is
        silent for good."""
        ready, _, _ = select.select([announcement], [], [], START_SECONDS)
        if not ready:
            raise self.not_ready()
        if not os.read(announcement, 16):
            if self.process:
                self.process.wait()
            self.check_alive()


@contextmanager
def starting(
    agents: Sequence[AgentPart], environment: Callable[[int], Dict[str, str]]
) -> Iterator[None]:
    """Starts them side by side, and waits in the end until each of them is ready: they need no
    service for that. Raises Unavailable."""
    with ExitStack() as closing:
        started: List[Tuple[AgentPart, int]] = []
        for agent in agents:
            announcement = agent.start_announcing(environment)
            closing.callback(os.close, announcement)
            started.append((agent, announcement))
        yield
        for agent, announcement in started:
            agent.await_word(announcement)
