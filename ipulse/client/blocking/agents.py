"""The methods of the synchronous client about agents."""

from __future__ import annotations

from collections.abc import Mapping

from ipulse.client.administration.resources import AgentStatus, DeviceStatus, JoinToken
from ipulse.client.client_base import ClientBase
from ipulse.client.transport.transports import finished


class BlockingAgents:
    """Lists, drains and removes agents, and lets others join."""

    _calls: ClientBase

    def create_join_token(
        self, labels: Mapping[str, str] | None = None, uses: int = 1, seconds: int = 3600
    ) -> JoinToken:
        """Create a token with which so many agents of other machines may join within `seconds`.

        Only the owner's token can create one. The agents get the labels. The `secret` is returned
        only here. Raises NotPermitted.
        """
        return finished(self._calls.create_join_token(labels, uses, seconds))

    def join_tokens(self) -> list[JoinToken]:
        """Return the join tokens that can still be used, without their secrets."""
        return finished(self._calls.join_tokens())

    def revoke_join_token(self, token_id: str) -> None:
        """Revoke a join token; agents that have joined with it stay. Raises NotFound."""
        finished(self._calls.revoke_join_token(token_id))

    def agents(self) -> list[AgentStatus]:
        """Return the agents that have joined or were seen in the last week, and their jobs."""
        return finished(self._calls.agents())

    def devices(self) -> list[DeviceStatus]:
        """Return the devices of all agents, and the jobs that use them."""
        return finished(self._calls.devices())

    def drain_agent(self, name: str, seconds: int | None = None) -> AgentStatus:
        """Keep jobs away from an agent until it is resumed. Raises NotFound, NotPermitted.

        A job that it holds may end; with `seconds` it returns to the queue after that time, from a
        checkpoint.
        """
        return finished(self._calls.drain_agent(name, seconds))

    def resume_agent(self, name: str) -> AgentStatus:
        """Let an agent claim jobs again. Raises NotFound."""
        return finished(self._calls.resume_agent(name))

    def remove_agent(self, name: str) -> None:
        """Remove an agent and revoke its own token. Raises Conflict, NotFound."""
        finished(self._calls.remove_agent(name))
